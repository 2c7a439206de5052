#!/usr/bin/env python3
"""Shard servers on hosts with two networks each, while the switch of one network is dead: collectives go on, and nobody is called
dead. Then one host loses both networks, and is called dead in time. `./dev soak switch` runs it for long."""

import argparse
import json
import pathlib
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parent.parent / "rails"))

import fabric
import soak
from shard_cluster import BIN, LIMIT_S, Cluster, until, with_rails

NODES = 4
CYCLE_S = 0.2  # of the servers' gossip
LATE_CYCLES = 4
SLACK_S = 0.5  # to ask a server, on a busy machine
PAUSE_S = 0.2  # between two collectives


class DeadSwitch:
    def __init__(self, seconds, progress=False):
        self.seconds, self.progress = seconds, progress
        self.wrong = []
        self.asked = 0
        self.longest_s = 0.0

    def run(self):
        """Runs, and returns what was counted; `wrong` in it says what must not be."""
        self.net = fabric.Fabric(hosts=NODES)
        sockets = pathlib.Path("/run")  # which is this process's own
        try:
            self.cluster = Cluster(nodes=NODES, tree="kary:2", edit=with_rails("10.0.0", "10.1.0"), inside=self.net.inside,
                                   SCOLL_NODE_CONTROL=f"{sockets}/{{node}}.sock")
            try:
                return self._observe()
            finally:
                for host in self.net.hosts:
                    for nic in (0, 1):
                        self.net.plug(host, nic)
                self.cluster.close()
        finally:
            self.net.remove()

    def _observe(self):
        self.cluster.wait_all_alive()
        self._ask_all()
        self.net.switch_off(0)
        self._go_on()
        moved = self._counted("scoll_path_moves_total")
        self.net.switch_on(0)
        verdicts = self._counted("scoll_events_total", 'kind="peer_dead"')
        if verdicts:
            self.wrong.append(f"{verdicts} servers were called dead while a switch was")
        late_s = self._lose_a_host()
        return {"seconds": self.seconds, "collectives": self.asked, "longest_ms": round(1000 * self.longest_s, 1),
                "path_moves": moved, "verdict_after_s": round(late_s, 2), "wrong": self.wrong}

    def _go_on(self):
        began = time.monotonic()
        while (passed := time.monotonic() - began) < self.seconds:
            self._ask_all()
            alive = self.cluster.ask("members", "--node", str(1 + self.asked % NODES))["value"]["alive"]
            if sorted(alive) != list(self.cluster.nodes):
                self.wrong.append(f"after {passed:.1f} s, alive were {alive}")
            if self.progress:
                print(f"\r{passed:5.0f} of {self.seconds} s, {self.asked} collectives, longest {1000 * self.longest_s:.0f} ms", end="",
                      file=sys.stderr, flush=True)
            time.sleep(PAUSE_S)
        if self.progress:
            print(file=sys.stderr)

    def _ask_all(self):
        """A collective from one server after the other, which all must execute."""
        root = str(1 + self.asked % NODES)
        began = time.monotonic()
        done = self.cluster.run("--json", "df", "--node", root)
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        self.asked += 1
        if done.returncode != 0:
            self.wrong.append(f"a collective of node {root}: {done.stdout.decode()[:500]}")

    def _lose_a_host(self):
        """The last host loses both networks. Returns after how many seconds the others call it dead."""
        others = list(self.cluster.nodes)[:-1]
        members = lambda node: self.cluster.ask("members", "--node", str(node))["value"]
        limit_s = CYCLE_S * (members(1)["threshold_cycles"] + LATE_CYCLES) + SLACK_S
        for nic in (0, 1):
            self.net.unplug(NODES, nic)
        gone = time.monotonic()
        until(lambda: all(members(node)["dead"] == [NODES] for node in others), "the others call the host dead")
        after_s = time.monotonic() - gone
        if after_s > limit_s:
            self.wrong.append(f"a host without networks was called dead after {after_s:.2f} s, {limit_s:.2f} at most")
        answer = self.cluster.run("--json", "df")
        merged = json.loads(answer.stdout)["outcome"]["merged"]
        if merged != others:
            self.wrong.append(f"those that are left and have executed are {merged}")
        return after_s

    def _counted(self, name, label=""):
        """The sum of a counter of all servers."""
        total = 0
        for node in self.cluster.nodes:
            command = [BIN / "scoll-info", "--node", f"/run/{node}.sock", "metrics"]
            text = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
            lines = [line for line in text.splitlines() if line.startswith(name) and label in line]
            assert lines, f"no {name} in {text}"
            total += sum(int(float(line.split()[-1])) for line in lines)
        return total


def main():
    parser = argparse.ArgumentParser(prog="./dev soak switch", description=__doc__)
    parser.add_argument("--seconds", type=int, default=300, help="how long the switch is dead; 300 by default")
    soak.main(parser, lambda asked, progress: DeadSwitch(asked.seconds, progress))


if __name__ == "__main__":
    main()
