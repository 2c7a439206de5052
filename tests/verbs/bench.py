#!/usr/bin/env python3
"""Measures scoll over soft-RoCE devices beside perftest, in turn, in the machine that vm.py boots.

usage: bench.py SCOLL-BENCH [--rounds N]

Round trips are compared with twice the half round trip of ib_send_lat, pulls with ib_read_bw; both of them sleep until something
completes (-e), as scoll does. Each ratio is the median of those of the rounds, because the machine is not equally fast in all. The limits: a round trip of 64 bytes takes at most 1.3 times
as long, pulls of 1 MiB of registered memory are at least 0.8 times as fast, nothing is allocated for an operation (pools grow at first), no
receiver is ever without a place, and an idle node uses less than 1 % of a processor. Exit status 1: one of them is exceeded.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ADDRESSES = "10.0.0.1,10.0.0.2"
MOST = {"rtt_ratio": 1.3, "not_ready": 0, "allocs_per_op": 0.5, "idle_cpu_percent": 1}
LEAST = {"pull_ratio": 0.8}


def scoll(program, *arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([program, "verbs", "--host", ADDRESSES, *arguments, "--json", out.name], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"scoll-bench verbs {' '.join(arguments)} has failed: {done.stderr}")
        return json.load(out)[0]


def perftest(program, *arguments):
    """The last line of figures that the side which connects prints."""
    command = [program, "-e", "-F", "-x", gid_index(1), *arguments]
    listener = subprocess.Popen([*command, "-d", "rxe2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(40):  # until it listens
            asked = subprocess.run([*command, "-d", "rxe1", "10.0.0.2"], capture_output=True, text=True, timeout=120, check=False)
            if asked.returncode == 0:
                break
            subprocess.run(["sleep", "0.25"], check=True)
        listener.wait(timeout=30)
    finally:
        listener.kill()
    figures = [line.split() for line in asked.stdout.splitlines() if line.strip()[:1].isdigit()]
    if not figures:
        sys.exit(f"{program} has measured nothing: {asked.stdout}{asked.stderr}")
    return [float(word) for word in figures[-1]]


def gid_index(device):
    """Of the RoCEv2 address by IPv4."""
    port = pathlib.Path(f"/sys/class/infiniband/rxe{device}/ports/1")
    for index in range(16):
        try:
            kind = (port / f"gid_attrs/types/{index}").read_text().strip()
            address = (port / f"gids/{index}").read_text().strip()
        except OSError:
            continue
        if kind == "RoCE v2" and ":ffff:" in address:
            return str(index)
    sys.exit(f"rxe{device} has no address")


def not_ready():
    return sum(int(file.read_text()) for kind in ("rcvd_rnr_err", "retry_rnr_exceeded_err")
               for file in pathlib.Path("/sys/class/infiniband").glob(f"rxe*/ports/1/hw_counters/{kind}"))


def measure(program, rounds):
    subprocess.run(["ibv_devinfo"], stdout=subprocess.DEVNULL, check=True)  # so that nobody waits for the libraries
    taken = {name: [] for name in ("rtt_us", "send_lat_us", "pull_mib_per_s", "read_bw_mib_per_s", "copied_mib_per_s", "allocs_per_op")}
    refused = not_ready()
    refused_scoll = 0
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", flush=True)
        before = not_ready()
        rtt, pull = scoll(program, "--case", "rtt", "--rounds", "5"), scoll(program, "--case", "pull", "--rounds", "2")
        copied = scoll(program, "--case", "pull-copied", "--rounds", "1")
        refused_scoll += not_ready() - before
        taken["rtt_us"].append(rtt["p50_us"])
        taken["pull_mib_per_s"].append(pull["mib_per_s"])
        taken["copied_mib_per_s"].append(copied["mib_per_s"])
        taken["allocs_per_op"].append(max(rtt["allocs_per_op"], pull["allocs_per_op"]))
        # bytes, iterations, least, most, typical, …
        taken["send_lat_us"].append(perftest("ib_send_lat", "-s", "64", "-n", "1000")[4])
        # bytes, iterations, peak, average in MiB/s, …
        taken["read_bw_mib_per_s"].append(perftest("ib_read_bw", "-s", "1048576", "-n", "64")[3])
    found = {name: statistics.median(values) for name, values in taken.items()}
    found["rtt_ratio"] = statistics.median(a / (2 * b) for a, b in zip(taken["rtt_us"], taken["send_lat_us"]))
    found["pull_ratio"] = statistics.median(a / b for a, b in zip(taken["pull_mib_per_s"], taken["read_bw_mib_per_s"]))
    found["not_ready"] = refused_scoll
    found["not_ready_of_perftest"] = not_ready() - refused - refused_scoll
    found["idle_cpu_percent"] = scoll(program, "--case", "idle")["cpu_percent"]
    return found


def judge(found):
    good = True
    for name, value in found.items():
        limit = ""
        if name in MOST:
            limit = f"at most {MOST[name]}: {'ok' if value <= MOST[name] else 'ABOVE'}"
        elif name in LEAST:
            limit = f"at least {LEAST[name]}: {'ok' if value >= LEAST[name] else 'BELOW'}"
        good = good and not limit.endswith(("ABOVE", "BELOW"))
        print(f"{name:22} {value:10.2f}  {limit}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    found = measure(arguments.program, arguments.rounds)
    good = judge(found)
    print("json: " + json.dumps(found))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
