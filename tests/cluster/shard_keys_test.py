#!/usr/bin/env python3
# needs: shard_server shardctl gossipctl scoll-info
"""Shard servers whose links and gossip prove that they have a key: who has it is served, and nobody else is heard."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

from shard_cluster import BIN, LIMIT_S, Cluster, until

ALL = [1, 2, 3]


def ring(folder, name, digit):
    path = pathlib.Path(folder, name)
    path.touch(mode=0o600)
    path.write_text(digit * 64 + "\n")
    return path


def security(keys):
    return f'\n[security]\nmode = "psk"\nkeys = "{keys}"\n'


class Keys(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.keys = ring(self.folder.name, "ring", "a")
        self.cluster = Cluster(len(ALL), security(self.keys), SCOLL_NODE_CONTROL=f"{self.folder.name}/{{node}}.sock")
        self.addCleanup(self.cluster.close)

    def log(self, node):
        return (self.cluster.home / f"node-{node}.log").read_text(errors="replace")

    def without_security(self, name, instead=""):
        file = self.cluster.home / name
        file.write_text(re.sub(r"\n\[security\][^[]*", "\n", self.cluster.file.read_text()) + instead)
        return file

    def test_who_has_the_key_is_served(self):
        self.cluster.wait_all_alive()
        self.assertEqual(self.cluster.ask("df")["outcome"]["merged"], ALL)
        content = os.urandom(3 << 20)
        for direct in ([], ["--direct"]):
            put = self.cluster.run("put", *direct, "-", "object", input=content)
            self.assertEqual(put.returncode, 0, put.stderr)
            self.assertEqual(self.cluster.run("get", *direct, "object").stdout, content)

    def test_a_client_without_the_key_is_refused_and_told_why(self):
        stranger = self.without_security("stranger.toml")
        before = self.cluster.file
        self.cluster.file = stranger
        refused = self.cluster.run("put", "--direct", "-", "object", input=b"x" * 1000)
        self.cluster.file = before
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(b"security.mode", refused.stdout + refused.stderr)

    def test_a_server_with_another_key_is_not_heard(self):
        self.cluster.wait_all_alive()
        self.cluster.kill(3)
        gone = lambda node: self.cluster.ask("members", "--node", str(node))["value"]["alive"] == [1, 2]
        until(lambda: gone(1) and gone(2), "server 3 is dead for the others")
        other = ring(self.folder.name, "other", "b")
        self.cluster.file_of[3] = self.without_security("other.toml", security(other))
        self.cluster.start(3)
        time.sleep(5)  # as long as a server needs to be alive for all
        self.assertTrue(gone(1) and gone(2))
        self.cluster.run("df", "--node", "3")  # it speaks to the others, or tries to
        until(lambda: "is not in the ring" in self.log(1) + self.log(2), "the refusal is in the log")
        until(lambda: "is not in the ring" in self.log(3), "and in that of the server")


    def told(self, *command):
        done = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def test_the_ring_is_changed_in_one_place_for_messages_and_gossip_while_the_servers_run(self):
        def step(*action):
            ring_now = self.told(BIN / "gossipctl", "--json", "keys", "--file", self.keys, *action)["keys"]
            of = lambda node: self.told(BIN / "scoll-info", "--node", f"{self.folder.name}/{node}.sock", "--json", "security")
            for node in ALL:
                self.assertEqual(of(node)["keys"], ring_now)  # it reads the file when it is asked
            until(lambda: self.cluster.ask("df")["outcome"]["merged"] == ALL, f"all answer after {action}")
            return ring_now

        self.cluster.wait_all_alive()
        (old,) = step("list")
        old, new = step("add")
        self.assertEqual(step("promote", new), [new, old])
        self.assertEqual(step("drop", old), [new])
        # A server that starts now has only the new key. The gossip of the others must have it, too.
        self.cluster.kill(3)
        until(lambda: self.cluster.ask("members", "--node", "1")["value"]["alive"] == [1, 2], "server 3 is dead")
        self.cluster.start(3)
        self.cluster.wait_all_alive()
        self.assertEqual(self.cluster.ask("df")["outcome"]["merged"], ALL)


if __name__ == "__main__":
    unittest.main()
