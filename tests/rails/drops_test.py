#!/usr/bin/env python3
# needs: rail_peer
"""Rails die silently: all that they send, or all that is sent to them, is dropped. No call and no pull notices."""

import unittest

import fabric
import traffic


class Drops(traffic.Deaths):
    def test_no_caller_hears_of_a_rail_that_swallows_everything_one_way_or_both(self):
        duplicates = self.kill_in_turn(self.kinds(), traffic.SILENT_MS)
        self.assertGreater(duplicates, 0)  # what had arrived, but was not known to have, was sent again

    def kinds(self):
        net = self.net
        return [
            ("all is dropped that host 1 sends", lambda nic: net.drop_out(1, nic), lambda nic: net.let_through(1, nic)),
            ("all is dropped that is sent to host 1", lambda nic: net.drop_in(1, nic), lambda nic: net.let_through(1, nic)),
            ("all is dropped at host 1", lambda nic: net.drop_both(1, nic), lambda nic: net.let_through(1, nic)),
            ("all is dropped at host 2", lambda nic: net.drop_both(2, nic), lambda nic: net.let_through(2, nic)),
        ]


class DropsWithoutDevices(Drops):
    """The kernel may send from an address by the interface of the other network, so that crossed paths work, too."""

    devices = False


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
