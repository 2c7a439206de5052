#!/usr/bin/env python3
# needs: rail_peer
"""Two interfaces in one subnet: a source address chooses no interface, and a device does."""

import json
import time
import unittest

import fabric
import peers


class Subnet(unittest.TestCase):
    def setUp(self):
        self.net = fabric.Fabric(one_subnet=True)
        self.addCleanup(self.net.remove)

    def bytes_of_rail_b(self, devices):
        """The bytes that each interface of host 1 sends and receives while its rails are, in this order, eth1 and eth0."""
        nodes = [peers.Peer(self.net, host, nics=(1, 0), devices=devices) for host in (1, 2)]
        try:
            before = [self.net.bytes(1, nic) for nic in (0, 1)]
            nodes[0].tell("pull_once", peer=2)
            nodes[0].wait_for(lambda e: e["event"] == "over" and e["what"] == "pull")
            nodes[0].tell("call", peer=2, callers=2, pause_us=1000)
            time.sleep(1)
            for node in nodes:
                node.tell("end")
                self.assertEqual(node.failures(), [])
            after = [self.net.bytes(1, nic) for nic in (0, 1)]
        finally:
            for node in nodes:
                node.close()
        moved = {f"eth{nic}": {"sent": now[0] - was[0], "received": now[1] - was[1]}
                 for nic, was, now in zip((0, 1), before, after)}
        print(json.dumps({"devices": devices} | moved), flush=True)
        return moved

    def test_rails_that_are_bound_to_devices_use_them(self):
        moved = self.bytes_of_rail_b(devices=True)
        for way in ("sent", "received"):
            self.assertGreater(moved["eth1"][way], 20 * moved["eth0"][way])

    def test_without_devices_the_bytes_leave_by_another_interface_than_the_one_that_has_the_address(self):
        moved = self.bytes_of_rail_b(devices=False)
        self.assertGreater(moved["eth0"]["sent"], 20 * moved["eth1"]["sent"])


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
