#!/usr/bin/env python3
# needs: shard_server shardctl
"""A cluster of shard servers through shardctl and its control socket: exit codes, JSON, puts and gets, crashes."""

import json
import os
import pathlib
import signal
import socket
import stat
import subprocess
import tempfile
import time
import unittest

from shard_cluster import BIN, LIMIT_S, NODES, Cluster, until

class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.source = cls.cluster.home / "source"
        (cls.source / "deep").mkdir(parents=True)
        for i in range(40):
            (cls.source / "deep" / f"file-{i:02}").write_bytes(b"x" * (i * 1000))
        cls.ingested = cls.cluster.ask("ingest", str(cls.source))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def name(self, i):
        return f"{self.source}/deep/file-{i:02}".lstrip("/")

    def test_ingest_counts(self):
        self.assertEqual(self.ingested["value"]["objects"], 40)
        self.assertEqual(self.ingested["value"]["bytes"], sum(i * 1000 for i in range(40)))
        self.assertFalse(self.ingested["value"]["limit_reached"])

    def test_ingest_stops_at_a_limit(self):
        again = self.cluster.ask("ingest", str(self.source), "--max-objects", "7")
        self.assertEqual((again["value"]["objects"], again["value"]["limit_reached"]), (7, True))

    def test_every_server_can_be_root(self):
        for node in range(1, NODES + 1):
            answer = self.cluster.ask("df", "--node", str(node))
            self.assertEqual(answer["root"], node)
            self.assertEqual(answer["outcome"]["merged"], list(range(1, NODES + 1)))
            self.assertEqual(answer["status"], {"code": "ok", "text": ""})
            self.assertEqual(len(answer["value"]["filesystems"]), 1)

    def test_find_tells_who_holds_what(self):
        by_part = self.cluster.ask("find", "file-1")["value"]
        by_glob = self.cluster.ask("find", "*/file-1?")["value"]
        self.assertEqual((by_part["matches"], by_part), (10, by_glob))
        for node in by_part["nodes"]:
            for name in node["names"]:
                self.assertEqual(self.cluster.ask("where", name)["value"]["node"], node["node"])

    def test_lists_that_do_not_fit_are_cut_and_say_so(self):
        folder = self.cluster.home / "many"
        folder.mkdir()
        for i in range(400):
            (folder / f"{'long' * 40}-{i}").write_bytes(b"")
        self.cluster.ask("ingest", str(folder))
        found = self.cluster.ask("find", "longlong")["value"]
        listed = sum(len(node["names"]) for node in found["nodes"])
        self.assertEqual((found["matches"], found["list_cut"]), (400, True))
        self.assertTrue(0 < listed < 400)

    def test_top(self):
        largest = self.cluster.ask("top", "-k", "3")["value"]["largest"]
        sizes = [each["size"] for each in largest]
        self.assertEqual((len(sizes), sizes), (3, sorted(sizes, reverse=True)))

    def test_trace(self):
        file = self.cluster.home / "trace.json"
        answer = self.cluster.ask("trace", "--node", "2", "--chrome", str(file))
        self.assertEqual(answer["outcome"]["merged"], list(range(1, NODES + 1)))
        written = json.loads(file.read_text())
        self.assertEqual(written, answer["value"]["chrome"])
        spans = [each for each in written["traceEvents"] if each["name"] == "broadcast"]
        self.assertEqual(sorted(each["pid"] for each in spans), list(range(1, NODES + 1)))
        whole = next(each for each in spans if each["pid"] == 2)
        self.assertEqual((whole["ts"], whole["args"]), (0, {"error_us": 0}))
        for each in spans:
            self.assertLessEqual(each["ts"] + each["dur"], whole["dur"] + 0.001)
            if each is not whole:
                self.assertGreater(each["args"]["error_us"], 0)
        lines = self.cluster.run("trace").stdout.decode().splitlines()
        self.assertIn(f"{NODES} members over", lines[0])
        self.assertEqual(sum("=" in line and "|" in line for line in lines[2:]), NODES)
        self.assertEqual(lines[-1].split(), ["servers", "all", str(NODES), "executed"])
        self.assertEqual(self.cluster.run("trace", "--chrome", "/nowhere/trace.json").returncode, 2)

    def test_tree(self):
        nodes = self.cluster.ask("tree", "--node", "2")["nodes"]
        self.assertEqual(sorted(nodes[0]["subtree"]), list(range(1, NODES + 1)))
        self.assertIn(b"digraph", self.cluster.run("tree", "--dot").stdout)
        self.assertEqual(self.cluster.run("tree").stdout.count(b"\n"), NODES)

    def test_put_and_get(self):
        for i, size in enumerate([0, 1, 3500, 3501, 16384, 16385, 300_000] * 2):
            content = os.urandom(size)
            name = f"dir ü/{i}-{size}"
            put = self.cluster.run("put", "-", name, input=content)
            self.assertEqual(put.returncode, 0, put)
            self.assertEqual(self.cluster.run("get", name, "--node", str(i % NODES + 1)).stdout, content)
        self.assertEqual(self.cluster.run("put", "-", "dir ü/0-0", input=b"replaced").returncode, 0)
        self.assertEqual(self.cluster.run("get", "dir ü/0-0").stdout, b"replaced")
        self.assertEqual(self.cluster.ask("scrub")["value"]["damaged"], 0)

    def test_put_and_get_as_a_client(self):
        out = self.cluster.home / "out"
        for i, size in enumerate([0, 1, 16384, 1 << 20, (1 << 20) + 1, 3_000_000]):
            content = os.urandom(size)
            name = f"directly/{i}"
            put = self.cluster.run("put", "--direct", "-", name, input=content)
            self.assertEqual(put.returncode, 0, put)
            self.assertEqual(self.cluster.run("get", name).stdout, content)
            self.assertEqual(self.cluster.run("get", "--direct", name).stdout, content)
            self.assertEqual(self.cluster.run("get", "--direct", name, str(out)).returncode, 0)
            self.assertEqual(out.read_bytes(), content)
        told = self.cluster.ask("put", "--direct", str(out), "directly/told")
        self.assertEqual((told["status"]["code"], told["value"]["size"]), ("ok", 3_000_000))
        self.assertEqual(told["value"]["node"], self.cluster.ask("where", "directly/told")["value"]["node"])
        missing = self.cluster.run("get", "--direct", "no such object", str(out))
        self.assertEqual(missing.returncode, 3)
        self.assertIn(b"not_found", missing.stderr + missing.stdout)
        self.assertEqual(out.read_bytes(), content)
        self.assertEqual(list(self.cluster.home.glob("*.part")), [])
        self.assertEqual(self.cluster.ask("scrub")["value"]["damaged"], 0)

    def test_get_into_a_file(self):
        out = self.cluster.home / "out"
        self.assertEqual(self.cluster.run("get", self.name(3), str(out)).returncode, 0)
        self.assertEqual(out.read_bytes(), b"x" * 3000)
        self.assertEqual(self.cluster.run("get", "no such object", str(out)).returncode, 3)
        self.assertEqual(out.read_bytes(), b"x" * 3000)
        self.assertEqual(list(self.cluster.home.glob("*.part")), [])

    def test_damage_is_found_and_not_handed_out(self):
        name = "damaged by this test"
        self.assertEqual(self.cluster.run("put", "-", name, input=b"abcdef").returncode, 0)
        where = self.cluster.ask("where", name)["value"]
        file = pathlib.Path(where["file"])
        for content, fault in [
            (b"abcdeF", "content differs from what was stored"),
            (b"abc", "3 bytes long instead of 6"),
            (b"abcdefg", "7 bytes long instead of 6"),
            (None, "No such file or directory"),
        ]:
            file.unlink() if content is None else file.write_bytes(content)
            scrubbed = self.cluster.ask("scrub")["value"]
            self.assertEqual(scrubbed["damaged"], 1)
            self.assertEqual(scrubbed["list"][0]["object"], name)
            self.assertEqual(scrubbed["list"][0]["node"], where["node"])
            self.assertIn(fault, scrubbed["list"][0]["fault"])
            if content != b"abcdefg":  # what is beyond the object's size is never read
                self.assertEqual(self.cluster.run("get", name).returncode, 3)
        self.assertEqual(self.cluster.run("put", "-", name, input=b"abcdef").returncode, 0)
        self.assertEqual(self.cluster.ask("scrub")["value"]["damaged"], 0)

    def test_bad_usage(self):
        for arguments in [
            [],
            ["nonsense"],
            ["df", "--node", "77"],
            ["top", "-k", "0"],
            ["stop"],
            ["put", "-"],
            ["ingest", "/no/such/folder"],
            ["put", "/dev/null", "n" * 513],
            ["init", "--dir", str(self.cluster.home)],
            ["layout", "--slots", "5"],
            ["pool", "1"],
            ["maintenance", "stop"],
            ["maintenance", "begin", "--note", "n" * 201],
            ["revoke", "--text", "t" * 65],
            ["revoke", "--code", "4294967296"],
        ]:
            done = self.cluster.run(*arguments)
            self.assertEqual((done.returncode, arguments), (2, arguments), done)
            self.assertTrue(done.stderr + done.stdout)

    def test_a_misspelt_command_is_named(self):
        for arguments, complaint in [
            (["dff"], b"there is no command 'dff': did you mean df?"),
            (["df", "--livng"], b"there is no option '--livng': did you mean --living?"),
            (["nonsense"], b"there is no command 'nonsense'\n"),
        ]:
            done = self.cluster.run(*arguments)
            self.assertEqual((done.returncode, complaint in done.stderr), (2, True), done)

    def test_bad_requests_on_the_control_socket(self):
        for line in [
            b"",
            b"[]",
            b'{"command": 5}',
            b'{"comand": "df"}',
            b'{"command": "fd"}',
            b'{"command": "ingest", "folder": "/", "living": true}',
            b'{"command": "ingest", "max_bytes": -1}',
            b'{"command": "get", "object": ""}',
            b'{"command": "get", "object": "a\\u0000b"}',
            b"\xff\xfe",
            b'{"command": "put", "object": "half"}\n{"bytes": "not base 64"}',
        ]:
            answer = self.cluster.say(line)
            self.assertEqual((answer["status"]["code"], line), ("invalid_argument", line), answer)
        self.assertEqual(self.cluster.say(b'{"command": "get", "object": "half"}')["status"]["code"], "not_found")

    def test_what_the_root_refuses_goes_no_further(self):
        answer = self.cluster.say(b'{"command": "ingest", "folder": "relative"}')
        outcome = answer["outcome"]
        self.assertEqual((outcome["failed"], outcome["not_reached"]), ([1], list(range(2, NODES + 1))))
        self.assertEqual(outcome["reports"][0]["phase"], "prepare")
        self.assertIn("needs an absolute path", outcome["reports"][0]["cause"]["text"])

    def test_only_its_user_may_connect(self):
        mode = (self.cluster.home / "node-1.sock").stat().st_mode
        self.assertEqual((stat.S_ISSOCK(mode), stat.S_IMODE(mode)), (True, 0o600))

    def test_a_second_server_of_the_same_folder_is_refused(self):
        arguments = ["--cluster", self.cluster.file, "--node", "1", "--data", self.cluster.home / "node-1"]
        second = subprocess.run([BIN / "shard_server", *arguments], capture_output=True, timeout=LIMIT_S)
        self.assertEqual(second.returncode, 1)
        self.assertIn(b"another process uses", second.stderr)
        self.assertEqual(self.cluster.ask("status")["value"]["node"], 1)

    def test_a_setting_that_does_not_exist_is_refused(self):
        arguments = ["--cluster", self.cluster.file, "--node", "1", "--data", self.cluster.home / "elsewhere"]
        done = subprocess.run([BIN / "shard_server", *arguments], env=os.environ | {"SCOLL_TCP_BACKLOGS": "5"},
                              capture_output=True, timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stderr), (2, b"SCOLL_TCP_BACKLOGS: there is no such setting: did you mean SCOLL_TCP_BACKLOG?\n"))

    def test_who_hangs_up_takes_the_question_back(self):
        command = [BIN / "shardctl", "--cluster", self.cluster.file, "--progress", "lines", "scrub", "--pace", "5000"]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as asking:
            asking.stderr.readline()  # the scrub is under way
            asking.kill()
        for node in range(1, NODES + 1):
            idle = lambda: self.cluster.ask("status", "--node", str(node))["value"]["operations"] == 0
            until(idle, f"node {node} is idle")


