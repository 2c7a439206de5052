#!/usr/bin/env python3
# needs: rail_peer
"""A rail is blocked for 5 s in the middle of a pull, and then open: what arrives late changes no memory that was given back."""

import json
import time
import unittest

import fabric
import peers
import traffic

BLOCKED_S = 5
SETTLED_S = 3  # in which a kernel that still had something to send would have sent it


class Late(traffic.TwoHosts):
    def setUp(self):
        super().setUp()
        for node, other in zip(self.pair.nodes, (2, 1)):
            node.tell("call", peer=other, callers=8, pause_us=1000)
        peers.until(self.pair.stands_by, "both rails stand")

    def pull_over(self, what, block):
        """Pulls, and blocks the rail that the pull goes by in the middle of it. """
        puller, owner = self.pair.nodes
        puller.tell("pull_once", peer=owner.host)
        puller.wait_for(lambda e: e["event"] == "begun")
        time.sleep(0.3)
        nic = puller.active(owner.host, "bulk")
        self.assertIsNotNone(nic, "the pull is over too soon")
        block(nic)
        time.sleep(BLOCKED_S)
        over = puller.wait_for(lambda e: e["event"] in ("over", "failed") and e["what"] == "pull")
        self.assertEqual(over["event"], "over", over)
        for host in (1, 2):
            self.net.let_through(host, nic)
        time.sleep(SETTLED_S)
        self.assertEqual(puller.tell("changed")["changed_bytes"], 0)
        states = self.end_unharmed(("twice", "damaged", "sessions_lost"))
        self.assertGreater(states[1]["replays"], 0, "the owner has sent nothing again")
        counted = {name: [state[name] for state in states] for name in ("duplicates", "replays", "path_deaths")}
        print(json.dumps({"what": what, "rail": traffic.RAILS[nic], "pull_ms": over["took_ms"]} | counted), flush=True)

    def test_bytes_of_the_owner_that_were_held_up(self):
        self.pull_over("sent by the owner", lambda nic: self.net.drop_out(2, nic))

    def test_acknowledgements_and_orders_of_the_puller_that_were_held_up(self):
        self.pull_over("sent by the puller", lambda nic: self.net.drop_out(1, nic))

    def test_both_ways(self):
        self.pull_over("both ways", lambda nic: self.net.drop_both(1, nic))


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
