#!/usr/bin/env python3
# needs: rail_peer
"""All connections of a rail are reset again and again. No call and no pull notices."""

import unittest

import fabric
import traffic


class Resets(traffic.Deaths):
    def test_no_caller_hears_of_connections_that_are_reset(self):
        def reset(host, nic):
            self.assertGreaterEqual(self.net.reset(host, nic), 1)

        kinds = [(f"reset by host {host}", lambda nic, h=host: reset(h, nic), lambda nic: None) for host in (1, 2, 1, 2)]
        self.kill_in_turn(kinds, traffic.RESET_MS)


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
