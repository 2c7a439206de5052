#!/usr/bin/env python3
"""Rails fail and come back at random, never both at once, while two nodes call each other and one pulls: nothing is lost, no
call waits long, and memory does not grow. `./dev soak rails` runs it."""

import argparse
import pathlib
import random
import sys
import time

import fabric
import peers
import soak
import traffic

DOWN_S = (0.2, 3.0)
UP_S = (0.1, 3.0)
# A rail that has just come back may be in its pause between two attempts when the other one fails. All are tried anew then.
LONGEST_CALL_MS = 3000
WARM_S = 60  # memory is compared with that after a minute
GROWTH, SLACK_KIB = 1.05, 2048
WRONG = ("failures", "damaged", "damaged_requests", "twice", "sessions_lost", "links_broken", "bulk_lost", "silences")


def resident_kib(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS:")))


class Flapping:
    def __init__(self, seconds, seed, progress=False):
        self.seconds, self.seed, self.progress = seconds, seed, progress
        self.random = random.Random(seed)
        self.faults = []
        self.wrong = []
        self.downs = {}
        self.worst_ms = 0.0

    def run(self):
        """Runs, and returns what was counted; `wrong` in it says what must not be."""
        self.net = fabric.Fabric()
        self.pair = traffic.Pair(self.net, devices=True)
        try:
            self.pair.start_traffic()
            peers.until(self.pair.stands_by, "both rails stand")
            return self._soak()
        finally:
            self.pair.close()
            self.net.remove()

    def _ways(self):
        net = self.net
        return {
            "down": (net.down, net.up),
            "unplugged": (net.unplug, net.plug),
            "dropped out": (net.drop_out, net.let_through),
            "dropped in": (net.drop_in, net.let_through),
            "dropped both": (net.drop_both, net.let_through),
        }

    def _soak(self):
        nodes, ways = self.pair.nodes, self._ways()
        began, warm = time.monotonic(), None
        while (passed := time.monotonic() - began) < self.seconds:
            if warm is None and passed >= min(WARM_S, self.seconds / 3):
                warm = [resident_kib(node.process) for node in nodes]
            self._fault(*self.random.choice(sorted(ways.items())))
            self._look(nodes)
            if self.progress:
                print(f"\r{passed:5.0f} of {self.seconds} s, {sum(self.downs.values())} outages, {self.pair.done('calls')} calls, "
                      f"longest {self.worst_ms:.0f} ms", end="", file=sys.stderr, flush=True)
        if self.progress:
            print(file=sys.stderr)
        peers.until(self.pair.stands_by, "both rails stand")
        ends = [node.tell("end") for node in nodes]
        grown = [(before, resident_kib(node.process)) for before, node in zip(warm, nodes)]
        return self._judge(ends, grown)

    def _fault(self, name, way):
        make, heal = way
        host, nic = self.random.choice(list(self.net.hosts)), self.random.choice((0, 1))
        make(host, nic)
        time.sleep(self.random.uniform(*DOWN_S))
        heal(host, nic)
        self.downs[name] = self.downs.get(name, 0) + 1
        time.sleep(self.random.uniform(*UP_S))

    def _look(self, nodes):
        for node in nodes:
            self.worst_ms = max(self.worst_ms, node.mark()["longest_call_ms"])

    def _judge(self, ends, grown):
        states = [end["state"] for end in ends]
        for node, end in zip(self.pair.nodes, ends):
            bad = {name: end["state"][name] for name in WRONG if end["state"][name]}
            if bad or node.failures() or end["changed_bytes"]:
                self.wrong.append(f"node {node.host}: {bad}, {node.failures()[:3]}, {end['changed_bytes']} bytes changed")
        if self.worst_ms > LONGEST_CALL_MS:
            self.wrong.append(f"a call waited {self.worst_ms:.0f} ms, {LONGEST_CALL_MS} at most")
        for node, (before, after) in zip(self.pair.nodes, grown):
            if after > before * GROWTH + SLACK_KIB:
                self.wrong.append(f"node {node.host} has grown from {before} to {after} KiB")
        counted = ("calls", "pulls", "path_moves", "path_suspicions", "path_deaths", "duplicates", "replays")
        return {
            "seconds": self.seconds, "seed": self.seed, "outages": self.downs, "longest_call_ms": round(self.worst_ms, 1),
            "resident_kib": grown, "wrong": self.wrong,
        } | {name: sum(state[name] for state in states) for name in counted}


def main():
    parser = argparse.ArgumentParser(prog="./dev soak rails", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="how long rails fail; 600 by default")
    parser.add_argument("--seed", type=int, default=1, help="which rails fail, how and when; 1 by default")
    soak.main(parser, lambda asked, progress: Flapping(asked.seconds, asked.seed, progress))


if __name__ == "__main__":
    main()
