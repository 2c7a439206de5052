#!/usr/bin/env python3
# needs: shard_server shardctl scoll-info
"""Shard servers with two rails each: they find each other by both, over TCP and in the gossip."""

import re
import unittest

from shard_cluster import Cluster

NODES = 3


def with_two_rails(text):
    """Gives each server of a cluster file an address in 127.20.0.0/24 and one in 127.21.0.0/24."""
    node = iter(range(1, NODES + 1))

    def both(found):
        host = next(node)
        return f'addresses = ["127.20.0.{host}:{found[1]}", "127.21.0.{host}:{found[1]}"]'

    return re.sub(r'address = "127\.0\.0\.1:(\d+)"', both, text)


class Rails(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=NODES, tree="flat", edit=with_two_rails)
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
