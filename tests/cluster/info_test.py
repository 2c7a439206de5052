#!/usr/bin/env python3
# needs: scoll-info
"""scoll-info: what it prints, what it refuses, and that the documentation names every setting."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ["SCOLL_BIN_DIR"]) / "scoll-info"
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "settings.md"


def run(*arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("SCOLL_")}
    return subprocess.run([PROGRAM, *arguments], env=clean | environment, capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, check=False)


def settings_of(done):
    return {s["name"]: s for s in json.loads(done.stdout)["settings"]}


class Info(unittest.TestCase):
    def test_says_what_it_is_and_what_the_kernel_offers(self):
        done = run("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertRegex(found["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(found["kernel"], os.uname().release)
        self.assertTrue(found["backend"]["works"])
        self.assertIn("multishot_receive", found["backend"]["features"])
        text = run().stdout
        for word in ("scoll ", "kernel ", "backend ", "multishot_receive", "tcp.keep_alive"):
            self.assertIn(word, text)

    def test_every_setting_has_its_origin(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write('[link]\nqueue_limit = 77\n[tcp]\nkeep_alive = "9s"\n')
            file.flush()
            found = settings_of(run("--json", "--set", "node.workers=3", SCOLL_CONFIG=file.name,
                                    SCOLL_TCP_KEEP_ALIVE="7s"))
            self.assertEqual((found["tcp.keep_alive"]["value"], found["tcp.keep_alive"]["origin"],
                              found["tcp.keep_alive"]["where"]), ("7s", "environment", "SCOLL_TCP_KEEP_ALIVE"))
            self.assertEqual((found["link.queue_limit"]["value"], found["link.queue_limit"]["where"]),
                             ("77", file.name + ":2"))
            self.assertEqual(found["node.workers"]["origin"], "code")
            self.assertEqual(found["node.rtt_estimate"]["origin"], "built in")

    def test_a_feature_that_is_switched_off_is_reported_so(self):
        features = json.loads(run("--json", SCOLL_REACTOR_DISABLE="8").stdout)["backend"]["features"]
        self.assertFalse(features["multishot_receive"])

    def test_says_which_backend_runs_and_which_could(self):
        for chosen, arguments, environment in (("poll", (), {"SCOLL_REACTOR_BACKEND": "poll"}),
                                               ("poll", ("--set", "reactor.backend=poll"), {}),
                                               ("poll", ("--set", "reactor.backend=poll"),
                                                {"SCOLL_REACTOR_BACKEND": "io_uring"})):
            backend = json.loads(run("--json", *arguments, **environment).stdout)["backend"]
            self.assertEqual(backend["name"], chosen)
            self.assertEqual(backend["notes"], "")
            self.assertFalse(any(backend["features"].values()))
            self.assertEqual(backend["backends"]["poll"], "can run here")
        backend = json.loads(run("--json").stdout)["backend"]
        able = backend["backends"]["io_uring"] == "can run here"
        self.assertEqual(backend["name"], "io_uring" if able else "poll")
        self.assertEqual(run("--json").stderr, "")
        self.assertIn("can run here", run().stdout)

    def test_refuses_loudly(self):
        for arguments, environment, complaint in (
                ((), {"SCOLL_TCP_KEEPALIVE": "7s"}, "SCOLL_TCP_KEEPALIVE: there is no such setting: did you mean SCOLL_TCP_KEEP_ALIVE?"),
                ((), {"SCOLL_TCP_KEEP_ALIVE": "7"}, "; a unit is missing, as in 7s"),
                (("--set", "tcp.keepalive=5s"), {}, "there is no setting 'tcp.keepalive': did you mean tcp.keep_alive?"),
                (("--nonsense",), {}, "scoll-info: there is no option '--nonsense'\n"),
                (("--jsn",), {}, "there is no option '--jsn': did you mean --json?"),
                (("tcp",), {}, "there is no command 'tcp'"),
                (("--set",), {}, "--set"),
                ((), {"SCOLL_REACTOR_BACKEND": "epoll"},
                 "reactor.backend is 'epoll', and takes automatic, io_uring or poll"),
                (("--config", "/does/not/exist"), {}, "/does/not/exist: there is no such file"),
                (("--config", "/proc"), {}, "/proc: it cannot be read: Is a directory"),
                ((), {"SCOLL_CONFIG": "/proc"}, "/proc: it cannot be read: Is a directory"),
                (("--set", "tcp.backlog"), {}, "tcp.backlog is '', and takes 1 to 65535"),
                ((), {"SCOLL_SHIP_EAGER_BYTES": "0"}, "ship.eager_bytes is '0', and takes 512 to 32KiB"),
                ((), {"SCOLL_LINK_QUEUE_LIMIT": "4"}, "SCOLL_LINK_QUEUE_LIMIT: link.queue_limit is '4'; this"),
                (("--set", "link.backoff_first=10s"), {}, "code: link.backoff_first is '10s'; this does not fit"),
                ((), {"SCOLL_REACTOR_RECEIVE_BUFFER_LIMIT": "8"},
                 "SCOLL_REACTOR_RECEIVE_BUFFER_LIMIT: reactor.receive_buffer_limit is '8'; this does not fit")):
            done = run(*arguments, **environment)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(complaint, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_lists_variables_that_are_no_settings(self):
        strange = {"SCOLL_TPC_BACKLOG": "bogus", "SCOLL_REACTR_BACKEND": "x", "SCOLL_tcp_BACKLOG": "9", "SCOLL_BIN": ""}
        done = run(**strange)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout[done.stdout.index("not a setting"):],
                         "not a setting: SCOLL_BIN\n"
                         "not a setting: SCOLL_REACTR_BACKEND (did you mean SCOLL_REACTOR_BACKEND?)\n"
                         "not a setting: SCOLL_TPC_BACKLOG (did you mean SCOLL_TCP_BACKLOG?)\n"
                         "not a setting: SCOLL_tcp_BACKLOG (did you mean SCOLL_TCP_BACKLOG?)\n")
        self.assertEqual({v["name"]: v["near"] for v in json.loads(run("--json", **strange).stdout)["unknown_variables"]},
                         {"SCOLL_BIN": "", "SCOLL_REACTR_BACKEND": "SCOLL_REACTOR_BACKEND",
                          "SCOLL_TPC_BACKLOG": "SCOLL_TCP_BACKLOG", "SCOLL_tcp_BACKLOG": "SCOLL_TCP_BACKLOG"})
        self.assertNotIn("not a setting", run(SCOLL_CONFIG="/dev/null", SCOLL_TCP_BACKLOG="9").stdout)

    def test_output_that_is_lost_is_a_failure(self):
        for arguments in ((), ("--explain",), ("--json",), ("--help",), ("--version",)):
            with open("/dev/full", "w", encoding="utf8") as full:
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                                      check=False)
            self.assertEqual(done.returncode, 1, (arguments, done))
            self.assertTrue(done.stderr.startswith("scoll-info: "), done)
            self.assertIn("No space left on device", done.stderr)

    def test_says_what_is_wrong_with_rdma_here(self):
        done = run("devices", "--json")
        found = json.loads(done.stdout)
        self.assertEqual((done.returncode, done.stderr), (0 if found["usable"] else 1, ""))
        text = run("devices")
        self.assertEqual((text.returncode, text.stderr), (done.returncode, ""))
        if not found["devices"]:  # on machines with devices, tests over them look at the rest
            self.assertFalse(found["usable"])
            self.assertRegex(found["troubles"][0], "^(there is no RDMA device: load |this program was built without RDMA: install )")
            self.assertIn(f"! {found['troubles'][0]}\nNo verbs rail can be used here.\n", text.stdout)
        refused = run("devices", "--node", "/nowhere")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("devices are those of this machine", refused.stderr)
        self.assertEqual(run("devices", "--set", "verbs.link_slots=2").returncode, 2)

    def test_what_fits_together_is_judged_after_all_was_said(self):
        found = settings_of(run("--json", "--set", "link.transfer_window=4", SCOLL_LINK_QUEUE_LIMIT="4"))
        self.assertEqual((found["link.queue_limit"]["value"], found["link.transfer_window"]["value"]), ("4", "4"))

    def test_the_page_has_every_setting_with_its_value_and_what_it_takes(self):
        rows = re.findall(r"^\| `([a-z_.]+)` \| `?([^|`]*?)`? \| ([^|]*?) \|", PAGE.read_text(), re.MULTILINE)
        self.assertEqual(rows, [(name, s["built_in"], s["takes"]) for name, s in settings_of(run("--json")).items()])


if __name__ == "__main__":
    unittest.main()
