"""Many gossip daemons on loopback under loss, kills, quick restarts and pauses: is a verdict ever wrong?

Ends with 0 if none was and every end of a life was told by everybody, 1 if not, and 3 if the run is void: the machine held
a process up for more than half the threshold, which proves nothing about the protocol.
"""

import argparse
import json
import random
import sys
import time

from gossip_cluster import Cluster

QUIET_S = 4  # after a kill: longer than threshold and spread, so that the death is told before the next fault there


class Soak:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.cluster = Cluster(options.nodes, inject_loss=options.loss, seed=options.seed)
        self.counts = {"kills": 0, "quick_restarts": 0, "slow_restarts": 0, "pauses": 0}
        self.kinds = []  # of the next faults: every four have all of them
        self.down = {}  # index: when to start it again
        self.faults = []  # (began, ended, kind, whom)

    def run(self):
        try:
            self.cluster.start_all()
            self.cluster.wait_all_alive()
            end = time.monotonic() + self.options.seconds
            while time.monotonic() < end:
                self.fault()
                self.restart_those_due()
                time.sleep(self.random.uniform(0.2, 1.0))
            self.restart_those_due(everybody=True)
            self.cluster.wait_all_alive()
            end = time.monotonic() + 2 * QUIET_S
            while self.cluster.unnoticed_ends() and time.monotonic() < end:
                time.sleep(0.1)
            return self.report()
        finally:
            self.cluster.close()

    def candidates(self):
        """Up for long enough to be known by all, and more than half of the cluster stays up."""
        now = time.monotonic()
        if len(self.down) >= self.options.nodes // 4:
            return []
        return [i for i in self.cluster.running() if now - self.cluster.lives[i][-1].began > QUIET_S]

    def fault(self):
        candidates = self.candidates()
        if not candidates:
            return
        victim = self.random.choice(candidates)
        if not self.kinds:
            self.kinds = self.random.sample(["kill", "restart", "pause", "pause"], 4)
        self.inflict(self.kinds.pop(), victim, candidates)

    def inflict(self, kind, victim, candidates):
        began, whom = time.monotonic(), [victim]
        if kind == "kill":
            self.counts["kills"] += 1
            self.cluster.kill(victim)
            self.down[victim] = time.monotonic() + self.random.uniform(QUIET_S, 3 * QUIET_S)
        elif kind == "restart":
            quick = self.cluster.restart(victim)
            self.counts["quick_restarts" if quick else "slow_restarts"] += 1
        else:
            self.counts["pauses"] += 1
            whom = self.random.sample(candidates, self.random.randint(1, max(1, len(candidates) // 8)))
            self.cluster.pause(self.random.uniform(0.1, 0.95), *whom)
        self.faults.append((began, time.monotonic(), kind, whom))

    def restart_those_due(self, everybody=False):
        due = [i for i, at in self.down.items() if everybody or at < time.monotonic()]
        for i in due:
            del self.down[i]
        self.cluster.start(*due)

    def faults_before(self, event):
        at = event["monotonic_s"]
        return [f"{kind} {whom} {at - began:.2f} to {at - ended:.2f} s ago" for began, ended, kind, whom in self.faults
                if 0 < at - began < 6]

    def report(self):
        watch = self.cluster.watch
        wrong = self.cluster.wrong_verdicts()
        unnoticed = self.cluster.unnoticed_ends()
        half = self.cluster.threshold_ms() / 2
        found = {"nodes": self.options.nodes, "seconds": self.options.seconds, "loss": self.options.loss,
                 "seed": self.options.seed, **self.counts,
                 "dead_verdicts": sum(e["event"] == "dead" for _, e in watch.events), "wrong_verdicts": len(wrong),
                 "unnoticed_ends": len(unnoticed),
                 "longest_gap_ms": round(watch.longest_gap_ms), "half_threshold_ms": round(half),
                 "void": watch.longest_gap_ms > half}
        print(json.dumps(found), flush=True)
        for observer, event in wrong[:20]:
            print(f"wrong: {observer} says {json.dumps(event)}; before it: {self.faults_before(event)}", file=sys.stderr)
        if found["void"]:
            print(f"void: a process was held up for {watch.longest_gap_ms:.0f} ms, more than half the threshold",
                  file=sys.stderr)
            return 3
        for observer, whom in unnoticed[:20]:
            print(f"unnoticed: {observer} told neither the end of {whom} nor what came after", file=sys.stderr)
        return 1 if wrong or unnoticed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--loss", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    sys.exit(Soak(parser.parse_args()).run())


if __name__ == "__main__":
    main()
