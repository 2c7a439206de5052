#!/usr/bin/env python3
# needs: rail_peer
"""Bulk data go by two networks at once: how much faster 64 MiB are pulled and pushed than by one of them alone."""

import json
import unittest

import fabric
import peers

REPEATED = 2
EQUAL, UNEQUAL = 1.8, 1.15  # of the faster network alone


class Stripes(unittest.TestCase):
    def times(self, rates):
        """How long a pull and a push take in milliseconds, over as many networks as there are rates."""
        net = fabric.Fabric()
        nodes = []
        try:
            for host in net.hosts:
                for nic, rate in enumerate(rates):
                    net.limit(host, nic, rate)
            nodes = [peers.Peer(net, host, nics=range(len(rates)), devices=True) for host in net.hosts]
            near, far = nodes
            near.tell("call", peer=far.host, callers=1, pause_us=2000)
            if len(rates) > 1:  # a single rail has no paths to choose from
                peers.until(lambda: self.connected(near, far, len(rates)), "all rails stand")
            self.move("pull", near, far)  # which makes the connections
            took = {what: min(self.move(what, near, far) for _ in range(REPEATED)) for what in ("pull", "push")}
            self.check(near)
            return took
        finally:
            for node in nodes:
                node.close()
            net.remove()

    def check(self, node):
        state = node.tell("end")["state"]
        self.assertEqual(node.failures(), [])
        self.assertEqual([state[name] for name in ("twice", "damaged", "sessions_lost", "path_deaths")], [0, 0, 0, 0])

    @staticmethod
    def connected(near, far, rails):
        paths = near.paths(far.host).values()
        return sum(p["control"] and p["health"] == "good" for p in paths) == rails

    @staticmethod
    def move(what, near, far):
        before = len(near.events)
        near.tell(what + "_once", peer=far.host)
        is_end = lambda e: e["event"] in ("over", "failed") and e["what"] == what
        end = peers.until(lambda: next(filter(is_end, near.events[before:]), None), f"the {what} ends")
        assert end["event"] == "over", end
        return end["took_ms"]

    def compare(self, rates, wanted):
        alone, together = self.times(rates[:1]), self.times(rates)
        for what, time_ms in alone.items():
            told = {"what": what, "rates": rates, "alone_ms": round(time_ms), "together_ms": round(together[what]),
                    "times": round(time_ms / together[what], 2)}
            print(json.dumps(told), flush=True)
            self.assertGreaterEqual(time_ms / together[what], wanted, told)

    def test_two_equal_networks(self):
        self.compare(["200mbit", "200mbit"], EQUAL)

    def test_a_slow_network_beside_a_fast_one(self):
        self.compare(["200mbit", "50mbit"], UNEQUAL)


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
