#!/usr/bin/env python3
# needs: shard_server shardctl scoll-info
"""A switch is dead for a short time; `./dev soak switch` keeps it dead for long."""

import json
import unittest

import dead_switch
import fabric


class Switch(unittest.TestCase):
    def test_a_dead_switch_ends_nobody_and_a_host_without_networks_is_called_dead(self):
        counted = dead_switch.DeadSwitch(seconds=12).run()
        print(json.dumps(counted), flush=True)
        self.assertEqual(counted["wrong"], [])
        self.assertGreater(counted["collectives"], 10)
        self.assertGreater(counted["path_moves"], 0)


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
