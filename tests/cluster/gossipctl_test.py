#!/usr/bin/env python3
# needs: gossipctl
"""Gossip daemons through gossipctl: deaths, reboots, pauses, keys, configurations good and bad, exit codes."""

import json
import os
import pty
import signal
import socket
import stat
import subprocess
import tempfile
import time
import unittest

from gossip_cluster import PROGRAM, Cluster, bound_to, run_tests, until


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=30, **options)


def on_terminal(*arguments, **environment):
    """What it writes when its output is a terminal."""
    ours, its = pty.openpty()
    variables = {"PATH": os.environ["PATH"], "TERM": "xterm", **environment}
    with subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=its, env=variables) as process:
        os.close(its)
        text = b""
        try:
            while got := os.read(ours, 65536):
                text += got
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0, (arguments, process.returncode, text)
    return text.decode()


class Cases(unittest.TestCase):
    def expect_no_wrong_verdict(self, cluster, pause_s=0):
        """Nobody who lived was called dead. A machine that held processes up for longer proves nothing."""
        wrong = cluster.wrong_verdicts()
        if wrong and cluster.watch.longest_gap_ms > 1000 * pause_s + cluster.threshold_ms() / 2:
            self.skipTest(f"void: processes were held up for {cluster.watch.longest_gap_ms} ms by the machine")
        self.assertEqual(wrong, [])