class ChoosingATree(unittest.TestCase):
    """Real processes, so that figures are real too: what is sure of them are bounds."""

    def check(self, value, members):
        by_tree = {each["tree"]: each["predicted_us"] for each in value["candidates"]}
        self.assertEqual(value["members"], members)
        self.assertEqual(sorted(by_tree.values()), [each["predicted_us"] for each in value["candidates"]])
        self.assertEqual(by_tree[value["tree"]], value["predicted_us"])
        for tree in ("flat", "chain", "knomial:2", "kary:2"):
            self.assertIn(tree, by_tree)
        self.assertEqual([each["name"] for each in value["links"]], ["same host"])
        link = value["links"][0]
        work = link["send_us"] + link["receive_us"] + link["merge_us"]
        self.assertTrue(1 < work < 50_000, link)
        self.assertTrue(0 < value["predicted_us"] < 1e6, value)
        # A chain wakes all servers one after the other, twice: it is not the best of all.
        self.assertGreater(by_tree["chain"], value["candidates"][0]["predicted_us"])
        self.assertEqual(value["processors"], [len(os.sched_getaffinity(0))])

    def test_a_server_measures_chooses_and_keeps_to_it(self):
        cluster = Cluster(5, tree="auto")
        self.addCleanup(cluster.close)
        self.assertEqual(cluster.ask("status")["value"]["tree"], "auto")
        answer = cluster.ask("plan", "--node", "2")
        self.check(answer["value"], 5)
        self.assertEqual((answer["root"], answer["value"]["pinned"]), (2, False))
        self.assertLessEqual(answer["value"]["predicted_us"], answer["value"]["candidates"][0]["predicted_us"] * 1.05)
        self.assertEqual(answer["value"]["groups_have"], answer["value"]["tree"])
        self.assertEqual(cluster.ask("df", "--node", "2")["outcome"]["merged"], [1, 2, 3, 4, 5])
        self.assertEqual(cluster.ask("status", "--node", "2")["value"]["tree"], answer["value"]["tree"])
        text = cluster.run("plan", "--node", "2").stdout.decode()
        for word in (" for 5 members: ", "\nwhy: ", "\nsame host: send ", "\n> ", "\ngroups have "):
            self.assertIn(word, text)
        # One that was never asked for a plan makes it when it needs it.
        cluster.ask("df")
        chosen = cluster.ask("status")["value"]["tree"]
        self.assertNotEqual(chosen, "auto")
        self.assertIn(f"tree {chosen}: ", (cluster.home / "node-1.log").read_text())
        done = cluster.run("tree")
        self.assertEqual((done.returncode, b"shardctl plan" in done.stderr), (2, True))
        # Who is missing is named, and what is asked then says so as ever.
        cluster.kill(4)
        silent = cluster.ask("plan", "--node", "3", expect=3)
        self.assertIn("node 4 of 4", silent["status"]["text"])

    def test_an_administrator_decides(self):
        cluster = Cluster(4, tree="auto", SCOLL_NODE_PINNED_TREE="chain")
        self.addCleanup(cluster.close)
        value = cluster.ask("plan")["value"]
        self.check(value | {"tree": value["candidates"][0]["tree"], "predicted_us": value["candidates"][0]["predicted_us"]}, 4)
        self.assertEqual((value["tree"], value["pinned"], value["groups_have"]), ("chain", True, "chain"))
        self.assertIn("pinned by the setting node.pinned_tree; without it ", value["why"])
        self.assertEqual(cluster.ask("df")["outcome"]["merged"], [1, 2, 3, 4])
        self.assertEqual(cluster.ask("status")["value"]["tree"], "chain")

    def test_a_tree_that_was_given_stays(self):
        cluster = Cluster(4, tree="kary:2")
        self.addCleanup(cluster.close)
        value = cluster.ask("plan")["value"]
        self.check(value, 4)
        self.assertEqual(value["groups_have"], "kary:2")
        self.assertEqual(cluster.ask("status")["value"]["tree"], "kary:2")


