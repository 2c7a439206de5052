"""A cluster of shard servers, each a process, for tests of shardctl."""

import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time

BIN = pathlib.Path(os.environ["SCOLL_BIN_DIR"])
NODES = 6  # with knomial:4, node 5 is interior: node 6 is below it
LIMIT_S = 60


def with_rails(*networks):
    """An `edit` for Cluster: server n gets the host part n in each of these networks, such as "10.20.0"."""

    def edit(text):
        node = itertools.count(1)

        def all_of(found):
            host = next(node)
            return "addresses = [" + ", ".join(f'"{n}.{host}:{found[1]}"' for n in networks) + "]"

        return re.sub(r'address = "127\.0\.0\.1:(\d+)"', all_of, text)

    return edit


class Cluster:
    def __init__(self, nodes=NODES, settings="", tree="knomial:4", edit=lambda text: text, inside=lambda node: [], **environment):
        """Servers that have just started, with `settings` in their cluster file, which `edit` may change. `inside` gives what stands
        before the command of a server."""
        self.inside = inside
        self.environment = os.environ | environment
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="scoll-"))
        self.file = self.home / "cluster.toml"
        self.nodes = range(1, nodes + 1)
        self.file_of = {}  # servers that read a file of their own
        self.processes = {}
        self.run("init", "--nodes", str(nodes), "--dir", str(self.home), "--tree", tree)
        self.file.write_text(edit(self.file.read_text()) + settings)
        for node in self.nodes:
            self.start(node)

    def spawn(self, node):
        arguments = ["--cluster", self.file_of.get(node, self.file), "--node", str(node), "--data", self.home / f"node-{node}"]
        log = open(self.home / f"node-{node}.log", "ab")
        with log:
            # SIGXFSZ stays ignored, so that a server whose files are limited gets an error instead.
            self.processes[node] = subprocess.Popen([*self.inside(node), BIN / "shard_server", *arguments], stderr=log, env=self.environment,
                                                    restore_signals=False)

    def limit_files(self, node, longest):
        """A server cannot write files of more bytes: EFBIG."""
        resource.prlimit(self.processes[node].pid, resource.RLIMIT_FSIZE, (longest, resource.RLIM_INFINITY))

    def start(self, node):
        self.spawn(node)
        until(lambda: self.run("status", "--node", str(node)).returncode == 0, f"node {node} answers")

    def kill(self, node):
        process = self.processes.pop(node)
        process.kill()
        process.wait()

    def wait_all_alive(self):
        alive = lambda node: sorted(self.ask("members", "--node", str(node))["value"]["alive"]) == list(self.nodes)
        for node in self.nodes:
            until(lambda: alive(node), f"all are alive for {node}")
        self.wait_all_settled()

    def wait_all_settled(self):
        """Until no server has to ask the others for the epoch, which it does after each change of who lives."""
        settled = lambda node: self.ask("status", "--node", str(node))["value"]["epoch_settled"]
        until(lambda: all(settled(node) for node in self.processes), "all know the epoch")

    def run(self, *arguments, **options):
        command = [BIN / "shardctl", "--cluster", self.file, *arguments]
        return subprocess.run(command, capture_output=True, timeout=LIMIT_S, **options)

    def ask(self, *arguments, expect=0):
        """The JSON of an answer."""
        done = self.run("--json", *arguments)
        assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def say(self, line, node=1):
        """One line to a control socket, and the last line of what comes back."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(LIMIT_S)
            s.connect(str(self.home / f"node-{node}.sock"))
            s.sendall(line + b"\n")
            return json.loads(s.makefile("rb").readlines()[-1])

    def close(self):
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)  # one that a failed test has left stopped
        codes = [process.wait(LIMIT_S) for process in self.processes.values()]
        logs = [(self.home / f"node-{n}.log").read_text(errors="replace")[-3000:] for n in self.processes]
        shutil.rmtree(self.home)
        for code, log in zip(codes, logs):
            assert code == 0, (code, log)


def until(true, what):
    deadline = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.02)
