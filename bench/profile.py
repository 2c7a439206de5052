#!/usr/bin/env python3
"""Counts what a hop of a broadcast and a round trip cost, by layer: user instructions with callgrind, and the
shares of user and kernel in the CPU's time with perf.

usage: profile.py SCOLL-BENCH [CSV]     by default docs/profile.csv; then docs/images/profile_tables.py

Instructions are the difference of two runs of unequal length: what setting up costs is in both. They belong to the
layer of the source file that a line comes from, also when it was inlined; what comes from the standard library
belongs to the function that it was inlined into. All processes share one processor: waking an idle virtual one costs
several microseconds more, and how often that happens differs from run to run. Needs valgrind, linux-perf and a program with line numbers.
"""

import collections
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHAIN = ["--job", "bcast", "--nodes", "3", "--tree", "chain"]
JOBS = {"rtt": ["--job", "rtt"], "bcast": CHAIN, "plain": [*CHAIN, "--subject", "scoll-plain"]}
SHORT, LONG = 500, 2500  # operations under callgrind
TIMED = 100_000  # operations under perf

# The first that matches a path has it.
LAYERS = [
    ("checksum", r"/wire/checksum|xxhash"),
    ("encoding", r"/transport/wire/"),
    ("reactor and coroutines", r"/scoll/coro/|/transport/(io/(?!slab|buffer|socket|acceptor)|sim/wake_queue)|liburing"),
    ("connection and framing", r"/transport/(tcp/|io/|session/(frame|link|lane|carrier|message|greet|endpoint_buffers))"),
    ("session and exchange", r"/(include|src)/transport/"),
    ("collective backend", r"/(include|src)/scoll/"),
    ("service and benchmark", r"/bench/"),
    ("C library", r""),
]
# The innermost frame that matches says what the kernel was at.
KERNEL = [
    ("sleeping and waking", r"sched|wake_up|sock_def_readable|ttwu|task_switch|switch_to|pick_next|pick_task|(en|de)queue_task|try_to_block"),
    ("TCP and IP", r"^_*(tcp|ip|inet|skb|alloc_skb|kfree_skb|sk|sock|net|netif|dev|napi|nf|loopback|process_backlog|bbr|cubic)_"),
    ("io_uring", r"^_*(do_sys_)?io_"),
    ("entering, copying, other", r""),
]


def kind_of(name, kinds):
    return next(kind for kind, pattern in kinds if re.search(pattern, name))


def instructions_by_layer(lines):
    """Of one file of callgrind: the instructions of each layer, without those of what is called."""
    names = {"file": {}, "function": {}, "object": {}}
    spaces = {"fl": "file", "fi": "file", "fe": "file", "cfi": "file", "cfl": "file", "fn": "function",
              "cfn": "function", "ob": "object", "cob": "object"}
    sums = collections.Counter()
    owner = here = binary = ""
    of_call = False
    for line in lines:
        if of_call:  # the cost of a call is that of its callee, too
            of_call = False
        elif line.startswith("calls="):
            of_call = True
        elif match := re.match(r"(\w+)=\((\d+)\)(?: (.*))?$", line):
            key, number, name = match.groups()
            known = names[spaces[key]]
            if name is not None:
                known[number] = os.path.normpath(name) if spaces[key] == "file" else name
            if key == "ob":
                binary = known[number]
            elif key == "fl":
                owner = here = known[number]
            elif key in ("fi", "fe"):
                here = known[number]
        elif match := re.match(r"[+\-*\d]\d* (\d+)$", line):
            ours = here if "/bench/" in here or re.search(r"/(include|src)/(coro|scoll|transport|tree|wire)/", here) else owner
            sums[kind_of(f"{binary} {ours}" if "xxhash" in binary or "liburing" in binary else ours, LAYERS)] += int(match[1])
    return sums


def cpu_by_kind(lines):
    """Of `perf script` with process and kernel's call chain: samples of each process, in user space, which have no
    chain, and by what the kernel did."""
    samples = collections.defaultdict(collections.Counter)
    process, frames = None, []

    def count():
        if process is None:
            return
        symbols = [frame.split()[1] for frame in frames]
        matching = (kind for symbol in symbols for kind, pattern in KERNEL[:-1] if re.search(pattern, symbol))
        samples[process][next(matching, KERNEL[-1][0]) if frames else "user"] += 1

    for line in lines:
        if match := re.match(r"\s*(\d+)\s*$", line):
            count()
            process, frames = int(match[1]), []
        elif line.strip():
            frames.append(line.strip())
    count()
    return samples


def run_alone(program, arguments, operations, around, folder):
    rows = folder / "rows.json"
    command = [*around, program, "alone", *arguments, "--operations", str(operations), "--json", rows]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return json.loads(rows.read_text())


def count_instructions(program, arguments, operations, folder):
    """By place; places that several processes have are added up."""
    around = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/%p.{operations}"]
    counted = {}
    for row in run_alone(program, arguments, operations, around, folder):
        with open(folder / f"{row['pid']}.{operations}") as file:
            counted[row["place"]] = instructions_by_layer(line.rstrip("\n") for line in file)
    return counted


def measure(program, job, arguments, folder):
    short, long = (count_instructions(program, arguments, n, folder) for n in (SHORT, LONG))
    for place in long:
        for layer, _ in LAYERS:
            each = (long[place][layer] - short[place][layer]) / (LONG - SHORT)
            yield {"job": job, "place": place, "of": "instructions", "kind": layer, "value": round(each)}
    data = folder / "perf.data"
    rows = run_alone(program, arguments, TIMED, ["perf", "record", "-q", "-g", "--kernel-callchains", "-e", "cpu-clock",
                                                 "-F", "4999", "-o", data, "--"], folder)
    script = subprocess.run(["perf", "script", "-i", data, "-F", "pid,ip,sym,dso"], check=True, capture_output=True, text=True)
    samples = cpu_by_kind(script.stdout.splitlines())
    for row in rows:
        seen = samples[row["pid"]]
        for kind in ["user", *(name for name, _ in KERNEL)]:
            us = row["cpu_us_per_op"] * seen[kind] / max(sum(seen.values()), 1)
            yield {"job": job, "place": row["place"], "of": "cpu_us", "kind": kind, "value": f"{us:.2f}"}


def main(program, into=ROOT / "docs/profile.csv"):
    rows = []
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for job, arguments in JOBS.items():
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(program, job, arguments, pathlib.Path(folder))
    with open(into, "w", newline="") as file:
        writer = csv.DictWriter(file, ["job", "place", "of", "kind", "value"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