class JustStarted(unittest.TestCase):
    def stage(self, cluster):
        return cluster.ask("members")["value"]["phase"]

    def test_who_only_listens_asks_nobody(self):
        """With cycles of ten minutes, servers listen for hours: questions to others wait until they are too late."""
        cluster = Cluster(3, "[gossip]\ninterval_ms = 600000\n")
        self.addCleanup(cluster.close)
        source = cluster.home / "source"
        source.mkdir()
        for command in (["df"], ["df", "--living"], ["top"], ["find", "x"], ["scrub"], ["ingest", str(source)],
                        ["put", "/dev/null", "x"], ["get", "x", str(source / "x")], ["where", "x"]):
            answer = cluster.ask(*command, "--timeout", "0.2", expect=3)
            self.assertEqual((command, answer["status"]["code"]), (command, "deadline_exceeded"))
            self.assertIn("this server has just started, and only listens", answer["status"]["text"])
        for node in cluster.nodes:
            value = cluster.ask("status", "--node", str(node))["value"]
            self.assertEqual((value["broadcasts_rooted"], value["broadcasts_received"], value["groups"]), (0, 0, 0))
        self.assertEqual((self.stage(cluster), cluster.say(b'{"command": "fd"}')["status"]["code"]),
                         ("stealth", "invalid_argument"))
        # One that still waits when its server stops is told so.
        with subprocess.Popen([BIN / "shardctl", "--cluster", cluster.file, "--json", "df"], stdout=subprocess.PIPE) as asking:
            until(lambda: "asked for df" in (cluster.home / "node-1.log").read_text().splitlines()[-1], "it waits")
            cluster.ask("stop", "--all")
            answer = json.loads(asking.stdout.read())
            self.assertEqual((asking.wait(LIMIT_S), answer["status"]["code"]), (3, "cancelled"))

    def test_what_is_asked_meanwhile_is_answered_afterwards(self):
        cluster = Cluster(3)
        self.addCleanup(cluster.close)
        before = self.stage(cluster)
        answer = cluster.ask("df")
        self.assertEqual((before, self.stage(cluster)), ("stealth", "active"))
        self.assertEqual(answer["outcome"]["merged"], [1, 2, 3])

    def test_a_server_takes_settings_that_others_share(self):
        """It suggests less, and what goes with it."""
        cluster = Cluster(1, SCOLL_REACTOR_SUBMISSION_ENTRIES="2048", SCOLL_REACTOR_RECEIVE_BUFFERS="2048")
        self.addCleanup(cluster.close)
        self.assertEqual(cluster.run("stop", "--all").returncode, 0)

    def test_a_server_waits_for_a_port_that_is_let_go_of(self):
        """As after a kill, when the kernel still has it."""
        cluster = Cluster(1)
        self.addCleanup(cluster.close)
        port = int(cluster.file.read_text().partition('"127.0.0.1:')[2].partition('"')[0])
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            cluster.kill(1)
            holding = socket.socket(socket.AF_INET, kind)
            until(lambda: bound(holding, port), "the test has the port")
            cluster.spawn(1)
            time.sleep(1)
            self.assertIsNone(cluster.processes[1].poll())
            self.assertEqual(cluster.run("status").returncode, 3)
            holding.close()
            until(lambda: cluster.run("status").returncode == 0, "it answers")


