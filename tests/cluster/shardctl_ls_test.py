#!/usr/bin/env python3
# needs: shard_server shardctl
"""A listing of many names over real processes: it is complete, in order for each server, and takes no memory anywhere."""

import ctypes
import ctypes.util
import json
import os
import pathlib
import struct
import subprocess
import time
import unittest

from shard_cluster import BIN, Cluster, until

LONG = os.environ.get("SCOLL_LONG_TESTS") == "1"
NAMES = int(os.environ.get("SHARD_TEST_NAMES", "1000000" if LONG else "200000"))
ALL = [1, 2, 3, 4, 5, 6]
MORE_KIB = 2 * 1024  # than when idle, at most: less than half of what all names take, at 26 bytes each


def record(name):
    """An object of the index, as docs/wire.md says: a header of length and checksum, then name, size, hash and generation."""
    encoded = struct.pack("<I", len(name)) + name + struct.pack("<QQQ", 0, 0, 1)
    return struct.pack("<IQ", len(encoded), XXH3(encoded, len(encoded))) + encoded


XXH3 = ctypes.CDLL(ctypes.util.find_library("xxhash")).XXH3_64bits
XXH3.restype = ctypes.c_uint64
XXH3.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def name_of(i):
    return f"archive/{i % 97:02}/object-{i:08}".encode()


def fill(cluster):
    """Puts every sixth name into the index of each server, which then starts anew."""
    for node in ALL:
        cluster.kill(node)
        with open(cluster.home / f"node-{node}" / "index.log", "wb") as index:
            for i in range(node, NAMES, len(ALL)):
                index.write(record(name_of(i)))
        cluster.start(node)
    cluster.wait_all_alive()


def memory_of(pid):
    """The most that the process has had in memory since `forget_peak`, in KiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])


def forget_peak(pid):
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


def run(cluster, *arguments):
    """What shardctl has printed, its exit status, and the most memory that it had, in KiB."""
    process = subprocess.Popen([BIN / "shardctl", "--cluster", cluster.file, *arguments], stdout=subprocess.PIPE)
    said = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return said, process.returncode, usage.ru_maxrss


class Memory(unittest.TestCase):
    def test_all_names_come_once_and_memory_stays_flat(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        fill(cluster)
        nothing, code, idle = run(cluster, "ls", "nowhere")  # connections, and the group
        self.assertEqual((nothing, code), (b"", 0))
        before = {}
        for node, process in cluster.processes.items():
            forget_peak(process.pid)
            before[node] = memory_of(process.pid)
        said, code, peak = run(cluster, "ls")
        self.assertEqual(code, 0)
        lines = said.splitlines()
        self.assertEqual(len(lines), NAMES - 1)  # from 1 on
        self.assertEqual(set(lines), {name_of(i) for i in range(1, NAMES)})
        more = {node: memory_of(process.pid) - before[node] for node, process in cluster.processes.items()}
        print(f"{len(lines)} names; more than idle, in KiB: servers {more}, shardctl {peak - idle}")
        self.assertLess(max(more.values()), MORE_KIB)
        self.assertLess(peak - idle, MORE_KIB)


class Listing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        fill(cls.cluster)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def test_a_folder_is_a_part_of_the_names(self):
        wanted = sorted(name_of(i) for i in range(1, NAMES) if i % 97 == 13)
        for folder in ("archive/13", "/archive/13/"):
            said, code, _ = run(self.cluster, "ls", folder, "--node", "4")
            self.assertEqual((sorted(said.splitlines()), code), (wanted, 0))
        said, code, _ = run(self.cluster, "ls", "archive/1")
        self.assertEqual((said, code), (b"", 0))  # a folder, not the beginning of a name

    def test_json_tells_who_holds_what_in_its_order(self):
        said, code, _ = run(self.cluster, "--json", "ls", "archive/42")
        self.assertEqual(code, 0)
        *pages, answer = [json.loads(line) for line in said.splitlines()]
        names = {node: [] for node in ALL}
        for page in pages:
            names[page["node"]] += page["names"]
        self.assertEqual(answer["value"]["names"], sum(len(each) for each in names.values()))
        self.assertEqual(answer["outcome"]["merged"], ALL)
        for node, each in names.items():
            self.assertEqual(each, sorted(each))
            self.assertTrue(all(int(name[-8:]) % 6 == node % 6 for name in each))

    def test_a_client_that_stops_reading_holds_the_servers_back(self):
        process = subprocess.Popen([BIN / "shardctl", "--cluster", self.cluster.file, "--timeout", "30", "ls"], stdout=subprocess.PIPE)
        first = process.stdout.readline()
        self.assertTrue(first.startswith(b"archive/"))
        time.sleep(1)
        operations = lambda: [self.cluster.ask("status", "--node", str(n))["value"]["operations"] for n in ALL]
        self.assertEqual(operations(), [1] * len(ALL))
        process.kill()
        process.communicate()
        until(lambda: operations() == [0] * len(ALL), "the listing has ended everywhere")

    def test_a_dead_server_is_missed(self):
        cluster = self.cluster
        cluster.kill(6)
        said, code, _ = run(cluster, "--json", "ls", "archive/42")
        answer = json.loads(said.splitlines()[-1])
        self.assertIn(code, (1, 3))
        self.assertNotEqual(answer["status"]["code"], "ok")
        cluster.start(6)
        cluster.wait_all_alive()
        # The first question may find that server 6 does not hold the group; the next one makes another.
        until(lambda: run(cluster, "ls", "archive/42")[1] == 0, "all answer again")


if __name__ == "__main__":
    unittest.main()
