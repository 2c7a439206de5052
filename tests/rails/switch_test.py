#!/usr/bin/env python3
# needs: rail_peer
"""A switch fails for three hosts at once: all of them go on by the other one."""

import json
import time
import unittest

import fabric
import peers

SILENT_MS = 1000  # laxer than what a quiet machine shows
OFF_S = 2


class Switch(unittest.TestCase):
    def setUp(self):
        self.net = fabric.Fabric(hosts=3)
        self.addCleanup(self.net.remove)
        self.nodes = [peers.Peer(self.net, host, devices=True, arguments=("--prove-ms", "5000")) for host in self.net.hosts]
        for node in self.nodes:
            self.addCleanup(node.close)
            for other in self.others(node):
                node.tell("call", peer=other, callers=2, pause_us=2000)

    def others(self, node):
        return [host for host in self.net.hosts if host != node.host]

    def all_stand_by(self):
        return all(path["control"] and path["health"] in ("good", "proving")
                   for node in self.nodes for other in self.others(node) for path in node.paths(other).values())

    def test_calls_among_three_hosts_go_on(self):
        for switch in (0, 1):
            peers.until(self.all_stand_by, "all rails stand")
            for node in self.nodes:
                node.mark()
            self.net.switch_off(switch)
            time.sleep(OFF_S)
            states = [node.mark() for node in self.nodes]
            self.net.switch_on(switch)
            longest = [round(state["longest_call_ms"], 1) for state in states]
            lateness = max(round(state["longest_lateness_ms"], 1) for state in states)
            print(json.dumps({"switch": switch, "longest_call_ms": longest, "longest_lateness_ms": lateness}), flush=True)
            self.assertLessEqual(max(longest), SILENT_MS)
        peers.until(self.all_stand_by, "all rails stand")
        ends = [node.tell("end")["state"] for node in self.nodes]
        for node, state in zip(self.nodes, ends):
            self.assertEqual(node.failures(), [])
            self.assertEqual([state[name] for name in ("failures", "damaged", "twice", "sessions_lost")], [0, 0, 0, 0])


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