class Sixteen(Cases):
    """One after the other: each leaves everybody alive for the next, but the last."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(16)
        cls.cluster.start_all()
        cls.cluster.wait_all_alive()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def test_1_half_stopped_for_a_second(self):
        self.cluster.pause(1.0, *range(0, 16, 2))
        self.watch_for(3.0, pause_s=1)

    def test_2_all_stopped_for_a_second(self):
        self.cluster.pause(1.0, *range(16))
        self.watch_for(3.0, pause_s=1)

    def test_3_a_quick_restart_is_a_reboot(self):
        """Within one interval: nobody has missed the old life yet when the new one is there."""
        for _ in range(5):
            old = self.cluster.lives[5][-1].incarnation
            quick = self.cluster.restart(5)
            new = self.cluster.lives[5][-1].incarnation
            self.assertGreater(new, old)
            others = [i for i in self.cluster.running() if i != 5]

            def noticed():
                told = {o for o, e in list(self.cluster.watch.events)
                        if e["event"] == "rebooted" and e["index"] == 5 and e["incarnation"] == new}
                return told >= set(others)

            until(noticed, "the reboot is told by everybody")
            self.cluster.wait_all_alive()
            self.expect_no_wrong_verdict(self.cluster, pause_s=1)
            if quick:
                return
        self.skipTest(f"void: each of five restarts took longer than an interval, the last {self.cluster.lives[5][-1].after_s:.3f} s")

    def test_4_half_dying_at_once(self):
        dead, living = list(range(1, 16, 2)), list(range(0, 16, 2))
        self.cluster.kill(*dead)
        self.cluster.wait_all_named(dead, living)
        self.expect_no_wrong_verdict(self.cluster, pause_s=1)
        members = self.cluster.ask(0, "members", expect=1)
        self.assertEqual([m["index"] for m in members if m["state"] == "dead"], dead)
        why = self.cluster.ask(2, "explain", self.cluster.addresses[3])
        self.assertEqual((why["state"], why["index"]), ("dead", 3))
        self.assertGreater(why["age_then"], why["threshold_then"])
        text = self.cluster.run("--self", "2", "explain", "3").stdout
        self.assertIn(f"more than the threshold of {why['threshold_then']}", text)
        self.assertIn(f"held by                 {self.cluster.addresses[2]}", text)

    def watch_for(self, seconds, pause_s):
        time.sleep(seconds)  # more than a threshold: for the verdicts that must not come
        self.expect_no_wrong_verdict(self.cluster, pause_s)
        self.cluster.wait_all_alive()


class Daemons(Cases):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(3, "--with-key", "--name", "three")
        cls.cluster.start_all()
        cls.cluster.wait_all_alive()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def counter(self, i, name):
        return self.cluster.ask(i, "dump")["counters"][name]

    def test_control_socket_is_private(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.cluster.folder(0) / "control").st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(self.cluster.folder(0)).st_mode), 0o700)

    def test_status_members_dump_and_metrics_agree(self):
        status = self.cluster.ask(0, "status")
        self.assertEqual((status["name"], status["alive"], status["dead"], status["unknown"]), ("three", 3, 0, 0))
        self.assertEqual(status["address"], self.cluster.addresses[0])
        self.assertGreaterEqual(status["threshold_cycles"], 11)
        members = self.cluster.ask(0, "members")
        self.assertEqual([m["address"] for m in members], self.cluster.addresses)
        dump = self.cluster.ask(0, "dump")
        self.assertEqual(dump["status"]["incarnation"], status["incarnation"])
        self.assertGreater(dump["counters"]["cycles"], 0)
        metrics = self.cluster.run("--self", "0", "metrics").stdout
        self.assertIn('scoll_gossip_members{state="alive"} 3\n', metrics)
        self.assertIn(f'scoll_gossip_member_alive{{member="{self.cluster.addresses[2]}"}} 1\n', metrics)
        for line in metrics.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) scoll_gossip_\w+ .+|scoll_gossip_\w+(\{\w+="[^"]*"\})? [-+.e0-9]+)$')

    def test_colours_are_for_terminals(self):
        command = ["--config", str(self.cluster.file), "--self", "0"]
        for question in ("status", "members"):
            coloured = on_terminal(*command, question)
            self.assertIn("\x1b[32m", coloured)
            plain = run(*command, question, env={"TERM": "xterm"})
            self.assertEqual(plain.returncode, 0, plain.stderr)
            self.assertNotIn("\x1b", plain.stdout)
            self.assertNotIn("\x1b", on_terminal(*command, question, NO_COLOR="1"))
            self.assertNotIn("\x1b", on_terminal(*command, question, TERM="dumb"))
            self.assertIn("\x1b[32m", on_terminal(*command, question, NO_COLOR=""))
        self.assertIn("3 alive, 0 dead of 3", run(*command, "members").stdout)
        self.assertNotIn("\x1b", run(*command, "dump").stdout)

    def test_log_lines_carry_clocks(self):
        self.assertRegex(self.cluster.log(0), r"info c\d+ ")

    def test_strangers_are_counted_and_change_nothing(self):
        before = self.cluster.ask(0, "members")
        host, port = self.cluster.addresses[0].split(":")
        unknown = self.counter(0, "unknown_address")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for size in (0, 1, 64, 1400, 60000):
                stranger.sendto(b"\x53\x43\x47\x50" + bytes(size), (host, int(port)))
        until(lambda: self.counter(0, "unknown_address") == unknown + 5, "strangers are counted")
        after = self.cluster.ask(0, "members")
        self.assertEqual([(m["state"], m["incarnation"]) for m in before], [(m["state"], m["incarnation"]) for m in after])

    def test_daemon_answers_nonsense(self):
        for line in (b"\n", b"[]\n", b"{\n", b'{"command": 7}\n', b'{"command": "dance"}\n', b'{"command": "explain"}\n',
                     b'{"command": "explain", "who": 3}\n', b'{"command": "explain", "who": -1}\n'):
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(30)
                s.connect(str(self.cluster.folder(0) / "control"))
                s.sendall(line)
                with s.makefile("rb") as lines:
                    answer = json.loads(lines.readline())
            self.assertFalse(answer["ok"], line)
            self.assertTrue(answer["error"], line)

    def test_one_daemon_per_participant(self):
        second = self.cluster.run("--self", "0", "run")
        self.assertEqual(second.returncode, 4)
        self.assertIn("another process uses", second.stderr)

    def test_keys_change_without_a_pause(self):
        def ids():
            return self.cluster.ask(0, "keys", "list")["keys"]

        def reload():
            done = self.cluster.run("keys", "reload")
            self.assertEqual(done.returncode, 0, done.stderr)

        old = ids()
        self.cluster.ask(0, "keys", "add")
        new = ids()[1]
        reload()
        self.cluster.ask(0, "keys", "promote", new)
        reload()
        self.cluster.ask(0, "keys", "drop", *old)
        for i in range(3):  # the signal does it as well
            self.cluster.signal(signal.SIGHUP, i)
            until(lambda: self.cluster.ask(i, "status")["keys"] == [new], f"{i} has read its keys again")
        self.assertEqual(stat.S_IMODE(os.stat(self.cluster.home / "gossip.keys").st_mode), 0o600)
        answered = [self.counter(i, "merged") for i in range(3)]
        for i in range(3):
            until(lambda: self.counter(i, "merged") > answered[i] + 2, f"{i} understands the others")
        self.assertEqual([self.counter(i, "not_authentic") for i in range(3)], [0, 0, 0])
        self.expect_no_wrong_verdict(self.cluster)

    def test_keys_that_became_public_are_not_taken(self):
        file = self.cluster.home / "gossip.keys"
        file.chmod(0o644)
        done = self.cluster.run("--self", "1", "keys", "reload")
        file.chmod(0o600)
        self.assertEqual(done.returncode, 4)
        self.assertIn("chmod 600", done.stderr)


class Disagreement(Cases):
    def test_a_newcomer_with_another_interval_stops_and_says_why(self):
        cluster = Cluster(3)
        try:
            cluster.start(0, 1)
            until(lambda: cluster.ask(0, "status", expect=(0, 1))["alive"] == 2, "the two see each other")
            text = cluster.file.read_text()
            cluster.file.write_text(text.replace("interval_ms = 200", "interval_ms = 300"))
            process = cluster.spawn(2)
            self.assertEqual(process.wait(30), 4)
            cluster.file.write_text(text)
            log = cluster.log(2)
            self.assertIn("interval", log)
            # Its clock, and that of whom it heard: they order what the two say.
            self.assertRegex(log, r"warning c\d+ m\d+ 127\.0\.0\.1:\d+ has another configuration: interval\n")
            self.assertRegex(log, r"error c\d+ stops: gossip: 127\.0\.0\.1:\d+ has another interval\n")
            self.assertEqual(cluster.ask(0, "status", expect=1)["alive"], 2)
        finally:
            cluster.close()


class Alone(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gossip-")
        self.file = os.path.join(self.folder.name, "gossip.toml")

    def tearDown(self):
        self.folder.cleanup()

    def refused(self, text, *arguments):
        with open(self.file, "w", encoding="utf8") as out:
            out.write(text)
        done = run("--config", self.file, *(arguments or ("start",)))
        self.assertEqual(done.returncode, 2, (text, done))
        return done.stderr

    def test_bad_configurations_name_key_and_line(self):
        good = 'participants = "127.0.0.1:[7000-7001]"\n'
        for text, said in [
            ("", "'participants' is missing"),
            ("nonsense = 1\n" + good, ":1:1: gossip: there is no key 'nonsense'"),
            (good + "interval_ms = 199\n", ":2:15: gossip: 'interval_ms' must be 200 to 600000"),
            (good + 'interval_ms = "fast"\n', ":2:15: gossip: 'interval_ms' must be a whole number"),
            (good + "rtt_ms = 500\n", ":2:10: gossip: 'rtt_ms' is 500: then 'interval_ms' must be 250 or more"),
            (good + "version = 1\n", ":2:11: gossip: 'version' is 1: this program speaks version 2"),
            ('participants = "1=127.0.0.1:1 127.0.0.1:2"\n', "participant 1 has an id, but 127.0.0.1:2 has none"),
            ('participants = "1=127.0.0.1:1 1=127.0.0.1:2"\n', "participant 1 is named twice"),
            (good + 'devices = ["lo", "lo"]\n', "'devices' names 2 interfaces, but participants have up to 1 addresses"),
            (good + "dscp = 64\n", ":2:8: gossip: 'dscp' must be 0 to 63"),
            (good + "port = 0\n", ":2:8: gossip: 'port' must be 1 to 65535"),
            (good + "expected_loss = 0.6\n", "'expected_loss' must be 0 to 0.5"),
            (good + "false_verdicts_per_year = 0\n", "'false_verdicts_per_year' must be"),
            (good + 'log_level = "loud"\n', "'log_level' must be error, warning, info or debug"),
            ('participants = ["127.0.0.1:1", "127.0.0.1:1"]\n', "line 2, column 1: 127.0.0.1:1 is there twice"),
            ('participants = "127.0.0.[1-"\n', "line 1, column 12: '[' is never closed"),
            ('participants = "127.0.0.1:7000 [::1]:7000"\n', "is of another address family"),
            ('participants = ""\n', "names nobody"),
            ("participants = 7\n", "must be a text"),
            (good + "interval_ms = \n", ":2:15: "),
        ]:
            self.assertIn(said, self.refused(text))

    def test_a_setting_that_does_not_exist_is_refused(self):
        with open(self.file, "w", encoding="utf8") as out:
            out.write('participants = "127.0.0.1:7000"\n')
        done = run("--config", self.file, "run", env=os.environ | {"SCOLL_REACTOR_BUFFERS": "5"})
        self.assertEqual((done.returncode, done.stderr), (2, "SCOLL_REACTOR_BUFFERS: there is no such setting\n"))

    def test_start_needs_to_know_who_it_is(self):
        self.assertIn("say which with --self", self.refused('participants = "127.0.0.1:[7000-7001]"\n'))
        self.assertIn("no participant has an address of this host", self.refused('participants = "203.0.113.[1-2]"\n', "status"))
        self.assertIn("'10.9.9.9' is no participant", self.refused('participants = "203.0.113.[1-2]"\n', "--self", "10.9.9.9", "run"))

    def test_start_refuses_a_key_file_of_everybody(self):
        keys = os.path.join(self.folder.name, "keys")
        with open(keys, "w", encoding="utf8") as out:
            out.write("a" * 64 + "\n")
        os.chmod(keys, 0o640)
        self.assertIn("chmod 600", self.refused('participants = "127.0.0.1:7000"\nkey_file = "keys"\n'))
        os.chmod(keys, 0o600)
        with open(keys, "w", encoding="utf8") as out:
            out.write("short\n")
        self.assertIn("line 1: a key is 64 hexadecimal digits", self.refused('participants = "127.0.0.1:7000"\nkey_file = "keys"\n'))

    def test_exit_codes_without_daemons(self):
        self.assertEqual(run("--config", self.file, "status").returncode, 2)
        self.assertEqual(run("--config", self.file, "dance").returncode, 2)
        self.assertEqual(run("--help").returncode, 0)
        for wrong, complaint in (("memebers", "there is no command 'memebers': did you mean members?"),
                                 ("--josn", "there is no option '--josn': did you mean --json?"),
                                 ("keys lst", "there is no command 'lst': did you mean list?")):
            done = run(*wrong.split())
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(complaint, done.stderr)
        self.assertEqual(run("--config", self.file, "init", "--local", "1").returncode, 0)
        self.assertEqual(run("--config", self.file, "init", "--local", "1").returncode, 2)
        for command in (["status"], ["members"], ["dump"], ["metrics"], ["watch"], ["explain", "0"], ["stop"], ["keys", "reload"]):
            done = run("--config", self.file, *command)
            self.assertEqual(done.returncode, 2 if command == ["keys", "reload"] and "key_file" in done.stderr else 3, (command, done))

    def test_init_writes_only_where_it_is_told(self):
        clean = {k: v for k, v in os.environ.items() if k != "GOSSIPCTL_CONFIG"}
        done = run("init", "--local", "1", env=clean)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--config", done.stderr)
        done = run("init", "--local", "1", env=clean | {"GOSSIPCTL_CONFIG": self.file})
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue(os.path.exists(self.file))

    def test_start_and_stop_a_daemon_of_its_own(self):
        self.assertEqual(run("--config", self.file, "init", "--local", "1").returncode, 0)
        command = ["--config", self.file]
        done = run(*command, "--json", "start")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual([each["started"] for each in json.loads(done.stdout)], [True])
        try:
            self.assertIn("runs already", run(*command, "start").stdout)
            status = json.loads(run(*command, "--json", "status").stdout)
            self.assertEqual(status["participants"], 1)
            self.assertNotEqual(os.getpgid(status["pid"]), os.getpgid(0))
            watched = run(*command, "--json", "watch", "--seconds", "0.1")
            self.assertEqual(watched.returncode, 0, watched.stderr)
            self.assertEqual(json.loads(watched.stdout.splitlines()[0])["status"]["pid"], status["pid"])
        finally:
            done = run(*command, "stop")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(run(*command, "stop").returncode, 3)

    def test_a_daemon_takes_settings_that_others_share(self):
        """What is built in, written out, though a daemon suggests less of everything that goes with it."""
        self.assertEqual(run("--config", self.file, "init", "--local", "1").returncode, 0)
        shared = os.path.join(self.folder.name, "scoll.toml")
        with open(shared, "w", encoding="utf8") as out:
            out.write("[reactor]\nreceive_buffers = 64\nsubmission_entries = 256\n")
        done = run("--config", self.file, "start", env=os.environ | {"SCOLL_CONFIG": shared})
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(run("--config", self.file, "stop").returncode, 0)

    def test_start_waits_for_a_port_that_is_let_go_of(self):
        """As after a kill, when the kernel still has it."""
        self.assertEqual(run("--config", self.file, "init", "--local", "1").returncode, 0)
        with open(self.file, encoding="utf8") as file:
            address = next(line.strip(' ",\n') for line in file if '"127.0.0.1:' in line)
        holding = bound_to(address)
        command = [PROGRAM, "--config", self.file, "run"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as daemon:
            time.sleep(1)
            self.assertEqual((daemon.poll(), run("--config", self.file, "status").returncode), (None, 3))
            holding.close()
            until(lambda: run("--config", self.file, "status").returncode == 0, "it answers")
            daemon.terminate()
            self.assertEqual(daemon.wait(30), 0)

    def test_init_takes_ranges_lists_and_files(self):
        listed = os.path.join(self.folder.name, "listed")
        with open(listed, "w", encoding="utf8") as out:
            out.write("# the third rack\n10.0.3.[1,4,8-9]:7000 10.0.4.1\n")
        for arguments, count, first, last in [
            (["--participants", "192.168.[1-2].[1-128/2]"], 128, "192.168.1.1:7400", "192.168.2.127:7400"),
            (["--participants", "192.168.[1-2].[1-128/2]:9"], 128, "192.168.1.1:9", "192.168.2.127:9"),
            (["--participants", "10.0.0.1", "--participants", "10.0.0.[2-3]", "--port", "80"], 3, "10.0.0.1:80", "10.0.0.3:80"),
            (["--participants-file", listed], 5, "10.0.3.1:7000", "10.0.4.1:7400"),
            (["--participants", "10.0.0.1", "--participants-file", listed], 6, "10.0.0.1:7400", "10.0.4.1:7400"),
            (["--participants", "@" + listed], 5, "10.0.3.1:7000", "10.0.4.1:7400"),
            (["--participants", "[fd00::[9-b]]:5"], 3, "[fd00::9]:5", "[fd00::b]:5"),
        ]:
            done = run("--config", self.file, "init", "--force", *arguments)
            self.assertEqual((done.returncode, done.stdout), (0, f"{self.file}: {count} participants, {first} to {last}\n"), done)
            rows = json.loads(run("--config", self.file, "--json", "plan").stdout)
            self.assertEqual([r["nodes"] for r in rows], [count])  # as the file is read again

    def test_init_refuses_bad_participants(self):
        missing = os.path.join(self.folder.name, "missing")
        for arguments, said in [
            ([], "who takes part?"),
            (["--participants", "10.0.0.[1-"], "'[' is never closed"),
            (["--participants", "10.0.0.[9-1]"], "the range ends before it begins in '10.0.0.[9-1]'"),
            (["--participants", "10.0.0.1 10.0.0.1"], "is there twice"),
            (["--participants", "server1"], "server1"),
            (["--participants-file", missing], f"{missing}: cannot be read"),
        ]:
            done = run("--config", self.file, "init", *arguments)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(said, done.stderr)
            self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_range_of_addresses_as_daemons(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        done = run("--config", self.file, "init", "--participants", f"127.0.0.[1-3]:{port}", "--directory", "run")
        self.assertEqual(done.returncode, 0, done)
        command = ["--config", self.file]
        try:
            self.assertEqual(run(*command, "start", "--all").returncode, 0)
            until(lambda: run(*command, "--self", "0", "status").returncode == 0, "all are alive")
            members = json.loads(run(*command, "--self", "127.0.0.2", "--json", "members").stdout)
            self.assertEqual([m["address"] for m in members], [f"127.0.0.{i}:{port}" for i in (1, 2, 3)])
        finally:
            done = run(*command, "stop", "--all")
        self.assertEqual(done.returncode, 0, done)

    def test_participants_with_two_rails_as_daemons(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        done = run("--config", self.file, "init", "--participants",
                   f"[11-13]=127.0.1.[1-3]:{port}+127.0.2.[1-3]:[{port},{port},{port}]", "--directory", "run")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("counts to 3", done.stderr)
        done = run("--config", self.file, "init", "--participants",
                   f"[11-13]=127.0.1.[1-3]:{port}+127.0.2.[1-3]:{port}", "--directory", "run")
        self.assertEqual(done.returncode, 0, done)
        with open(self.file, "a", encoding="utf8") as out:
            out.write('devices = ["lo", "lo"]\n')
        command = ["--config", self.file]
        try:
            self.assertEqual(run(*command, "start", "--all").returncode, 0)
            until(lambda: run(*command, "--self", "id:11", "status").returncode == 0, "all are alive")
            members = json.loads(run(*command, "--self", "127.0.2.2", "--json", "members").stdout)
            self.assertEqual([(m["index"], m["id"]) for m in members], [(0, 11), (1, 12), (2, 13)])
            self.assertEqual(members[2]["addresses"], [f"127.0.1.3:{port}", f"127.0.2.3:{port}"])
            self.assertIn("ID", run(*command, "--self", "0", "members").stdout)

            def carried():
                rails = json.loads(run(*command, "--self", "0", "--json", "dump").stdout)["rails"]
                return [r["received"] > 0 and r["device"] == "lo" for r in rails] == [True, True]

            until(carried, "both rails carry messages")
        finally:
            done = run(*command, "stop", "--all")
        self.assertEqual(done.returncode, 0, done)

    def test_plan_needs_no_configuration(self):
        done = run("--config", self.file, "--json", "plan", "--nodes", "16,1024", "--loss", "0.05,0.2")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)
        self.assertEqual([(r["nodes"], r["loss"]) for r in rows], [(16, 0.05), (16, 0.2), (1024, 0.05), (1024, 0.2)])
        for r in rows:
            self.assertGreaterEqual(r["threshold_cycles"], 11)
            self.assertLessEqual(r["false_verdicts_per_year"], 1)
            self.assertLess(r["detect_first_ms"], r["detect_last_ms"])


if __name__ == "__main__":
    run_tests()
