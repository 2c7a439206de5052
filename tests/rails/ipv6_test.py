#!/usr/bin/env python3
# needs: rail_peer
"""Rails with IPv6 addresses, which go when their link goes down, die and come back. No call and no pull notices."""

import unittest

import fabric
import traffic


class Ipv6(traffic.Deaths):
    family = 6

    def test_no_caller_hears_of_deaths(self):
        net = self.net
        kinds = [
            ("link down at host 1", lambda nic: net.down(1, nic), lambda nic: net.up(1, nic)),
            ("address of host 2 removed", lambda nic: net.remove_address(2, nic), lambda nic: net.restore_address(2, nic)),
            ("all is dropped at host 1", lambda nic: net.drop_both(1, nic), lambda nic: net.let_through(1, nic)),
            ("reset by host 2", lambda nic: self.assertGreaterEqual(net.reset(2, nic), 1), lambda nic: None),
        ]
        self.kill_in_turn(kinds, traffic.SILENT_MS)


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
