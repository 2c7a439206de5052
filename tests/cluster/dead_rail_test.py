#!/usr/bin/env python3
# needs: shard_server shardctl scoll-info
"""A rail that dies without a word: the servers go on, and scoll-info names it and says why.

The test runs in a network namespace of its own, in which the servers' addresses lie on the loopback interface. Taking the address
of a rail away makes it swallow everything, as a pulled cable does.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

NODES = 3
NAMED_WITHIN_S = 1.0
INSIDE = "SCOLL_TEST_IN_NAMESPACE"

if __name__ == "__main__" and INSIDE not in os.environ:
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-rn", sys.executable, *sys.argv])

from shard_cluster import BIN, LIMIT_S, Cluster, until, with_rails


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class DeadRail(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ip("link", "set", "lo", "up")
        for rail in (20, 21):
            for node in range(1, NODES + 1):
                ip("addr", "add", f"10.{rail}.0.{node}/32", "dev", "lo")
        cls.sockets = pathlib.Path(tempfile.mkdtemp(prefix="scoll-"))
        cls.addClassCleanup(shutil.rmtree, cls.sockets)
        cls.cluster = Cluster(nodes=NODES, tree="flat", edit=with_rails("10.20.0", "10.21.0"), SCOLL_NODE_CONTROL=f"{cls.sockets}/{{node}}.sock")
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.wait_all_alive()

    def info(self, *arguments, node=1):
        command = [BIN / "scoll-info", "--node", self.sockets / f"{node}.sock", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def ask(self, *arguments, node=1):
        return json.loads(self.info(*arguments, "--json", node=node))

    def path(self, peer, rail, node=1):
        """The path to a peer by the rails of that name on both sides."""
        paths = next(p["paths"] for p in self.ask("rails", node=node)["peers"] if p["id"] == peer)
        return next(p for p in paths if p["rail"] == rail and p["own_rail"] == p["peer_rail"])

    def test_a_dead_rail_is_named_with_the_reason(self):
        self.cluster.ask("df")
        until(lambda: all(self.path(n, r)["lanes"]["control"] for n in (2, 3) for r in "ab"), "both rails stand")
        self.assertEqual({r["state"] for r in self.ask("rails")["rails"]}, {"up"})
        self.assertIn("which is the preferred path", self.info("explain", "2"))

        ip("addr", "del", "10.20.0.2/32", "dev", "lo")
        gone = time.monotonic()
        answer = self.cluster.ask("df")  # something is asked of node 2, so that its silence is noticed
        self.assertEqual(answer["outcome"]["merged"], list(range(1, NODES + 1)))
        until(lambda: self.path(2, "a")["health"] in ("suspect", "dead"), "node 1 doubts rail a")
        named_after = time.monotonic() - gone
        print(f"named after {named_after:.3f} s", file=sys.stderr)
        self.assertLess(named_after, NAMED_WITHIN_S)
        self.assertRegex(self.path(2, "a")["why"], "no answer for .* ms, while another path answers")
        said = self.info("explain", "2")
        self.assertIn("Messages go by rail b to 10.21.0.2:", said)
        self.assertRegex(said, "The path by rail a to 10.20.0.2:[0-9]+ has been (suspect|dead) for .* while another path answers")
        self.assertEqual(self.path(3, "a")["health"], "good")
        texts = [e["text"] for e in self.ask("events")["events"]]
        self.assertTrue([t for t in texts if t.startswith("messages of node 1 to node 2 now go by rail b")], texts)

        until(lambda: self.ask("rails", node=2)["rails"][0]["state"] == "down", "node 2 calls its rail a down")
        self.assertIn("rail  state", self.info("rails", node=2))
        self.assertEqual(sorted(self.cluster.ask("members")["value"]["alive"]), list(range(1, NODES + 1)))
        self.assertIn('scoll_rail_up{rail="a"} 0', self.info("metrics", node=2))

        ip("addr", "add", "10.20.0.2/32", "dev", "lo")
        until(lambda: self.path(2, "a")["carries"], "node 1 is back on rail a")
        self.assertIn("which is the preferred path", self.info("explain", "2"))


if __name__ == "__main__":
    unittest.main()
