#!/usr/bin/env python3
# needs: rail_peer
"""A short soak of rails that fail and come back; `./dev soak rails` runs the long one."""

import json
import unittest

import fabric
import flapping


class Flapping(unittest.TestCase):
    def test_nothing_is_lost_while_rails_fail_and_come_back(self):
        counted = flapping.Flapping(seconds=20, seed=4).run()
        print(json.dumps(counted), flush=True)
        self.assertEqual(counted["wrong"], [])
        self.assertGreater(sum(counted["outages"].values()), 5)
        self.assertGreater(counted["path_moves"], 0)
        self.assertGreater(counted["pulls"], 2)
        self.assertGreater(counted["calls"], 1000)


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
