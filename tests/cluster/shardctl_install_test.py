#!/usr/bin/env python3
# needs: shard_server shardctl
"""Large files for all shard servers, over real processes: memory, servers that die, stand still or have no room."""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

from shard_cluster import BIN, LIMIT_S, Cluster, until

MIB = 1 << 20
NODES = 8  # with knomial:4, node 5 is interior: nodes 6, 7 and 8 are below it
ALL = list(range(1, NODES + 1))
LARGE = 256 * MIB
SMALL = 24 * MIB

# Gigabytes are written and made durable: in memory if there is room.
if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 8 * 1024 * MIB:
    tempfile.tempdir = "/dev/shm"


def memory_of(process, key):
    """A figure of /proc/PID/status, in bytes."""
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key + ":")).split()[1]) * 1024


class Installing(unittest.TestCase):
    """All tests have one cluster, because its start takes seconds. Each gives its file a name of its own."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(NODES)
        cls.cluster.wait_all_alive()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def make_file(self, size):
        path = self.cluster.home / self.id().rpartition(".")[2]
        block = os.urandom(MIB)
        with open(path, "wb") as file:
            for i in range(0, size, MIB):  # no two pieces are equal
                file.write((i.to_bytes(8, "little") + block)[: min(MIB, size - i)])
        self.addCleanup(self.forget, path.name)
        return path

    def forget(self, name):
        for path in [self.cluster.home / name, *(self.installed(node, name) for node in ALL)]:
            path.unlink(missing_ok=True)

    def installed(self, node, name):
        return self.cluster.home / f"node-{node}" / "installed" / name

    def incoming(self, node):
        return list((self.cluster.home / f"node-{node}" / "incoming").iterdir())

    def received(self, node):
        """The bytes of the file that is on its way to a server."""
        try:
            return sum(entry.stat().st_size for entry in self.incoming(node))
        except FileNotFoundError:  # it has been installed meanwhile
            return 0

    def begin(self, *arguments):
        command = [BIN / "shardctl", "--cluster", self.cluster.file, "--json", "--progress", "lines", "install", *arguments]
        asking = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (asking.kill(), asking.wait(), asking.stdout.close(), asking.stderr.close()))
        return asking

    def end(self, asking, expect):
        said, _ = asking.communicate(timeout=LIMIT_S)
        answer = json.loads(said)
        self.assertEqual(asking.returncode, expect, answer)
        return answer

    def check_installed(self, source, nodes):
        for node in nodes:
            compared = subprocess.run(["cmp", source, self.installed(node, source.name)], timeout=LIMIT_S)
            self.assertEqual((node, compared.returncode, self.incoming(node)), (node, 0, []))

    def check_nothing_left(self, name):
        for node in ALL:
            until(lambda: self.incoming(node) == [], f"node {node} has removed what had come")
            self.assertFalse(self.installed(node, name).exists())

    def test_no_server_needs_memory_for_the_file(self):
        source = self.make_file(LARGE)
        for process in self.cluster.processes.values():
            pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5")  # VmHWM begins anew
        asking = self.begin(source)
        shown = [asking.stderr.readline().decode() for _ in range(2)]
        answer = self.end(asking, 0)
        value = answer["value"]
        self.assertEqual(answer["outcome"]["merged"], ALL)
        self.assertEqual((value["servers"], value["bytes"], value["size"]), (NODES, NODES * LARGE, LARGE))
        self.assertEqual((value["hashes"], value["attempts"]), ([value["hash"]], 1))
        self.assertRegex(shown[1], r"[MG]iB of 2\.0 GiB \(\d+%\), \d of 8 servers have the file\n")
        self.check_installed(source, ALL)
        for node, process in self.cluster.processes.items():
            self.assertLess(memory_of(process, "RssAnon"), 64 * MIB)
            if node != 1:  # the root has mapped the file
                self.assertLess(memory_of(process, "VmHWM"), 64 * MIB)

    def test_survivors_of_a_death_have_the_file(self):
        source = self.make_file(LARGE)
        asking = self.begin(source)
        until(lambda: self.received(5) > LARGE // 4, "a quarter has come to node 5")
        self.cluster.kill(5)
        self.assertFalse(self.installed(5, source.name).exists())
        answer = self.end(asking, 1)
        survivors = [1, 2, 3, 4, 6, 7, 8]
        self.assertEqual((answer["outcome"]["merged"], answer["outcome"]["unknown"]), (survivors, [5]))
        self.assertEqual([each["node"] for each in answer["absent"]], [5])
        self.assertEqual((answer["value"]["servers"], answer["value"]["attempts"]), (7, 2))
        self.assertEqual(answer["value"]["hashes"], [answer["value"]["hash"]])
        self.assertIn("repeat this when node 5 can be reached", answer["advice"])
        self.check_installed(source, survivors)

        source = self.make_file(SMALL)
        nobody = self.cluster.ask("install", source, expect=3)
        self.assertEqual((nobody["value"], [each["node"] for each in nobody["absent"]]), (None, [5]))
        self.assertIn("start node 5, or install the file on the others with --living", nobody["advice"])
        some = self.cluster.ask("install", source, "--living", expect=1)
        self.assertEqual((some["outcome"]["merged"], some["value"]["servers"]), (survivors, 7))
        self.assertEqual([each["node"] for each in some["absent"]], [5])

        self.assertEqual(len(self.incoming(5)), 1)
        self.cluster.start(5)
        self.assertEqual(self.incoming(5), [])
        self.assertIn("removed 1 files that were never installed", (self.cluster.home / "node-5.log").read_text())
        self.cluster.wait_all_alive()
        text = self.cluster.run("install", source).stdout.decode()
        self.assertIn("on the disks of     8 servers, 192.0 MiB; their hash is ", text)
        self.assertIn("all 8 executed", text)
        self.check_installed(source, ALL)

    def test_a_server_that_stands_still_is_slow_and_not_lost(self):
        source = self.make_file(LARGE)
        asking = self.begin(source)
        until(lambda: self.received(5) > LARGE // 8, "an eighth has come to node 5")
        self.cluster.processes[5].send_signal(signal.SIGSTOP)
        with self.assertRaises(subprocess.TimeoutExpired):
            asking.wait(2)
        self.cluster.processes[5].send_signal(signal.SIGCONT)
        answer = self.end(asking, 0)
        self.assertEqual((answer["outcome"]["merged"], answer["value"]["attempts"]), (ALL, 1))
        self.check_installed(source, ALL)

    def test_a_server_without_room_fails_alone_and_keeps_what_it_had(self):
        source = self.make_file(MIB)
        self.cluster.ask("install", source)
        kept = self.installed(5, source.name).read_bytes()
        self.cluster.limit_files(5, SMALL // 3)
        source = self.make_file(SMALL)
        answer = self.cluster.ask("install", source, expect=1)
        self.assertEqual((answer["outcome"]["failed"], answer["value"]["servers"]), ([5], 7))
        report = answer["outcome"]["reports"][0]
        self.assertEqual(report["phase"], "bulk")
        self.assertIn("File too large", report["cause"]["text"])
        self.assertIn("remove the cause on node 5", answer["advice"])
        self.check_installed(source, [node for node in ALL if node != 5])
        until(lambda: self.incoming(5) == [], "node 5 has removed what had come")
        self.assertEqual(self.installed(5, source.name).read_bytes(), kept)
        self.cluster.limit_files(5, resource.RLIM_INFINITY)
        self.cluster.ask("install", source)
        self.check_installed(source, ALL)

    def test_what_is_taken_back_leaves_nothing(self):
        source = self.make_file(LARGE)
        asking = self.begin(source)
        until(lambda: self.received(8) > MIB, "something has come to node 8")
        asking.kill()
        self.check_nothing_left(source.name)
        late = self.cluster.ask("install", source, "--timeout", "0.2", expect=3)
        # On a slow machine the group takes most of the time, and then each server says that the rest is too short.
        reasons = {late["status"]["code"]}
        if reasons == {"incomplete"}:
            reasons = {report["cause"]["code"] for report in late["outcome"]["reports"]}
        self.assertEqual(reasons, {"deadline_exceeded"}, late)
        self.check_nothing_left(source.name)

    def test_what_cannot_be_installed_is_refused_with_a_reason(self):
        source = self.make_file(100)
        for arguments, said in [
            ([source, "a/b"], "has letters, digits and ._-+=,@ only"),
            ([source, ".hidden"], "begins with a dot"),
            ([source, "--plan", "circulant"], "'circulant' needs memory for the file"),
            ([source, "--plan", "tree"], "or is no plan: give chain, kary:K or knomial:K"),
            ([self.cluster.home, "name"], "is not a regular file"),
            ([self.cluster.home / "none"], "No such file or directory"),
        ]:
            done = self.cluster.run("install", *arguments)
            self.assertEqual((done.returncode, said in (done.stdout + done.stderr).decode()), (2, True), done)
        self.cluster.ask("maintenance", "begin", "--note", "new disks", "--node", "3")
        closed = self.cluster.run("install", source)
        self.assertEqual((closed.returncode, b"for maintenance: new disks" in closed.stdout), (3, True), closed)
        self.cluster.ask("maintenance", "end", "--node", "3")
        for plan in ("chain", "kary:2", "knomial:4"):
            answer = self.cluster.ask("install", source, "--plan", plan)
            self.assertEqual((answer["outcome"]["merged"], answer["value"]["plan"]), (ALL, plan))
            self.check_installed(source, ALL)


if __name__ == "__main__":
    unittest.main()
