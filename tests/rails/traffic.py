"""Two nodes that call each other and pull memory while rails die: what the tests of deaths share."""

import json
import time
import unittest

import fabric
import peers

RAILS = "ab"
RATE = "400mbit"  # a pull of 64 MiB takes more than a second, so that every death comes in the middle of one
CALLS = 10000
PULLS = 5
SILENT_MS, RESET_MS = 1000, 500  # laxer than what a quiet machine shows, because other tests run beside this one


class Pair:
    """Nodes 1 and 2. Both call each other all the time, one call after the other and several at a time, and node 1 pulls."""

    def __init__(self, net, devices=False, arguments=()):
        self.net = net
        for host in net.hosts:
            for nic in (0, 1):
                net.limit(host, nic, RATE)
        self.nodes = [peers.Peer(net, host, devices=devices, arguments=arguments) for host in (1, 2)]
        self.stalls = []

    def start_traffic(self):
        for node, other in zip(self.nodes, (2, 1)):
            node.tell("call", peer=other, callers=1, pause_us=500)
            node.tell("call", peer=other, callers=4, pause_us=5000)
        self.nodes[0].tell("pull", peer=2, pause_us=1000)

    def stands_by(self):
        """True if both rails have a connection that answers, on both nodes."""
        return all(
            all(p["control"] and p["health"] in ("good", "proving") for p in node.paths(other).values())
            for node, other in zip(self.nodes, (2, 1))
        )

    def done(self, what):
        return sum(node.state()[what] for node in self.nodes)

    def kill(self, what, nic, make, heal, hold_s):
        """Kills a rail for a time in the middle of the traffic. Records the longest wait for a call."""
        peers.until(self.stands_by, "both rails stand")
        carried = self.nodes[0].active(2) == nic
        for node in self.nodes:
            node.mark()
        make()
        time.sleep(hold_s)
        during = [node.mark() for node in self.nodes]
        heal()
        self.stalls.append(
            {
                "what": f"{what}, rail {RAILS[nic]}",
                "carried_control": carried,
                "longest_call_ms": max(round(state["longest_call_ms"], 1) for state in during),
                "longest_lateness_ms": max(round(state["longest_lateness_ms"], 1) for state in during),
            }
        )
        print(json.dumps(self.stalls[-1]), flush=True)

    def finish(self, test, bound_ms):
        """Ends the traffic, and finds that nobody but the counters has heard of the deaths. Returns the duplicates."""
        peers.until(self.stands_by, "both rails stand")
        peers.until(lambda: self.done("calls") >= CALLS and self.done("pulls") >= PULLS, f"{CALLS} calls and {PULLS} pulls")
        for node in self.nodes:
            state = node.mark()
            test.assertLessEqual(state["longest_call_ms"], bound_ms, "after the last death")
        ends = [node.tell("end") for node in self.nodes]
        for node, end in zip(self.nodes, ends):
            self._check(test, node, end)
        calls, pulls = (sum(end["state"][what] for end in ends) for what in ("calls", "pulls"))
        worst = max(stall["longest_call_ms"] for stall in self.stalls)
        moves, suspicions, deaths, duplicates = (
            [end["state"][what] for end in ends] for what in ("path_moves", "path_suspicions", "path_deaths", "duplicates")
        )
        print(json.dumps({"points": len(self.stalls), "worst_ms": worst, "calls": calls, "pulls": pulls, "moves": moves,
                          "suspicions": suspicions, "deaths": deaths, "duplicates": duplicates}), flush=True)
        test.assertLessEqual(worst, bound_ms, self.stalls)
        return sum(duplicates)

    def _check(self, test, node, end):
        test.assertEqual(node.failures(), [])
        state = end["state"]
        wrong = ("failures", "damaged", "damaged_requests", "twice", "sessions_lost", "links_broken", "bulk_lost", "silences")
        test.assertEqual({name: state[name] for name in wrong if state[name] != 0}, {})
        test.assertEqual(end["changed_bytes"], 0)

    def close(self):
        for node in self.nodes:
            node.close()


class TwoHosts(unittest.TestCase):
    """A fabric of two hosts and a pair of nodes on it, for each test."""

    family = 4
    devices = True
    arguments = ()

    def setUp(self):
        self.net = fabric.Fabric(family=self.family)
        self.addCleanup(self.net.remove)
        self.pair = Pair(self.net, devices=self.devices, arguments=self.arguments)
        self.addCleanup(self.pair.close)

    def end_unharmed(self, must_be_zero):
        """Ends the traffic of both nodes. Nothing has failed, and these counters have counted nothing. Returns their states."""
        states = [node.tell("end")["state"] for node in self.pair.nodes]
        for node, state in zip(self.pair.nodes, states):
            self.assertEqual(node.failures(), [])
            for what in must_be_zero:
                self.assertEqual(state[what], 0, f"node {node.host}: {what}, {state}")
        return states


class Deaths(TwoHosts):
    """Rails die in turn."""

    # A rail that is back does not take the traffic over before the next death: this is for tests of the return.
    arguments = ("--prove-ms", "5000")

    def kill_in_turn(self, kinds, bound_ms):
        """Kills each rail in turn by each kind: (what, make, heal), of which the last two take the number of the interface. Returns
        the duplicates that both nodes have counted."""
        self.pair.start_traffic()
        for number, (what, make, heal) in enumerate(kinds):
            for nic in (0, 1):
                # shorter than the time after which a suspected rail is given up, and longer
                hold_s = 0.5 if number % 2 == 0 else 1.5
                self.pair.kill(what, nic, lambda: make(nic), lambda: heal(nic), hold_s)
        duplicates = self.pair.finish(self, bound_ms)
        self.assertGreaterEqual(sum(stall["carried_control"] for stall in self.pair.stalls), len(self.pair.stalls) // 2)
        return duplicates
