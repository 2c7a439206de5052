#!/usr/bin/env python3
# needs: shard_server shardctl scoll-info
"""Shard servers with two rails each: they find each other by both, over TCP and in the gossip."""

import unittest

from shard_cluster import Cluster, with_rails

NODES = 3


class Rails(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=NODES, tree="flat", edit=with_rails("127.20.0", "127.21.0"))
        cls.addClassCleanup(cls.cluster.close)

    def test_servers_with_two_rails_are_alive_and_answer(self):
        self.cluster.wait_all_alive()
        answer = self.cluster.ask("df")
        self.assertEqual(answer["outcome"]["merged"], list(range(1, NODES + 1)))

    def test_an_object_is_stored_and_read_back(self):
        content = b"rails " * 100_000
        for direct in ([], ["--direct"]):
            put = self.cluster.run("put", *direct, "-", "object", input=content)
            self.assertEqual(put.returncode, 0, put.stderr)
            self.assertEqual(self.cluster.run("get", *direct, "object").stdout, content)


if __name__ == "__main__":
    unittest.main()
