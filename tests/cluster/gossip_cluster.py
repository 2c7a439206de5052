"""Gossip daemons as real processes on loopback: started, killed, paused, and watched by what they say."""

import json
import os
import pathlib
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = pathlib.Path(os.environ["SCOLL_BIN_DIR"]) / "gossipctl"
LIMIT_S = 60
QUICK_S = 0.2  # one interval: a restart within it leaves nobody a cycle in which to miss the old life
SETTLED_S = 4  # after its start a daemon has left stealth and knows everybody


def until(true, what, limit_s=LIMIT_S, every_s=0.02):
    deadline = time.monotonic() + limit_s
    while True:
        if found := true():
            return found
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(every_s)


def bound_to(address):
    """A datagram socket in the place of a process that was killed; the kernel takes a moment to let go of the port."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(LIMIT_S)
    host, port = address.split(":")

    def bound():
        try:
            s.bind((host, int(port)))
            return True
        except OSError:
            return False

    until(bound, f"{address} is free")
    return s


def run_tests():
    """Those of the main module. Ends with 3 if all that was tested holds, but the machine was too busy for some."""
    result = unittest.main(exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 3 if result.skipped else 0)


class Life:
    """One process of a participant; `ended` when it was killed, on the clock that daemons stamp events with, and
    `after_s` is from the kill of the life before it to its first answer."""

    def __init__(self, process, incarnation, before):
        self.process = process
        self.incarnation = incarnation
        self.began = time.monotonic()
        self.ended = None
        self.after_s = self.began - before.ended if before else None


class Watch:
    """Reads what all daemons say of changes, in a thread of its own."""

    def __init__(self):
        self.events = []  # (observer, event)
        self.status = {}  # observer: the latest
        self.longest_gap_ms = 0
        self._buffers = {}
        self._selector = selectors.DefaultSelector()
        self._wake, woken = socket.socketpair()
        self._selector.register(woken, selectors.EVENT_READ, None)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def add(self, observer, path):
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        s.sendall(b'{"command": "watch"}\n')
        with self._lock:
            self._buffers[s] = b""
            self._selector.register(s, selectors.EVENT_READ, observer)
        self._wake.send(b".")

    def close(self):
        self._wake.close()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()

    def _run(self):
        while True:
            for key, _ in self._selector.select():
                got = key.fileobj.recv(65536)
                if key.data is None:
                    if not got:
                        return
                    continue
                if got:
                    self._take(key.fileobj, key.data, got)
                else:
                    with self._lock:
                        self._selector.unregister(key.fileobj)
                        del self._buffers[key.fileobj]
                    key.fileobj.close()

    def _take(self, s, observer, got):
        *lines, self._buffers[s] = (self._buffers[s] + got).split(b"\n")
        for line in map(json.loads, lines):
            if "status" in line:
                self.status[observer] = line["status"]
                self.longest_gap_ms = max(self.longest_gap_ms, line["status"]["longest_gap_ms"])
            else:
                self.events.append((observer, line))


class Cluster:
    def __init__(self, size, *init_arguments, inject_loss=0, seed=1):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="gossip-"))
        self.file = self.home / "gossip.toml"
        self.size = size
        self.inject = ["--inject-loss", str(inject_loss), "--inject-seed"]
        self.seed = seed
        self.lives = [[] for _ in range(size)]
        self.watch = Watch()
        done = self.run("init", "--local", str(size), *init_arguments)
        assert done.returncode == 0, done.stderr
        self.addresses = self._addresses()

    def _addresses(self):
        """In canonical order: by port."""
        lines = [line.strip(' ",\n') for line in self.file.read_text().splitlines() if '"127.0.0.1:' in line]
        return sorted(lines, key=lambda address: int(address.rpartition(":")[2]))

    def folder(self, i):
        return self.home / "run" / self.addresses[i].replace(":", "-")

    def run(self, *arguments, **options):
        return subprocess.run([PROGRAM, "--config", self.file, *arguments], capture_output=True, timeout=LIMIT_S,
                              text=True, **options)

    def ask(self, i, *arguments, expect=0):
        """The JSON of an answer of one daemon; `expect` may be several exit codes."""
        done = self.run("--json", "--self", str(i), *arguments)
        codes = expect if isinstance(expect, tuple) else (expect,)
        assert done.returncode in codes, (arguments, done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def say(self, i, command):
        """One line to a control socket and its answer; nothing if nobody is there yet."""
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(LIMIT_S)
                s.connect(str(self.folder(i) / "control"))
                s.sendall(json.dumps({"command": command}).encode() + b"\n")
                with s.makefile("rb") as lines:
                    return json.loads(lines.readline() or b"null")
        except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            return None

    # ---- processes

    def spawn(self, i):
        command = [PROGRAM, "--config", self.file, "--self", str(i), "run", *self.inject,
                   str(1000 * self.seed + len(self.lives[i]) * self.size + i)]
        self.folder(i).mkdir(parents=True, exist_ok=True)
        with open(self.folder(i) / "log", "ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def adopt(self, i, process):
        """Waits until a spawned daemon answers, and watches it."""
        answer = until(lambda: process.poll() is not None or self.say(i, "status"), f"{i} answers", every_s=0.005)
        assert answer is not True, (i, process.returncode, self.log(i))
        before = self.lives[i][-1] if self.lives[i] else None
        self.lives[i].append(Life(process, answer["value"]["incarnation"], before))
        self.watch.add(i, str(self.folder(i) / "control"))

    def start(self, *which):
        processes = [(i, self.spawn(i)) for i in which]
        for i, process in processes:
            self.adopt(i, process)

    def start_all(self):
        self.start(*range(self.size))

    def running(self):
        return [i for i in range(self.size) if self.lives[i] and self.lives[i][-1].ended is None]

    def kill(self, *which):
        for i in which:
            self.lives[i][-1].ended = time.monotonic()
            self.lives[i][-1].process.kill()
        for i in which:
            self.lives[i][-1].process.wait()

    def restart(self, i):
        """True if that was quick: the new process answered less than an interval after the old one was killed."""
        self.kill(i)
        self.start(i)
        return self.lives[i][-1].after_s < QUICK_S

    def signal(self, number, *which):
        for i in which:
            self.lives[i][-1].process.send_signal(number)

    def pause(self, seconds, *which):
        self.signal(signal.SIGSTOP, *which)
        time.sleep(seconds)
        self.signal(signal.SIGCONT, *which)

    def log(self, i):
        return (self.folder(i) / "log").read_text(errors="replace")[-1500:]

    def close(self):
        self.signal(signal.SIGTERM, *self.running())
        codes = {i: self.lives[i][-1].process.wait(LIMIT_S) for i in self.running()}
        self.watch.close()
        wrong = {i: (code, self.log(i)) for i, code in codes.items() if code != 0}
        shutil.rmtree(self.home)
        assert not wrong, wrong

    # ---- what they hold

    def wait_all_alive(self, limit_s=LIMIT_S):
        running = self.running()

        def settled():
            answers = [self.say(i, "status") for i in running]
            return all(a and a["value"]["alive"] == len(running) for a in answers)

        until(settled, f"all {len(running)} alive everywhere", limit_s)

    def wait_all_named(self, dead, observers, limit_s=LIMIT_S):
        """Every observer has told that these lives are over."""
        wanted = {(o, i, self.lives[i][-1].incarnation) for o in observers for i in dead}

        def named():
            said = {(o, e["index"], e["incarnation"]) for o, e in list(self.watch.events) if e["event"] == "dead"}
            return wanted <= said

        until(named, f"{len(dead)} dead named by all of {len(observers)}", limit_s)

    def wrong_verdicts(self):
        """Those that call dead whose process ran at that moment."""
        return [(o, e) for o, e in list(self.watch.events) if e["event"] == "dead" and self._lived(e)]

    def _lived(self, e):
        for life in self.lives[e["index"]]:
            if life.incarnation == e["incarnation"]:
                return life.ended is None or e["monotonic_s"] < life.ended
        return True  # a life that never was

    def unnoticed_ends(self):
        """(observer, participant) for each life that ended without the observer, up all the time since, having told
        its death or the life after it."""
        told = {(o, e["index"], e["incarnation"]) for o, e in list(self.watch.events) if e["event"] == "dead"}
        latest = {}
        for o, e in list(self.watch.events):
            if e["event"] == "rebooted":
                latest[o, e["index"]] = e["incarnation"]
        return [(o, i) for o in self.running() for i in range(self.size) for life in self.lives[i]
                if i != o and life.ended is not None and self.lives[o][-1].began < life.ended - SETTLED_S
                and (o, i, life.incarnation) not in told and latest.get((o, i), 0) <= life.incarnation]

    def threshold_ms(self):
        return max((s["threshold_ms"] for s in self.watch.status.values()), default=2200)
