#!/usr/bin/env python3
# needs: shard_server shardctl
"""Clients of shard servers that are evicted, over real processes: in the middle of an upload, while a server dies, and for good."""

import signal
import subprocess
import threading
import unittest

from shard_cluster import BIN, Cluster, until

CLIENT, OTHER = 2**63 + 7, 2**63 + 8
ALL = list(range(1, 9))
INTERIOR = 5  # of knomial:2, for the root 1: nodes 6, 7 and 8 are below it
REFUSED = f"not_authorised: client {CLIENT} is evicted, by node 1: its lease is over"


class Clients(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=len(ALL), tree="knomial:2")
        self.addCleanup(self.cluster.close)
        self.cluster.wait_all_alive()
        self.object_at = self.objects_of_all()

    def objects_of_all(self):
        """An object of each server, stored by a client."""
        found = {}
        for i in range(1000):
            name = f"object/{i}"
            put = self.cluster.run("--json", "put", "--direct", "--client", str(OTHER), "-", name, input=b"content")
            self.assertEqual(put.returncode, 0, put.stderr)
            owner = self.cluster.ask("where", name)["value"]["node"]
            found.setdefault(owner, name)
            if len(found) == len(ALL):
                return found
        self.fail("some server owns nothing")

    def get(self, client, server):
        return self.cluster.run("get", "--direct", "--client", str(client), self.object_at[server])

    def evict(self, expect=0):
        return self.cluster.ask("evict", str(CLIENT), "--note", "its lease is over", "--node", "1", expect=expect)

    def assert_refused_by(self, servers):
        for server in servers:
            refused = self.get(CLIENT, server)
            self.assertEqual((refused.returncode, refused.stdout), (3, b""), server)
            self.assertIn(REFUSED, refused.stderr.decode())
            self.assertEqual(self.get(OTHER, server).stdout, b"content")

    def begin_upload(self):
        """A client in the middle of an upload: its server has the beginning."""
        command = [BIN / "shardctl", "--cluster", self.cluster.file, "put", "--direct", "--client", str(CLIENT), "-", "slow"]
        put = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        until(lambda: self.cluster.ask("clients")["value"]["clients"], "the upload has begun")
        self.assertEqual(self.cluster.ask("clients")["value"]["clients"],
                         [{"client": CLIENT, "refused_by": 0, "uploads": 1, "note": ""}])
        return put

    def mistakes_are_told(self):
        for command in ("evict", "admit"):
            server = self.cluster.ask(command, "3", expect=2)
            self.assertEqual(server["status"]["text"], "invalid_argument: 3 is no client: their ids are 9223372036854775808 or more")
        long = self.cluster.ask("evict", str(CLIENT), "--note", "x" * 65, expect=2)
        self.assertEqual(long["status"]["text"], "invalid_argument: a note of 65 bytes: at most 64 are allowed")
        self.assertEqual(self.cluster.run("evict").returncode, 2)

    def test_an_evicted_client_is_refused_everywhere_until_it_is_admitted(self):
        put = self.begin_upload()
        answer = self.evict()
        self.assertEqual((answer["value"]["servers"], answer["value"]["uploads_ended"], answer["advice"]), (8, 1, ""))
        self.assertEqual(answer["outcome"]["merged"], ALL)
        self.assertIn("8 members over knomial:2", answer["trace"])
        said, _ = put.communicate(b"the rest", timeout=30)
        self.assertEqual(put.returncode, 3)
        self.assertIn(REFUSED, said.decode())
        self.assertEqual(self.cluster.ask("where", "slow", expect=3)["status"]["code"], "not_found")
        self.assert_refused_by(ALL)
        self.assertIn(f"client              {CLIENT}: refused by 8 servers, 0 uploads: its lease is over\n",
                      self.cluster.run("clients").stdout.decode())
        for node in ALL:  # at once
            self.cluster.kill(node)
        for node in ALL:
            self.cluster.start(node)
        self.cluster.wait_all_alive()
        self.assert_refused_by(ALL)
        said = self.cluster.run("admit", str(CLIENT)).stdout.decode()
        self.assertIn("admitted by         8 servers\nservers             all 8 executed\n", said)
        for server in ALL:
            self.assertEqual(self.get(CLIENT, server).stdout, b"content")
        self.assertIn(b"none is evicted", self.cluster.run("clients").stdout)

    def test_all_survivors_refuse_a_client_though_an_interior_server_is_killed_in_the_middle(self):
        self.cluster.ask("clients")  # makes the group
        survivors = [node for node in ALL if node != INTERIOR]
        answers = []
        # It gets the request, and neither executes nor passes it on.
        self.cluster.processes[INTERIOR].send_signal(signal.SIGSTOP)
        asking = threading.Thread(target=lambda: answers.append(self.evict(expect=1)))
        asking.start()
        until(lambda: self.get(CLIENT, 2).returncode == 3, "server 2 has executed")
        self.assertFalse(answers)
        self.cluster.kill(INTERIOR)
        asking.join()
        answer = answers[0]
        self.assertEqual(answer["outcome"]["merged"], survivors)
        self.assertEqual(answer["outcome"]["unknown"], [INTERIOR])
        self.assertEqual(answer["value"]["servers"], 7)
        self.assertIn(f"repeat `shardctl evict {CLIENT}` when the missing servers run again", answer["advice"])
        self.assert_refused_by(survivors)
        # Now that it is known to be dead, too.
        until(lambda: INTERIOR not in self.cluster.ask("members")["value"]["alive"], "it is held dead")
        self.assertEqual(self.evict(expect=1)["outcome"]["merged"], survivors)
        self.cluster.start(INTERIOR)
        self.cluster.wait_all_alive()
        self.assertEqual(self.get(CLIENT, INTERIOR).stdout, b"content")  # as the advice says
        self.assertEqual(self.evict()["outcome"]["merged"], ALL)
        self.assert_refused_by(ALL)

    def test_the_living_are_asked_if_a_server_was_dead_from_the_beginning(self):
        self.cluster.kill(INTERIOR)
        answer = self.evict(expect=1)
        self.assertEqual(answer["outcome"]["merged"], [node for node in ALL if node != INTERIOR])
        self.assertEqual([each["node"] for each in answer["absent"]], [INTERIOR])
        self.assertIn("PARTIAL ANSWER: 7 of 8", self.cluster.run("evict", str(OTHER)).stdout.decode())
        self.mistakes_are_told()


if __name__ == "__main__":
    unittest.main()
