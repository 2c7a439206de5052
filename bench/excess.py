#!/usr/bin/env python3
"""Says what the time is made of that broadcasts take above the raw tree: the CPU of all processes together, sampled
with perf, by the layer of the source line in user space, and by what the kernel was at.

The subjects take turns, so that what the machine does meanwhile is shared among them; each figure is the median of
the rounds. Samples count from the first measured broadcast to the last one. The layers are those of profile.py. The
raw tree is the one of the two, with epoll or with a ring, that takes less CPU here.

Needs linux-perf, binutils, a program with line numbers, and the right to watch all processors: root, or
kernel.perf_event_paranoid at 0.
"""

import argparse
import collections
import csv
import importlib.util
import itertools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

# By its path: the standard library has a module of the same name.
spec = importlib.util.spec_from_file_location("hop_profile", pathlib.Path(__file__).with_name("profile.py"))
hop_profile = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hop_profile)

ROOT = hop_profile.ROOT
RAW = ["raw-tree-epoll", "raw-tree-uring"]
OURS = ["scoll", "scoll-plain"]
TREE = "knomial:4"

# The innermost frame that matches says what the kernel was at.
KERNEL = [
    ("page faults", r"page_fault|handle_mm_fault"),
    ("copying", r"copy_(user|to|from)|copyin|copyout|copy_page_(to|from)|rep_movs|skb_copy_datagram|memcpy"),
    *hop_profile.KERNEL[:-1],
    ("epoll", r"^_*(do_|sys_)?e?p(oll)?_|epoll|eventpoll"),
    ("interrupts", r"sysvec|hrtimer_interrupt|timer_interrupt"),
    ("entering and leaving the kernel", r"entry|syscall|exit_to_user|x64_sys|ksys|vfs_|fdget|fget|fput|security_"),
    ("other", r""),
]
USER = [name for name, _ in hop_profile.LAYERS]


class Lines:
    """Which layer the addresses of one program belong to. Code that was inlined belongs to the innermost source of the
    project that it stands in."""

    def __init__(self, program):
        self.program = program
        self.known = {}

    def learn(self, addresses):
        new = sorted(set(addresses) - self.known.keys())
        said = subprocess.run(["addr2line", "-a", "-i", "-e", self.program], input="\n".join(map(hex, new)), check=True,
                              capture_output=True, text=True).stdout
        self.known |= {address: layer_of(files) for address, files in inlined(said.splitlines())}


def inlined(lines):
    """Of what addr2line prints: each address, and the files it was inlined into, innermost first."""
    address, files = None, []
    for line in lines:
        if line.startswith("0x"):
            if address is not None:
                yield address, files
            address, files = int(line, 16), []
        else:
            files.append(os.path.normpath(line.rsplit(":", 1)[0]))
    if address is not None:
        yield address, files


def layer_of(files):
    ours = (f for f in files if re.search(r"/bench/|xxhash|/(include|src)/(coro|scoll|transport|tree|wire)/", f))
    return hop_profile.kind_of(next(ours, ""), hop_profile.LAYERS)


def frames_of_samples(lines, processes):
    """Of `perf script -F pid,ip,sym,dso` with call chains: the frames of each sample of these processes, as (address,
    symbol, object). An address in user space is one in the file of its object."""
    frames = None
    for line in lines:
        if match := re.match(r"\s*(-?\d+)\s*$", line):
            if frames is not None:
                yield frames
            frames = [] if int(match[1]) in processes else None
        elif frames is None:
            continue
        elif match := re.match(r"\s+([0-9a-f]+) (.*) \((\S*)\)$", line):
            frames.append((int(match[1], 16), match[2], match[3]))
    if frames is not None:
        yield frames


def in_kernel(frame):
    return frame[2].startswith("[kernel") or frame[2].endswith(".ko") or frame[0] >= 1 << 63


def kernel_kind(frames):
    named = (kind for frame in frames if in_kernel(frame) for kind, pattern in KERNEL[:-1] if re.search(pattern, frame[1]))
    return next(named, KERNEL[-1][0])


