#!/usr/bin/env python3
# needs: rail_peer
"""A peer that stands still or cannot be reached loses no rail, and one that stands still for good ends the calls to it."""

import json
import signal
import time
import unittest

import fabric
import peers
import traffic

PAUSES, PAUSE_S = 4, 3
LIMIT_S = 10.5
SLACK_S = 2  # for a busy machine


class Pause(traffic.TwoHosts):
    def setUp(self):
        super().setUp()
        self.pair.start_traffic()
        peers.until(self.pair.stands_by, "both rails stand")

    def test_a_peer_that_pauses_moves_no_path(self):
        _, stopped = self.pair.nodes
        for _ in range(PAUSES):
            stopped.signal(signal.SIGSTOP)
            time.sleep(PAUSE_S)
            stopped.signal(signal.SIGCONT)
            time.sleep(1)
        self.end_unharmed(("path_moves", "path_suspicions", "path_deaths", "sessions_lost", "failures", "twice", "damaged"))

    def test_while_nothing_answers_no_path_moves(self):
        self.net.drop_everything()
        time.sleep(PAUSE_S)
        for node in self.pair.nodes:
            state = node.state()
            for what in ("path_moves", "path_suspicions", "path_deaths"):
                self.assertEqual(state[what], 0, f"node {node.host}: {what}, {state}")
        self.net.let_everything_through()
        peers.until(self.pair.stands_by, "both rails stand")
        self.end_unharmed(("sessions_lost", "failures", "twice", "damaged"))

    def test_calls_to_a_peer_that_stands_still_for_good_end_and_name_it(self):
        asks, stopped = self.pair.nodes
        stopped.signal(signal.SIGSTOP)
        began = time.monotonic()
        asks.tell("call_once", peer=2)
        asks.tell("pull_once", peer=2)
        for what in ("call", "pull"):
            event = asks.wait_for(lambda e, w=what: e["event"] == "failed" and e["what"] == w)
            self.assertIn("node 2", event["text"])
            print(json.dumps(event), flush=True)
        took_s = time.monotonic() - began
        print(json.dumps({"ended_after_s": round(took_s, 2)}), flush=True)
        self.assertLess(took_s, LIMIT_S + SLACK_S)
        self.assertEqual(asks.state()["path_moves"], 0)


if __name__ == "__main__":
    fabric.enter()
    unittest.main()
