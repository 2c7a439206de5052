#!/usr/bin/env python3
# needs: shard_server shardctl scoll-info
"""scoll-info --node: what running servers say of themselves, of a peer that was killed, and under load."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from shard_cluster import BIN, LIMIT_S, Cluster, until

NODES = 4
BUSY_S = 0.1  # the bound of half of the answers under load


class Observed(unittest.TestCase):
    """Servers whose nodes have control sockets; those of one class share a cluster."""

    @classmethod
    def setUpClass(cls):
        cls.sockets = pathlib.Path(tempfile.mkdtemp(prefix="scoll-"))
        cls.addClassCleanup(shutil.rmtree, cls.sockets)
        cls.cluster = Cluster(nodes=NODES, tree="flat", SCOLL_NODE_CONTROL=f"{cls.sockets}/{{node}}.sock")
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.wait_all_alive()
        cls.cluster.ask("df")

    def info(self, *arguments, node=1):
        command = [BIN / "scoll-info", "--node", self.sockets / f"{node}.sock", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, check=False)

    def ask(self, *arguments, node=1):
        done = self.info(*arguments, "--json", node=node)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def peer(self, node):
        return self.ask("peer", str(node))["peer"]


class Answers(Observed):
    def test_every_server_tells_of_the_others(self):
        for node in range(1, NODES + 1):
            answer = self.ask("peers", node=node)
            self.assertEqual(answer["node"], node)
            self.assertEqual([p["id"] for p in answer["peers"]], [n for n in range(1, NODES + 1) if n != node])
        self.assertEqual({p["state"] for p in self.ask("peers")["peers"]}, {"up"})

    def test_each_command_has_a_table_and_json(self):
        for command, word in (("peers", "last failure"), ("groups", "df"), ("operations", "unanswered"), ("calls", "handlers"),
                              ("memory", "payload_buffers"), ("security", "first key"), ("events", "session_begun"), ("peer 2", "control lane"),
                              ("rails", "last error"), ("explain 2", "knows one path to node 2")):
            done = self.info(*command.split())
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(word, done.stdout)
            self.assertEqual(self.ask(*command.split())["node"], 1)
        metrics = self.info("metrics").stdout
        self.assertIn('scoll_resource_limit{resource="operations"} 1024\n', metrics)
        for line in metrics.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) scoll_|scoll_\w+(\{.*\})? \S+$)")

    def test_an_operation_is_shown_while_it_runs(self):
        source = self.cluster.home / "source"
        source.mkdir()
        (source / "file").write_bytes(b"x" * 100_000)
        self.cluster.ask("ingest", str(source))
        command = [BIN / "shardctl", "--cluster", self.cluster.file, "--progress", "lines", "scrub", "--pace", "5000"]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as asking:
            asking.stderr.readline()  # the scrub is under way
            services = [o["service"] for o in self.ask("operations")["operations"]]
            asking.kill()
        self.assertIn("scrub", services)

    def test_answers_come_under_load(self):
        stop = threading.Event()

        def load(node):
            while not stop.is_set():
                self.cluster.say(b'{"command": "df"}', node)

        users = [threading.Thread(target=load, args=(1 + i % NODES,)) for i in range(8)]
        for user in users:
            user.start()
        took = []
        try:
            enough = self.operations_started() + 100
            deadline = time.monotonic() + LIMIT_S
            while self.operations_started() < enough:
                before = time.monotonic()
                self.assertEqual(len(self.ask_directly(b"peers")["peers"]), NODES - 1)
                took.append(time.monotonic() - before)
                self.assertLess(before, deadline, "the load is under way")
        finally:
            stop.set()
            for user in users:
                user.join()
        self.assertLess(sorted(took)[len(took) // 2], BUSY_S, took)

    def operations_started(self):
        metrics = self.info("metrics").stdout
        return int(re.search(r"^scoll_operations_started_total (\d+)$", metrics, re.MULTILINE)[1])

    def ask_directly(self, line, node=1):
        """Without the start of a process."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(LIMIT_S)
            s.connect(str(self.sockets / f"{node}.sock"))
            s.sendall(line + b"\n")
            return json.loads(s.makefile("rb").readline())

    def test_mistakes_are_explained(self):
        for arguments, code, complaint in (
                (("peer", "9"), 2, "the node refuses: not_found: node 1 does not know node 9"),
                (("peer", "x"), 2, "scoll-info: "),
                (("peer",), 2, "scoll-info: id is required"),
                (("metrcs",), 2, "there is no command 'metrcs': did you mean metrics?"),
                ((), 2, "what is asked of the node? It answers peers, ")):
            done = self.info(*arguments)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done)
            self.assertIn(complaint, done.stderr)


class Ends(Observed):
    """Each case ends another server."""

    def test_a_killed_peer_is_named_with_the_reason(self):
        command = [BIN / "scoll-info", "--node", self.sockets / "1.sock", "events", "--follow", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
            self.cluster.kill(3)
            killed = time.monotonic()
            until(lambda: self.peer(3)["state"] == "down", "node 3 is down")
            noticed = time.monotonic() - killed
            self.assertRegex(self.peer(3)["last_failure"], "connection_lost|unreachable|io_error")
            self.assertEqual({p["state"] for p in self.ask("peers")["peers"] if p["id"] != 3}, {"up"})
            told = {}
            for line in following.stdout:
                event = json.loads(line)
                if event["peer"] == 3:
                    told[event["kind"]] = event["text"]
                if {"peer_dead", "session_lost"} <= told.keys():
                    break
            following.terminate()
        self.assertRegex(told["peer_dead"], r"^node 3 is dead \(incarnation \d+\)$")
        self.assertIn("the session with node 3 is lost: peer_died", told["session_lost"])
        self.assertEqual(self.peer(3)["state"], "dead")
        self.assertLess(noticed, LIMIT_S / 10)
        log = (self.cluster.home / "node-1.log").read_text()
        self.assertRegex(log, r"node 1 warning: node 3 is dead \(incarnation \d+\)")

    def test_a_stopped_process_is_told_from_an_absent_one(self):
        os.kill(self.cluster.processes[2].pid, signal.SIGSTOP)
        done = self.info("peers", node=2)
        os.kill(self.cluster.processes[2].pid, signal.SIGCONT)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("the node has not answered within 5 s", done.stderr)

    def test_an_absent_node_is_explained(self):
        self.cluster.kill(2)
        # The kernel may keep the socket of a killed process for a moment.
        until(lambda: "closed the connection" not in self.info("peers", node=2).stderr, "the socket of node 2 is dead")
        done = self.info("peers", node=2)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("nobody answers\nThe program that made this socket has ended", done.stderr)
        done = self.info("peers", node=77)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("No such file or directory\nA program has this socket while it runs if its setting node.control", done.stderr)
        done = subprocess.run([BIN / "scoll-info", "peers"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("name its control socket with --node", done.stderr)

    def test_the_socket_is_gone_after_a_shutdown(self):
        self.cluster.ask("stop", "--node", "4")
        self.cluster.processes.pop(4).wait(LIMIT_S)
        self.assertFalse((self.sockets / "4.sock").exists())


if __name__ == "__main__":
    unittest.main()
