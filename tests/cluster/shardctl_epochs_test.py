#!/usr/bin/env python3
# needs: shard_server shardctl
"""Epochs of the shard servers over real processes, as a person commits them: with dead servers, and after all were killed."""

import concurrent.futures
import socket
import unittest

from shard_cluster import Cluster, until

ALL = [1, 2, 3, 4, 5]


def epochs(cluster):
    """The epoch at which each server says it stands."""
    return {node: cluster.ask("status", "--node", str(node))["value"]["epoch"] for node in cluster.processes}


class Epochs(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=5)
        self.addCleanup(self.cluster.close)
        self.cluster.wait_all_alive()

    def wait_all_at(self, epoch):
        until(lambda: set(epochs(self.cluster).values()) == {epoch}, f"all stand at epoch {epoch}")

    def test_an_epoch_is_committed_on_all_servers(self):
        ask = self.cluster.ask
        self.assertIn(b"epoch               0: none was committed yet\n", self.cluster.run("epoch").stdout)
        first = ask("commit", "--note", "new layout", "--node", "2")["value"]
        self.assertEqual((first["epoch"], first["epoch_note"]), (1, "new layout"))
        self.assertEqual(ask("commit", "--note", "another", "--node", "4")["value"]["epoch"], 2)
        self.wait_all_at(2)
        answer = ask("epoch")
        value = answer["value"]
        self.assertEqual((value["epoch"], value["lowest"], value["open"], value["epoch_note"]), (2, 2, False, "another"))
        self.assertEqual(answer["outcome"]["merged"], ALL)
        self.assertIn(b"epoch               3: third\nasked for by        node 1, life ", self.cluster.run("commit", "--note", "third").stdout)
        self.assertIn(b"epoch               3\n", self.cluster.run("status").stdout)
        refused = ask("commit", "--note", "x" * 201, expect=2)
        self.assertEqual(refused["status"]["text"], "invalid_argument: a note of 201 bytes: at most 200 are allowed")

    def test_a_majority_goes_on_and_the_others_follow(self):
        for node in (4, 5):
            self.cluster.kill(node)
        self.assertEqual(self.cluster.ask("commit", "--note", "without two")["value"]["epoch"], 1)
        self.wait_all_at(1)
        partial = self.cluster.ask("epoch", expect=1)
        self.assertEqual(partial["value"]["epoch"], 1)
        self.assertEqual(partial["outcome"]["merged"], [1, 2, 3])
        self.cluster.kill(3)
        until(lambda: self.cluster.ask("members")["value"]["alive"] == [1, 2], "three are held dead")
        none = self.cluster.ask("--timeout", "2", "commit", "--note", "a minority", expect=3)
        self.assertEqual(none["status"]["code"], "incomplete")
        self.assertIn("2 of 5 servers are held alive, 3 are needed", none["status"]["text"])
        for node in (3, 4, 5):
            self.cluster.start(node)
        self.wait_all_at(1)
        self.assertEqual(self.cluster.ask("commit", "--note", "all again")["value"]["epoch"], 2)
        self.wait_all_at(2)

    def test_what_was_acknowledged_outlives_all_servers(self):
        self.assertEqual(self.cluster.ask("commit", "--note", "kept")["value"]["epoch"], 1)
        for node in ALL:  # at once: some of them may not have heard that it is decided
            self.cluster.kill(node)
        for node in ALL:
            self.cluster.start(node)
        self.wait_all_at(1)
        self.assertEqual(self.cluster.ask("status", "--node", "5")["value"]["epoch_note"], "kept")

    def test_a_commit_whose_server_dies_before_the_answer_is_undecided(self):
        self.cluster.kill(2)
        place = self.cluster.home / "node-2.sock"
        place.unlink()
        self.assertIn(b"no server answers", self.cluster.run("commit", "--node", "2").stderr)
        with socket.socket(socket.AF_UNIX) as dying:
            dying.bind(str(place))
            dying.listen()

            def die_when_asked():
                connection, _ = dying.accept()
                with connection:
                    connection.recv(4096)

            with concurrent.futures.ThreadPoolExecutor() as pool:
                died = pool.submit(die_when_asked)
                answer = self.cluster.ask("commit", "--node", "2", "--note", "nobody knows", expect=3)
                died.result()
        self.assertEqual(answer["status"]["code"], "undecided")
        self.assertIn("the epoch may still come about", answer["status"]["text"])


if __name__ == "__main__":
    unittest.main()
