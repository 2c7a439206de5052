#!/usr/bin/env python3
# needs: shard_server shardctl
"""The shard servers' groups over real processes: a large layout, a delayed group, pools, maintenance, a leader, a revoke."""

import json
import signal
import subprocess
import time
import unittest

from shard_cluster import BIN, LIMIT_S, Cluster, until

ALL = [1, 2, 3, 4, 5, 6]


def status(cluster, node):
    return cluster.ask("status", "--node", str(node))["value"]


def statuses(cluster, key):
    """What every server says of itself."""
    return {node: status(cluster, node)[key] for node in cluster.processes}


def groups_of(cluster, node, name):
    """The groups of that name that the server has created and holds."""
    return [each for each in status(cluster, node)["named_groups"] if (each["creator"], each["name"]) == (node, name)]


def fill(cluster, files=40, size=1000):
    source = cluster.home / "source"
    source.mkdir()
    for i in range(files):
        (source / f"file-{i:02}").write_bytes(b"x" * (i * size))
    return cluster.ask("ingest", str(source))


def restart(cluster, node):
    """Returns when every server has heard of the new life. One that has not may still find the old one dead."""
    cluster.kill(node)
    cluster.start(node)
    news = f"(life {status(cluster, node)['incarnation']},"
    for other in cluster.processes:
        log = cluster.home / f"node-{other}.log"
        until(lambda: other == node or news in log.read_text(), f"server {other} hears of the new life of {node}")
    cluster.wait_all_alive()


