"""Processes of rail_peer on the hosts of a fabric: what they are told, and what they tell."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

PROGRAM = pathlib.Path(os.environ["SCOLL_BIN_DIR"]) / "rail_peer"
LIMIT_S = 60


def until(true, what, limit_s=LIMIT_S, every_s=0.02):
    """Waits until something is true, and returns it."""
    deadline = time.monotonic() + limit_s
    while not (found := true()):
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(every_s)
    return found


class Peer:
    """The node on a host. Its id is the host's number."""

    def __init__(self, fabric, host, nics=(0, 1), devices=False, arguments=()):
        self.host = host
        self.events = []
        self._answers = {}
        self._told = threading.Condition()
        self._last_id = 0
        self._socket, theirs = socket.socketpair()
        command = [*fabric.inside(host), PROGRAM, "--node", str(host), *arguments]
        for nic in nics:
            device = f"%eth{nic}" if devices else ""
            command += ["--rail", f"{fabric.place(host, nic)}/{fabric.prefix()}{device}"]
        for other in fabric.hosts:
            if other != host:
                command += ["--peer", f"{other}=" + ",".join(fabric.place(other, nic) for nic in nics)]
        with theirs:
            self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.wait_for(lambda e: e["event"] == "ready")

    def _read(self):
        with self._socket.makefile("rb") as lines:
            for line in map(json.loads, lines):
                with self._told:
                    if "answer" in line:
                        self._answers[line["answer"]] = line
                    else:
                        self.events.append(line)
                    self._told.notify_all()

    def _await(self, found, what, limit_s):
        deadline = time.monotonic() + limit_s
        with self._told:
            while (result := found()) is None:
                left = deadline - time.monotonic()
                assert left > 0, f"node {self.host} never told: {what}"
                assert self._reader.is_alive(), f"node {self.host} has ended: {what}"
                self._told.wait(min(left, 0.1))
            return result

    def wait_for(self, wanted, limit_s=LIMIT_S):
        """The first event that is wanted, even if it came before."""
        return self._await(lambda: next(filter(wanted, self.events), None), "an event", limit_s)

    def tell(self, do, **parameters):
        """Gives a command, and returns its answer."""
        self._last_id += 1
        number = self._last_id
        self._socket.sendall(json.dumps({"id": number, "do": do, **parameters}).encode() + b"\n")
        answer = self._await(lambda: self._answers.pop(number, None), do, LIMIT_S)
        assert "error" not in answer, answer
        return answer

    def state(self):
        return self.tell("state")["state"]

    def mark(self):
        """The state; the longest waits are counted anew from now on."""
        return self.tell("mark")["state"]

    def paths(self, peer):
        """The paths to a peer that join interfaces of the same number, by this number."""
        return {p["own"]: p for p in self.state()["peers"][str(peer)]["paths"] if p["own"] == p["theirs"]}

    def active(self, peer, lane="active"):
        """The number of this node's interface by which control, or the lane "bulk", goes to a peer; None if it is between two."""
        return next((p["own"] for p in self.state()["peers"][str(peer)]["paths"] if p[lane]), None)

    def failures(self):
        return [e for e in self.events if e["event"] in ("failed", "session_lost")]

    def signal(self, number):
        self.process.send_signal(number)

    def close(self):
        self.signal(signal.SIGKILL)
        self.process.wait(LIMIT_S)
        self._reader.join(LIMIT_S)
        self._socket.close()
