#!/usr/bin/env python3
# needs: rail_peer
"""A tenth of the packets is lost, on one rail or on both: nothing fails, and calls go by the rail that loses none."""

import json
import time
import unittest

import fabric
import peers
import traffic

LOSSY_S = 8
ONE_RAIL_MS = 1500  # the kernel sends a packet again after 200 ms, 400 ms and so on, and two connections may have to be tried


class Loss(traffic.TwoHosts):
    def setUp(self):
        super().setUp()
        self.pair.start_traffic()

    def test_calls_go_on_while_one_rail_loses_packets(self):
        for nic in (0, 1):
            self.pair.kill("a tenth is lost at host 1", nic, lambda n=nic: self.net.lose(1, n),
                           lambda n=nic: self.net.let_through(1, n), LOSSY_S)
        self.pair.finish(self, ONE_RAIL_MS)

    def test_nothing_fails_while_both_rails_lose_packets(self):
        peers.until(self.pair.stands_by, "both rails stand")
        before = self.pair.done("calls")
        for nic in (0, 1):
            self.net.lose(1, nic)
        time.sleep(LOSSY_S)
        lossy = self.pair.done("calls") - before
        for nic in (0, 1):
            self.net.let_through(1, nic)
        peers.until(self.pair.stands_by, "both rails stand")
        states = self.end_unharmed(("sessions_lost", "failures", "twice", "damaged", "links_broken"))
        print(json.dumps({"calls_meanwhile": lossy, "longest_call_ms": [round(s["longest_call_ms"], 1) for s in states],
                          "moves": [s["path_moves"] for s in states]}), flush=True)
        self.assertGreater(lossy, 100)


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
