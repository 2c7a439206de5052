#!/usr/bin/env python3
"""Compares two builds of scoll-bench: runs them in turn on the same jobs, so that both meet the same machine, and
prints what the second one costs in parts of the first.

Each round runs BASE, HEAD and BASE again. HEAD is compared with the mean of the two; the two compared with each
other show what the machine makes of equal programs (A/A). An interval holds the median of such ratios with 95 %.
A value exceeds its limit if its median does, and also lies above the A/A interval. Status 1 says that one did."""

import argparse
import collections
import importlib.util
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

JOBS = {
    "round trip, 64 bytes": ["alone", "--job", "rtt", "--operations", "10000"],
    "round trip, 4,096 bytes": ["alone", "--job", "rtt", "--size", "4096", "--operations", "10000"],
    "broadcast, a chain of 3": ["alone", "--job", "bcast", "--nodes", "3", "--tree", "chain", "--operations", "5000"],
    "broadcast, 16 processes": ["alone", "--job", "bcast", "--nodes", "16", "--tree", "knomial:4", "--operations", "1000"],
    "pull of 1 MiB": ["bulk", "--op", "pull", "--size", "1048576", "--rounds", "1", "--operations", "200"],
    "push of 1 MiB": ["bulk", "--op", "push", "--size", "1048576", "--rounds", "1", "--operations", "200"],
}
INSTRUCTIONS_LIMIT = 1.01


def values_of(rows):
    """Of scoll's rows: the CPU of all processes, and each place's median."""
    found = {}
    own = [row for row in rows if row["subject"] == "scoll"]
    found["CPU"] = sum(row["cpu_us_per_op"] for row in own)
    found["p50"] = statistics.mean(row["p50_us"] for row in own)
    return found


def measure(program, arguments, folder):
    rows = pathlib.Path(folder) / "rows.json"
    subprocess.run([program, *arguments, "--json", rows], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return values_of(json.loads(rows.read_text()))


def interval_of_median(ratios, seed=1):
    """By resampling. The seed is fixed, so that the same ratios have the same interval."""
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2000))
    return medians[50], medians[1949]


def compare(rounds):
    """`rounds` has (first run of BASE, HEAD, second run of BASE), in the order in which they ran or reversed."""
    ratios = [2 * head / (one + other) for one, head, other in rounds]
    equal = [other / one for one, _, other in rounds]
    return {"ratio": statistics.median(ratios), "interval": interval_of_median(ratios),
            "a_a": statistics.median(equal), "a_a_interval": interval_of_median(equal)}


def exceeds(row, limit):
    return row["ratio"] > max(limit, row["a_a_interval"][1])


def run_job(base, head, arguments, rounds, folder):
    seen = collections.defaultdict(list)
    for number in range(rounds):
        order = [base, head, base] if number % 2 == 0 else [base, head, base][::-1]
        one, two, three = (measure(program, arguments, folder) for program in order)
        for value in one:
            seen[value].append((one[value], two[value], three[value]))
    return {value: compare(triples) for value, triples in seen.items()}


def profiler():
    spec = importlib.util.spec_from_file_location("hop_profile", pathlib.Path(__file__).with_name("profile.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def count_instructions(program, profile):
    """User instructions per operation of each place, as the difference of two runs of unequal length."""
    counted = {}
    for job, arguments in profile.JOBS.items():
        with tempfile.TemporaryDirectory() as folder:
            short, long = (profile.count_instructions(program, arguments, n, pathlib.Path(folder))
                           for n in (profile.SHORT, profile.LONG))
        for place in long:
            counted[f"{job}, {place}"] = sum(long[place][layer] - short[place][layer] for layer, _ in profile.LAYERS) / (
                profile.LONG - profile.SHORT)
    return counted


def print_instructions(base, head):
    profile = profiler()
    before, after = count_instructions(base, profile), count_instructions(head, profile)
    rows = []
    print(f"{'instructions per operation':34} {'base':>8} {'head':>8} {'ratio':>7}")
    for place, count in before.items():
        row = {"job": place, "value": "instructions", "base": count, "head": after[place], "ratio": after[place] / count}
        row["exceeds"] = row["ratio"] > INSTRUCTIONS_LIMIT
        rows.append(row)
        print(f"{place:34} {count:8.0f} {after[place]:8.0f} {row['ratio']:7.3f}{'  over the limit' if row['exceeds'] else ''}", flush=True)
    return rows


def print_times(base, head, jobs, rounds, limit):
    rows = []
    print(f"{'in parts of base':34} {'':4} {'head':>6} {'95 %':>15} {'A/A':>6} {'95 %':>15}")
    for job, arguments in jobs.items():
        with tempfile.TemporaryDirectory() as folder:
            compared = run_job(base, head, arguments, rounds, folder)
        for value, row in compared.items():
            row |= {"job": job, "value": value, "exceeds": exceeds(row, limit)}
            rows.append(row)
            low, high = row["interval"]
            a_low, a_high = row["a_a_interval"]
            print(f"{job:34} {value:4} {row['ratio']:6.3f} {low:7.3f}-{high:.3f} {row['a_a']:8.3f} {a_low:7.3f}-{a_high:.3f}"
                  f"{'  over the limit' if row['exceeds'] else ''}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=os.path.abspath, help="scoll-bench of the bench preset, built from the earlier state")
    parser.add_argument("head", type=os.path.abspath, help="scoll-bench of the state that is judged")
    parser.add_argument("--rounds", type=int, default=20, help="of three runs each; 20 by default, about ten minutes in all")
    parser.add_argument("--limit", type=float, default=1.02, help="of p50 and CPU, in parts of BASE; 1.02 by default")
    parser.add_argument("--job", action="append", choices=JOBS, help="only this one; may be given several times")
    parser.add_argument("--instructions", action="store_true", help="count instructions, too, with callgrind: no more than 1.01")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to this file")
    options = parser.parse_args()
    rows = print_instructions(options.base, options.head) if options.instructions else []
    if options.rounds > 0:
        jobs = {job: JOBS[job] for job in options.job or JOBS}
        rows += print_times(options.base, options.head, jobs, options.rounds, options.limit)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(row["exceeds"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