def count(samples, lines):
    """How many samples there are of each kind."""
    samples = [frames for frames in samples if frames]
    of_program = lambda frame: os.path.basename(frame[2]) == os.path.basename(lines.program)
    lines.learn(frames[0][0] for frames in samples if of_program(frames[0]))
    found = collections.Counter()
    for frames in samples:
        address, _, binary = frames[0]
        if in_kernel(frames[0]):
            found[kernel_kind(frames)] += 1
        elif of_program(frames[0]):
            found[lines.known[address]] += 1
        else:
            found[hop_profile.kind_of(os.path.basename(binary), hop_profile.LAYERS)] += 1
    return found


def perf_script(data, *arguments):
    return subprocess.run(["perf", "script", "-i", data, *arguments], check=True, capture_output=True, text=True).stdout.splitlines()


def measure(lines, subject, nodes, size, operations, folder):
    """The CPU of a broadcast by kind, in µs, of all processes together, and the time that half of them took at most."""
    # Events of each process would be switched with it, which costs more than what is measured.
    data, rows = folder / "perf.data", folder / "rows.json"
    subprocess.run(["perf", "record", "-q", "-a", "-g", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock", "-F", "1999", "-o", data, "--",
                    lines.program, "alone", "--job", "bcast", "--subject", subject, "--nodes", str(nodes), "--size", str(size),
                    "--tree", TREE, "--operations", str(operations), "--json", rows],
                   check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    measured = json.loads(rows.read_text())
    window = ",".join(f"{measured[0][end] / 1e9:.9f}" for end in ("began_ns", "ended_ns"))
    samples = perf_script(data, "--time", window, "-F", "pid,ip,sym,dso")
    seen = count(frames_of_samples(samples, {row["pid"] for row in measured}), lines)
    us = sum(row["cpu_us_per_op"] for row in measured) / max(seen.total(), 1)
    return {kind: us * seen[kind] for kind in [*USER, *(name for name, _ in KERNEL)]}, measured[0]["p50_us"]


def medians(rounds):
    return {kind: statistics.median(each[kind] for each in rounds) for kind in rounds[0]}


def rows_of_case(nodes, size, found):
    """`found`: by subject, the kinds of each round."""
    total = {subject: statistics.median(sum(each.values()) for each in rounds) for subject, rounds in found.items()}
    raw = min((subject for subject in RAW if subject in found), key=total.get)
    for subject in [raw, *OURS]:
        named = "raw-tree" if subject == raw else subject
        for kind, us in medians(found[subject]).items():
            yield {"nodes": nodes, "size": size, "subject": named, "kind": kind, "us": f"{us:.1f}"}


def parse():
    whole = lambda text: [int(word) for word in text.split(",")]
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("program", help="scoll-bench, built with line numbers")
    given.add_argument("csv", nargs="?", type=pathlib.Path, default=ROOT / "docs/excess.csv", help="the rows (%(default)s)")
    given.add_argument("--nodes", type=whole, default=[16, 64], help="numbers of processes (16,64)")
    given.add_argument("--sizes", type=whole, default=[64, 4096], help="bytes of a request (64,4096)")
    given.add_argument("--rounds", type=int, default=7, help="in which each subject has a turn (%(default)s)")
    given.add_argument("--operations", type=int, default=0, help="broadcasts per turn; 0: 32,000 divided by the processes")
    return given.parse_args()


def main(given):
    lines = Lines(given.program)
    rows = []
    for nodes, size in itertools.product(given.nodes, given.sizes):
        operations = given.operations or max(32_000 // nodes, 100)
        found = collections.defaultdict(list)
        for i, subject in itertools.product(range(given.rounds), RAW + OURS):
            print(f"\r{nodes} processes, {size} bytes: round {i + 1} of {given.rounds}, {subject:15}", end="", file=sys.stderr)
            with tempfile.TemporaryDirectory() as folder:
                kinds, _ = measure(lines, subject, nodes, size, operations, pathlib.Path(folder))
            found[subject].append(kinds)
        print(file=sys.stderr)
        rows += rows_of_case(nodes, size, found)
    with open(given.csv, "w", newline="") as file:
        writer = csv.DictWriter(file, ["nodes", "size", "subject", "kind", "us"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(parse())