def bound(s, port):
    try:
        s.bind(("127.0.0.1", port))
        return True
    except OSError:
        return False


class Silence(unittest.TestCase):
    """A server that says nothing more, while its kernel keeps all connections: only gossip can tell."""

    def test_a_silent_death_ends_the_wait_for_its_subtree(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        source = cluster.home / "source"
        source.mkdir()
        for i in range(60):
            (source / str(i)).write_bytes(b"content")
        cluster.ask("ingest", str(source))
        cluster.ask("scrub")
        cluster.wait_all_alive()
        command = [BIN / "shardctl", "--cluster", cluster.file, "--json", "--progress", "lines", "scrub",
                   "--pace", "100", "--timeout", "30"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asking:
            asking.stderr.readline()  # the scrub is under way
            cluster.processes[5].send_signal(signal.SIGSTOP)
            silent = time.monotonic()
            answer = json.loads(asking.stdout.read())
            took = time.monotonic() - silent
            self.assertEqual(asking.wait(LIMIT_S), 1)
        threshold_s = 0.2 * cluster.ask("members")["value"]["threshold_cycles"]
        outcome = answer["outcome"]
        self.assertEqual((outcome["merged"], outcome["unknown"]), ([1, 2, 3, 4], [5, 6]))
        self.assertEqual([(r["nodes"], r["cause"]["code"]) for r in outcome["reports"]], [([5, 6], "peer_died")])
        self.assertIn("node 5 is dead", outcome["reports"][0]["cause"]["text"])
        self.assertGreater(took, threshold_s - 0.4)  # what was heard last may have been heard a cycle ago
        self.assertLess(took, threshold_s + 5)  # with five cycles, and much for a busy machine
        self.assertEqual(cluster.ask("members")["value"]["dead"], [5])
        cluster.processes[5].send_signal(signal.SIGCONT)
        cluster.wait_all_alive()
        self.assertEqual(cluster.ask("df")["outcome"]["merged"], [1, 2, 3, 4, 5, 6])
        self.assertEqual(cluster.ask("scrub")["value"]["objects"], 60)


class Failures(unittest.TestCase):
    def test_a_death_a_restart_and_the_end(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        alive = lambda: sorted(cluster.ask("members")["value"]["alive"]) == [1, 2, 3, 4, 5, 6]
        until(alive, "all are alive")
        for i in range(20):
            cluster.run("put", "-", f"object-{i}", input=b"content" * i)
        before = cluster.ask("df")["value"]["objects"]

        cluster.kill(5)
        partial = cluster.ask("df", expect=1)
        lost = partial["outcome"]["unknown"] + partial["outcome"]["not_reached"]
        self.assertEqual((partial["outcome"]["merged"], lost), ([1, 2, 3, 4], [5, 6]))
        self.assertEqual(partial["status"]["code"], "incomplete")
        text = cluster.run("df").stdout.decode()
        self.assertIn("PARTIAL ANSWER: 4 of 6 servers", text)
        living = cluster.ask("df", "--living", expect=1)
        self.assertEqual((living["outcome"]["merged"], living["absent"][0]["node"]), ([1, 2, 3, 4, 6], 5))
        # A root that has asked nothing yet cannot even make its group, and says who is missing.
        nobody = cluster.ask("find", "object", "--node", "2", expect=3)
        self.assertEqual((nobody["value"], [each["node"] for each in nobody["absent"]]), (None, [5]))
        self.assertEqual(cluster.run("status", "--node", "5").returncode, 3)

        # It comes back with a torn index entry and the file of a put that was never finished.
        data = cluster.home / "node-5"
        with open(data / "index.log", "ab") as index:
            index.write(b"\x30\x00\x00\x00torn")
        (data / "objects" / "00").mkdir(exist_ok=True)
        (data / "objects" / "00" / "never-finished.999").write_bytes(b"?")
        earlier = int((data / "incarnation").read_text().split()[2])
        cluster.start(5)
        until(alive, "all are alive again")
        self.assertGreater(int((data / "incarnation").read_text().split()[2]), earlier)
        self.assertEqual(cluster.ask("df")["value"]["objects"], before)
        self.assertEqual(cluster.ask("scrub")["value"]["damaged"], 0)
        self.assertFalse((data / "objects" / "00" / "never-finished.999").exists())
        log = (cluster.home / "node-5.log").read_text()
        self.assertIn("dropped 8 bytes of an index entry", log)

        self.assertEqual(cluster.ask("stop", "--node", "6")["stopped"], 1)
        self.assertEqual(cluster.processes.pop(6).wait(LIMIT_S), 0)
        # One that might come back with an incarnation of the past does not come back.
        (cluster.home / "node-6" / "incarnation").write_text("scoll incarnation 5 xxh3 0000000000000000\n")
        arguments = ["--cluster", cluster.file, "--node", "6", "--data", cluster.home / "node-6"]
        damaged = subprocess.run([BIN / "shard_server", *arguments], capture_output=True, timeout=LIMIT_S)
        self.assertEqual(damaged.returncode, 1)
        self.assertIn(b"damaged: ", damaged.stderr)
        self.assertIn(b"node-6/incarnation", damaged.stderr)
        rest = cluster.ask("stop", "--all", expect=1)
        self.assertEqual((rest["stopped"], rest["not_running"], rest["stuck"]), (5, [6], []))
        self.assertEqual(cluster.run("df").returncode, 3)
        self.assertEqual(cluster.run("stop", "--all").returncode, 3)
        self.assertEqual(list(cluster.home.glob("*.sock")), [])


class ClusterFile(unittest.TestCase):
    node = '[[node]]\nid = 1\naddress = "127.0.0.1:7001"\ncontrol = "a.sock"\n'

    def test_every_mistake_is_named_with_its_place(self):
        good = 'name = "x"\n' + self.node
        for text, said in [
            ("", ":1:1: cluster: 'name' is missing"),
            ('name = "x"\n', "at least one [[node]]"),
            ('name = ""\n' + self.node, ":1:8: cluster: 'name' must not be empty"),
            ("name = 5\n" + self.node, ":1:8: cluster: 'name' must be a text in quotes"),
            ('name = "x\n' + self.node, ":1:10: "),
            ('nmae = "x"\n' + self.node, ":1:1: cluster: there is no key 'nmae'"),
            ('tree = "oak:3"\n' + good, ":1:8: cluster: 'tree' is no tree"),
            ("deadlines = 5\n" + good, "'deadlines' must be a table"),
            (good + "[deadlines]\nquick_s = 0\n", ":7:11: deadlines: 'quick_s' must be 1 to 86400 seconds"),
            (good + "[deadlines]\nslow_s = 9\n", ":7:1: deadlines: there is no key 'slow_s'"),
            (good.replace("id = 1", "id = 0"), ":3:6: node 1: 'id' must be 1 or more"),
            (good.replace("id = 1", 'id = "1"'), ":3:6: node 1: 'id' must be a whole number"),
            (good.replace("127.0.0.1:7001", "localhost:7001"), ":4:11: node 1: 'address' has 'localhost:7001', which is not an address"),
            (good.replace(":7001", ":0"), ":4:11: node 1: 'address' has '127.0.0.1:0', which needs a port"),
            (good.replace("a.sock", "a" * 108), ":5:11: node 1: 'control' is a path of "),
            (good + "[[pool]]\nnodes = [1]\n", ":6:1: pool 1: 'id' is missing"),
            (good + "[[pool]]\nid = 3\nnodes = []\n", ":8:9: pool 1: 'nodes' must be a list of ids"),
            (good + "[[pool]]\nid = 3\nnodes = [1, 4]\n", ":8:9: pool 1: 'nodes' names 4, which is no node"),
            (good + "[[pool]]\nid = 3\nnodes = [1, 1]\n", ":8:9: pool 1: 'nodes' names 1 twice"),
            (good + "[[pool]]\nid = 3\nnodes = [1]\n" * 2, ":10:6: pool 2: 'id' 3 appears twice"),
            (good + "[[pool]]\nid = 3\nnode = [1]\n", ":8:1: pool 1: there is no key 'node'"),
            (good + "[security]\nkeys = 'ring'\n", ":6:1: security: 'mode' is missing"),
            (good + "[security]\nmode = 'ssl'\n", ":7:8: security: 'mode' must be \"none\", \"psk\" or \"tls\""),
            (good + "[security]\nmode = 'psk'\n", ":7:8: security: 'mode' "),
            ("pool = 5\n" + good, ":1:8: pools must be given as [[pool]]"),
            (good + self.node, "node 2: id 1 appears twice"),
            (good + self.node.replace("id = 1", "id = 2"), "node 2: address 127.0.0.1:7001 appears twice"),
        ]:
            with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
                file.write(text)
                file.flush()
                for program in [["shardctl", "tree"], ["shard_server", "--node", "1", "--data", "/none"]]:
                    command = [BIN / program[0], "--cluster", file.name, *program[1:]]
                    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
                    self.assertEqual(done.returncode, 2, (text, done))
                    self.assertIn(said, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_missing_file(self):
        done = subprocess.run([BIN / "shardctl", "--cluster", "/no/such.toml", "df"], capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"/no/such.toml: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
