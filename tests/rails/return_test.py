#!/usr/bin/env python3
# needs: rail_peer
"""A rail that was dead is used again, as the byte counters of its interface show."""

import json
import time
import unittest

import fabric
import peers
import traffic

LIMIT_S = 6  # the proof of a second, the pause before the first connection that succeeds, and some more
LONG_S = 8  # by then a dead path is tried only every six seconds
HINTED_LIMIT_S = 3.5
SHARE = 0.4  # of bulk, on each of two rails that carry it together


class Return(traffic.TwoHosts):
    def sent(self, seconds):
        """The bytes that host 1 sends and receives meanwhile, by interface."""
        before = [sum(self.net.bytes(1, nic)) for nic in (0, 1)]
        time.sleep(seconds)
        return [sum(self.net.bytes(1, nic)) - was for nic, was in zip((0, 1), before)]

    def mostly_by(self, nic, seconds=0.3):
        """True if nine tenths of the traffic go by that interface."""
        by = self.sent(seconds)
        return by[nic] > 9 * by[1 - nic]

    def shared(self):
        """True if each interface carries a fair share of the traffic."""
        by = self.sent(0.5)
        return min(by) >= SHARE * sum(by)

    def lose_rail_a(self, used, lost_s=1.5):
        peers.until(self.pair.stands_by, "both rails stand")
        peers.until(used, "rail a is used")
        self.net.unplug(1, 0)
        peers.until(lambda: self.mostly_by(1), "all goes by rail b", limit_s=5)
        time.sleep(lost_s)
        self.net.plug(1, 0)

    def expect_rail_a(self, lane, used, limit_s=LIMIT_S):
        began = time.monotonic()
        peers.until(used, "rail a is used again", limit_s=limit_s)
        print(json.dumps({"lane": lane, "back_after_s": round(time.monotonic() - began, 1)}), flush=True)
        for node in self.pair.nodes:
            self.assertEqual(node.failures(), [])

    def test_calls_go_by_a_rail_again_that_has_proven_itself(self):
        for node, other in zip(self.pair.nodes, (2, 1)):
            node.tell("call", peer=other, callers=2, pause_us=1000)
        self.lose_rail_a(lambda: self.mostly_by(0))
        self.expect_rail_a("control", lambda: self.mostly_by(0))
        self.assertEqual([node.active(other) for node, other in zip(self.pair.nodes, (2, 1))], [0, 0])

    def test_a_rail_is_tried_as_soon_as_its_interface_is_back(self):
        for node, other in zip(self.pair.nodes, (2, 1)):
            node.tell("call", peer=other, callers=2, pause_us=1000)
        self.lose_rail_a(lambda: self.mostly_by(0), LONG_S)
        self.expect_rail_a("control, after a long time", lambda: self.mostly_by(0), HINTED_LIMIT_S)

    def test_pulls_go_by_both_rails_again_when_the_dead_one_has_proven_itself(self):
        self.pair.nodes[0].tell("pull", peer=2, pause_us=1000)
        self.lose_rail_a(self.shared)
        self.expect_rail_a("bulk", self.shared)


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