class Layout(unittest.TestCase):
    """50,000 entities take 800,000 bytes: no message holds them, so that each server pulls them from its parent."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        fill(cls.cluster)
        cls.cluster.wait_all_alive()
        for node in ALL:  # connections and the groups that other commands keep
            cls.cluster.ask("df", "--node", str(node))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def ask_and_measure(self, *options, node):
        """The answer, and how much each server has sent meanwhile to children that pulled from it."""
        before = statuses(self.cluster, "bytes_sent")
        answer = self.cluster.ask("layout", "--node", str(node), *options)
        after = statuses(self.cluster, "bytes_sent")
        return answer, {each: after[each] - before[each] for each in ALL}

    def check_made(self, root, *options):
        answer, sent = self.ask_and_measure(*options, node=root)
        value = answer["value"]
        self.assertEqual((answer["root"], answer["outcome"]["merged"]), (root, ALL))
        self.assertEqual((value["members"], value["entities"], value["slots"]), (6, 50_000, 50_000))
        self.assertEqual((value["created"], len(value["digest"])), (True, 64))
        self.assertEqual(value["objects"], 40)
        self.assertTrue(0 < value["used"] <= 40 and value["fullest"] >= 1, value)
        tree = self.cluster.ask("tree", "--node", str(root))["nodes"]
        for each in ALL:
            children = sum(entry.get("parent") == each for entry in tree)
            self.assertTrue(children * 800_000 <= sent[each] < children * 800_000 + 300_000, (each, children, sent))
        return value

    def test_each_server_pulls_it_from_its_parent(self):
        at_once = self.check_made(1)
        self.assertEqual(at_once["populate"], "immediate")
        delayed = self.check_made(2, "--delayed")
        self.assertEqual(delayed["populate"], "delayed")
        self.assertEqual(delayed["digest"], at_once["digest"])
        # Both are kept: asked again, they cost no more than other questions.
        for node, options in ((1, []), (2, ["--delayed"])):
            answer, sent = self.ask_and_measure(*options, node=node)
            self.assertEqual((answer["value"]["created"], answer["outcome"]["merged"]), (False, ALL))
            self.assertLess(max(sent.values()), 200_000)
        text = self.cluster.run("layout").stdout.decode()
        for word in ("members             6\n", "entities            50,000\n", at_once["digest"], "earlier, before the first"):
            self.assertIn(word, text)

    def test_a_delayed_one_sends_nothing_before_the_first_question(self):
        before = status(self.cluster, 3)["broadcasts_rooted"]
        self.cluster.ask("layout", "--delayed", "--slots", "5000", "--node", "3")
        self.assertEqual(status(self.cluster, 3)["broadcasts_rooted"] - before, 1)
        self.assertEqual([each["delayed"] for each in groups_of(self.cluster, 3, "layout")], [True])

    def test_another_shape_takes_its_place(self):
        sizes = [self.cluster.ask("layout", "--node", "4", "--slots", str(n))["value"]["entities"] for n in (6, 1000, 6)]
        self.assertEqual(sizes, [6, 1000, 6])
        self.assertEqual(len(groups_of(self.cluster, 4, "layout")), 1)

    def test_one_that_must_fit_a_message_is_refused_with_its_size(self):
        refused = self.cluster.ask("layout", "--inline", "--node", "5", expect=3)
        self.assertEqual((refused["value"], refused["status"]["code"]), (None, "too_large"))
        self.assertRegex(refused["status"]["text"], r"takes 8\d\d\d\d\d bytes")
        small = self.cluster.ask("layout", "--inline", "--slots", "200", "--node", "5")
        self.assertEqual((small["value"]["entities"], small["outcome"]["merged"]), (200, ALL))


class RarestService(unittest.TestCase):
    def test_its_group_costs_no_message_and_takes_in_those_that_were_restarted(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        fill(cluster)
        cluster.wait_all_alive()
        for question, broadcasts in (("find", 2), ("top", 1)):  # the other group is created by a broadcast of its own
            before = status(cluster, 3)["broadcasts_rooted"]
            words = ["file"] if question == "find" else []
            self.assertEqual(cluster.ask(question, *words, "--node", "3")["outcome"]["merged"], ALL)
            self.assertEqual((question, status(cluster, 3)["broadcasts_rooted"] - before), (question, broadcasts))
        self.assertEqual([each["delayed"] for each in groups_of(cluster, 3, "top")], [True])
        self.assertIn(b"group               top of node 3, 6 members, delayed\n", cluster.run("status", "--node", "3").stdout)
        restart(cluster, 5)
        self.assertEqual(cluster.ask("df", "--node", "3")["outcome"]["merged"], ALL)  # it is connected again
        rooted = status(cluster, 3)["broadcasts_rooted"]
        again = sum(statuses(cluster, "asked_again").values())
        self.assertEqual(cluster.ask("top", "--node", "3")["outcome"]["merged"], ALL)
        self.assertEqual(status(cluster, 3)["broadcasts_rooted"] - rooted, 1)
        self.assertEqual(sum(statuses(cluster, "asked_again").values()) - again, 1)


class Pools(unittest.TestCase):
    """Pools 7 and 8 are out-of-band groups: each server asks its cluster file who is in them."""

    def test_a_pool_is_what_the_cluster_file_says_now(self):
        cluster = Cluster(settings="[[pool]]\nid = 7\nname = \"fast\"\nnodes = [2, 5, 6]\n[[pool]]\nid = 8\nnodes = [3, 1]\n")
        self.addCleanup(cluster.close)
        fill(cluster)
        self.assertEqual(cluster.ask("pools")["pools"][0], {"id": 7, "name": "fast", "nodes": [2, 5, 6]})
        self.assertIn(b"pool 7     nodes 2, 5-6  fast\n", cluster.run("pools").stdout)
        cluster.wait_all_alive()
        rooted, received = statuses(cluster, "broadcasts_rooted"), statuses(cluster, "broadcasts_received")
        answer = cluster.ask("pool", "7")
        self.assertEqual((answer["root"], answer["outcome"]["merged"], answer["outcome"]["members"]), (2, [2, 5, 6], 3))
        objects = statuses(cluster, "objects")
        self.assertEqual(answer["value"]["objects"], sum(objects[node] for node in (2, 5, 6)))
        # One broadcast, and no other node has heard of it.
        self.assertEqual(status(cluster, 2)["broadcasts_rooted"] - rooted[2], 1)
        for node in (1, 3, 4):
            self.assertEqual(status(cluster, node)["broadcasts_received"], received[node])
        self.assertEqual(cluster.ask("pool", "8")["outcome"]["merged"], [3, 1])
        self.assertEqual(cluster.ask("pool", "7", "--node", "6")["root"], 6)

        stranger = cluster.ask("pool", "7", "--node", "1", expect=3)
        self.assertEqual(stranger["status"]["code"], "not_member")
        nothing = cluster.say(b'{"command": "pool", "pool": 9}')
        self.assertEqual(nothing["status"], {"code": "not_found", "text": "not_found: there is no pool 9 in the cluster file"})

        # The file changes, and nobody is started again.
        before = cluster.file.read_text()
        cluster.file.write_text(before.replace("[2, 5, 6]", "[2, 4, 5, 6]"))
        self.assertEqual(cluster.ask("pool", "7")["outcome"]["merged"], [2, 4, 5, 6])
        self.assertIn("the cluster file has 4 servers in pool 7", (cluster.home / "node-6.log").read_text())
        cluster.file.write_text("name = 5\n")
        wrong = cluster.say(b'{"command": "pool", "pool": 7}', node=2)
        self.assertEqual(wrong["status"]["code"], "invalid_argument")
        self.assertIn("cluster.toml:1:8: cluster: 'name' must be a text in quotes", (cluster.home / "node-2.log").read_text())
        cluster.file.write_text(before.replace("[2, 5, 6]", "[2, 4, 5, 6]"))

        # One server has an older file.
        cluster.file_of[6] = cluster.home / "older.toml"
        cluster.file_of[6].write_text(before)
        restart(cluster, 6)
        until(lambda: cluster.run("pool", "7").returncode == 1, "server 6 answers by its older file")
        differs = cluster.ask("pool", "7", expect=1)
        self.assertEqual(differs["outcome"]["merged"], [2, 4, 5])
        causes = {(tuple(each["nodes"]), each["cause"]["code"]) for each in differs["outcome"]["reports"]}
        self.assertEqual(causes, {((6,), "membership_changed")})
        self.assertIn("membership differs: here ", differs["outcome"]["reports"][0]["cause"]["text"])


class Maintenance(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.close)
        fill(self.cluster)
        self.cluster.wait_all_alive()
        stored = statuses(self.cluster, "bytes")
        self.by_load = sorted(ALL, key=lambda node: (stored[node], node))
        self.beginner = self.by_load[-1]  # the one that leads least likely

    def ask(self, *arguments, node=None, expect=0):
        return self.cluster.ask(*arguments, "--node", str(node or self.beginner), expect=expect)

    def under_way(self, node):
        return self.ask("maintenance", node=node)["value"]["under_way"]

    def put(self, node):
        return self.cluster.run("put", "-", f"object of {node}", "--node", str(node), input=b"content")

    def test_writes_are_refused_until_the_last_broadcast(self):
        idle = self.ask("leader", expect=3)
        self.assertEqual(idle["status"]["code"], "not_found")
        begun = self.ask("maintenance", "begin", "--note", "new disks")
        self.assertEqual((begun["outcome"]["merged"], begun["value"]["servers"]), (ALL, 6))
        said = f"node {self.beginner} has closed the servers for maintenance: new disks"
        for node in ALL:
            self.assertTrue(self.under_way(node))
            refused = self.put(node)
            self.assertEqual(refused.returncode, 3)
            self.assertIn(said, refused.stdout.decode())
        ingest = self.ask("ingest", "/", "--max-objects", "1", expect=3)
        self.assertIn(said, ingest["outcome"]["reports"][0]["cause"]["text"])
        self.assertEqual(self.ask("df")["outcome"]["merged"], ALL)  # questions are answered as ever
        other = self.by_load[0]
        self.assertEqual(self.ask("maintenance", "begin", node=other, expect=3)["status"]["code"], "already_exists")
        self.assertEqual(self.ask("maintenance", "end", node=other, expect=2)["status"]["code"], "invalid_argument")

        ended = self.ask("maintenance", "end")
        self.assertEqual((ended["outcome"]["merged"], ended["value"]["refused"]), (ALL, 7))
        for node in ALL:
            until(lambda: not self.under_way(node), f"node {node} is open")
            self.assertEqual(self.put(node).returncode, 0)
            self.assertNotIn("maintenance", [each["name"] for each in status(self.cluster, node)["named_groups"]])
        self.assertEqual(self.ask("maintenance", "end", expect=3)["status"]["code"], "not_found")
        # There may be another one, begun elsewhere.
        self.assertEqual(self.ask("maintenance", "begin", node=other)["value"]["begun_by"], other)
        self.assertEqual(self.ask("maintenance", "end", node=other)["outcome"]["merged"], ALL)

    def test_all_agree_on_a_leader_and_on_another_one_when_it_dies(self):
        first, second = self.by_load[:2]
        self.ask("maintenance", "begin", "--note", "new disks")
        for node in (self.beginner, first, second):  # asked again, it is the same
            value = self.ask("leader", node=node)["value"]
            self.assertEqual((value["leader"], value["leaders"], value["term"], value["without"]), (first, [first], 1, []))
        self.assertEqual(self.ask("leader", "--again")["value"]["term"], 2)
        for node in ALL:  # those that were not asked know it as well
            self.assertEqual(self.ask("maintenance", node=node)["value"]["term"], 2)

        self.cluster.kill(first)
        living = sorted(self.cluster.processes)
        dead = lambda node: self.ask("members", node=node)["value"]["dead"] == [first]
        for node in living:
            until(lambda: dead(node), f"node {node} has heard of the death")
        answer = self.ask("leader")
        value = answer["value"]
        self.assertEqual((value["leader"], value["leaders"], value["term"], value["without"]), (second, [second], 3, [first]))
        self.assertEqual(answer["outcome"]["merged"], living)
        self.assertIn(f"leader              node {second}, which stores ", self.cluster.run("maintenance", "--node", str(second)).stdout.decode())
        # With the server that began it the maintenance ends.
        self.cluster.kill(self.beginner)
        for node in self.cluster.processes:
            until(lambda: not self.under_way(node), f"node {node} is open")


class PlanB(unittest.TestCase):
    PACE_MS = 5000  # a scrub that nobody ends lasts for most of a minute
    PATIENCE_S = 10

    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.close)
        fill(self.cluster, files=60)
        self.cluster.wait_all_alive()

    def begin_scrub(self):
        command = [BIN / "shardctl", "--cluster", self.cluster.file, "--json", "--node", "1", "--progress", "lines",
                   "scrub", "--pace", str(self.PACE_MS)]
        asking = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (asking.kill(), asking.wait(), asking.stdout.close(), asking.stderr.close()))
        while b" of 60 objects" not in asking.stderr.readline():  # it runs on all of them
            self.assertIsNone(asking.poll())
        return asking

    def check_revoked(self, asking, since, reason):
        answer = json.loads(asking.stdout.read())
        self.assertLess(time.monotonic() - since, self.PATIENCE_S)
        self.assertIn(asking.wait(LIMIT_S), (1, 3))
        self.assertEqual(answer["status"]["code"], "revoked", answer)
        self.assertIn(reason, answer["status"]["text"])
        return answer

    def test_a_revoke_ends_a_scrub_everywhere_and_the_next_one_runs_at_once(self):
        self.assertEqual(self.cluster.ask("revoke", expect=3)["status"]["code"], "not_found")
        self.cluster.ask("df")
        asking = self.begin_scrub()
        revoked = time.monotonic()
        value = self.cluster.ask("revoke", "--node", "3", "--code", "42", "--text", "plan B")["value"]
        self.assertEqual((value["code"], value["text"], [each["root"] for each in value["revoked"]]), (42, "plan B", [1]))
        self.assertGreater(value["revoked"][0]["emitted"], 0)
        self.check_revoked(asking, revoked, "node 3 has revoked the group, reason 42: plan B")
        second = self.cluster.ask("scrub", "--node", "1")
        self.assertEqual((second["outcome"]["merged"], second["value"]["objects"], second["value"]["damaged"]), (ALL, 60, 0))
        self.assertLess(time.monotonic() - revoked, 2 * self.PATIENCE_S)
        for node in ALL:  # nothing of the first one is left
            until(lambda: status(self.cluster, node)["operations"] == 0, f"node {node} is idle")
        # Groups of other services are as they were.
        before = status(self.cluster, 1)["broadcasts_rooted"]
        self.assertEqual(self.cluster.ask("df")["outcome"]["merged"], ALL)
        self.assertEqual(status(self.cluster, 1)["broadcasts_rooted"] - before, 1)

    def test_a_revoke_waits_for_nobody_who_is_silent(self):
        asking = self.begin_scrub()
        self.cluster.processes[5].send_signal(signal.SIGSTOP)
        revoked = time.monotonic()
        self.cluster.ask("revoke", "--node", "6", "--text", "server 5 hangs")
        answer = self.check_revoked(asking, revoked, "node 6 has revoked the group, reason 1: server 5 hangs")
        self.assertIn(5, answer["outcome"]["unknown"])
        self.cluster.processes[5].send_signal(signal.SIGCONT)
        until(lambda: status(self.cluster, 5)["operations"] == 0, "node 5 has heard of it, too")
        self.cluster.wait_all_alive()
        self.assertEqual(self.cluster.ask("scrub")["outcome"]["merged"], ALL)


if __name__ == "__main__":
    unittest.main()
