#!/usr/bin/env python3
# needs: rail_peer
"""One network, and all packets of one of its connections are swallowed from some moment on: the connection is replaced by a new
one, and no caller hears of it."""

import json
import time
import unittest

import fabric
import peers

REPLACED_S = 1.5
SLACK_S = 1.5  # for a busy machine
ROUNDS = 3


class HalfOpen(unittest.TestCase):
    def setUp(self):
        self.net = fabric.Fabric()
        self.addCleanup(self.net.remove)
        self.nodes = [peers.Peer(self.net, host, nics=(0,)) for host in self.net.hosts]
        for node in self.nodes:
            self.addCleanup(node.close)
        for node, other in zip(self.nodes, (2, 1)):
            node.tell("call", peer=other, callers=4, pause_us=1000)
        peers.until(lambda: all(node.state()["calls"] > 100 for node in self.nodes), "calls are answered")
        self.control = self.net.connections(1, 0)

    def lose(self, what, port):
        """Loses a connection while calls go on. Returns the longest wait for a call in seconds."""
        for node in self.nodes:
            node.mark()
        self.net.drop_connection(1, 0, port)
        time.sleep(REPLACED_S + SLACK_S)
        states = [node.mark() for node in self.nodes]
        longest_s, late_s = (max(s[name] for s in states) / 1e3 for name in ("longest_call_ms", "longest_lateness_ms"))
        self.net.let_through(1, 0)
        left = self.net.connections(1, 0)
        print(json.dumps({"lost": what, "longest_call_s": round(longest_s, 2), "lateness_s": round(late_s, 3)}), flush=True)
        self.assertNotIn(port, left, "the connection is still there")
        self.assertLess(longest_s, REPLACED_S + SLACK_S)
        return longest_s

    def end(self):
        for node in self.nodes:
            end = node.tell("end")
            self.assertEqual(node.failures(), [])
            wrong = ("failures", "damaged", "damaged_requests", "twice", "sessions_lost", "silences", "bulk_lost")
            self.assertEqual({name: end["state"][name] for name in wrong if end["state"][name] != 0}, {})
            self.assertEqual(end["changed_bytes"], 0)

    def test_the_connection_for_messages_alone(self):
        waits = []
        for _ in range(ROUNDS):
            (port,) = self.net.connections(1, 0)
            waits.append(self.lose("messages", port))
        self.assertLess(min(waits), REPLACED_S)
        self.end()

    def test_either_of_two_connections(self):
        near = self.nodes[0]
        self.net.limit(2, 0, "200mbit")  # a pull takes nearly 3 s
        near.tell("pull", peer=2)
        peers.until(lambda: len(self.net.connections(1, 0)) == 2, "there is a connection for bulk data")
        (bulk,) = self.net.connections(1, 0) - self.control
        self.lose("bulk data", bulk)
        pulls = near.state()["pulls"]
        peers.until(lambda: near.state()["pulls"] > pulls + 1, "pulls go on")
        (control,) = self.control
        self.lose("messages, beside bulk data", control)
        self.end()


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
