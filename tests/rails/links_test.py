#!/usr/bin/env python3
# needs: rail_peer
"""Rails die because a link goes down, at either end, or because an address is removed. No call and no pull notices."""

import unittest

import fabric
import traffic


class Links(traffic.Deaths):
    def test_no_caller_hears_of_a_link_that_goes_down(self):
        net, kinds = self.net, []
        for host in (1, 2):
            kinds += [
                (f"link down at host {host}", lambda nic, h=host: net.down(h, nic), lambda nic, h=host: net.up(h, nic)),
                (f"link down at the switch of host {host}", lambda nic, h=host: net.unplug(h, nic),
                 lambda nic, h=host: net.plug(h, nic)),
                (f"address of host {host} removed", lambda nic, h=host: net.remove_address(h, nic),
                 lambda nic, h=host: net.restore_address(h, nic)),
            ]
        self.kill_in_turn(kinds, traffic.SILENT_MS)


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
