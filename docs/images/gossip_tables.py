#!/usr/bin/env python3
"""Fills the tables of docs/gossip.md from docs/gossip.csv.

usage: gossip_tables.py            writes docs/gossip.md anew
       gossip_tables.py --check    prints what is wrong instead, exit code 1 when anything is

A table stands between `<!-- rows: NAME -->` and `<!-- end of rows -->`. With --check every line of a table has to
stand there and be what the rows of the CSV give, and both CSV files have to be whole: lines with all their fields,
no row twice, ages for each row and a row for all ages.
"""

import csv
import difflib
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parents[1]
PAGE = DOCS / "gossip.md"
ROWS = DOCS / "gossip.csv"
AGES = DOCS / "gossip-ages.csv"
BLOCK = re.compile(r"(<!-- rows: (\w+) -->\n)(.*?)(<!-- end of rows -->)", re.DOTALL)

SMALL = [16, 64, 256, 1024]
SIZES = SMALL + [4096, 16384, 65536]
LOSSES = ["0", "0.01", "0.05", "0.2"]

RULES = [
    (("calm", "source"), "the source's, own phases"),
    (("together", "source"), "the source's, all tick together"),
    (("calm", "relative"), "relative ages, two retries"),
    (("calm", "guarded no retry"), "guarded stamps, no retry"),
    (("calm", "guarded one retry"), "guarded, one retry"),
    (("calm", "guarded"), "**guarded, two retries**"),
    (("calm", "guarded three retries"), "guarded, three retries"),
    (("together", "guarded"), "two retries, all tick together"),
    (("calm", "guarded fudge 2"), "two retries, fudge 2"),
    (("calm", "guarded fudge 4"), "two retries, fudge 4"),
    (("calm", "guarded plain clock"), "two retries, stamps on the plain clock"),
]
DISTURBED = [
    (("equal clocks", "guarded"), "all clocks equal, in phases of their own"),
    (("calm", "guarded"), "clocks up to 1 % off, either way"),
    (("half dead", "guarded"), "half of all dead, one ping in eight to them"),
    (("half dead", "guarded dead not skipped"), "half of all dead, pinged like all others"),
    (("one loses half", "guarded"), "one node loses half of its packets"),
    (("one 2x fast", "guarded"), "one node's clock 2x fast"),
    (("one 2x fast", "guarded plain clock"), "the same, all on the plain clock"),
    (("stalls of 5", "guarded"), "somebody stands still for 5 intervals, every 16"),
    (("stalls of 10", "guarded"), "somebody stands still for 10 intervals, every 16"),
]
CLOCKS = [(("calm", "source"), "plain, the source's"), (("calm", "guarded"), "**guarded**")]
HELD_DEAD_SHOWN = 0.01  # from this share on it is no use to speak of years


def read(path):
    """Its rows as dictionaries, and what is wrong with it."""
    with path.open(newline="") as file:
        lines = list(csv.reader(file))
    heading, wrong, rows = lines[0], [], []
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(heading):
            wrong.append(f"{path}:{number}: {len(line)} fields instead of {len(heading)}")
        else:
            rows.append(dict(zip(heading, line)))
    return rows, wrong


def key(row):
    return row["scenario"], row["rule"], row["nodes"], row["loss"]


class Study:
    def __init__(self, rows):
        self.rows = {key(r): r for r in rows}

    def row(self, what, nodes, loss="0.05"):
        row = self.rows.get((*what, str(nodes), loss))
        if row is None:
            raise SystemExit(f"{ROWS} has no row {','.join((*what, str(nodes), loss))}")
        return row


# ---- figures as text


def short(value):
    """Two digits that count: 0.012, 79, 4e-7."""
    x = float(value)
    if x == 0:
        return "0"
    if 1e-4 <= x < 1000:
        return f"{x:.2g}" if x < 100 else f"{round(x, -1):.0f}"
    return re.sub(r"e([+-])0*", lambda m: "e-" if m[1] == "-" else "e", f"{x:.0e}")


def big(value):
    return re.sub(r"e\+0*", "e", f"{float(value):.1e}")


def percent(share):
    return f"{100 * float(share):.2g} %"


def size(nodes):
    return f"{int(nodes):,}"


def false_per_year(row, interval=False):
    if float(row["share_above_threshold"]) >= HELD_DEAD_SHOWN:
        return f"{percent(row['share_above_threshold'])} of living pairs are held dead"
    text = short(row["false_verdicts_per_year"])
    return f"{text} ({short(row['low'])}–{short(row['high'])})" if interval else text


def cycles(row, column, digits=1):
    """Of those who are noticed; where not all were, it says so."""
    text = f"{float(row[column]):.{digits}f}"
    return text if row["undetected"] == "0" else f"{text}; {row['undetected']} not by all"


def table(heading, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in (heading, *rows)]
    lines.insert(1, "|" + "---|" * len(heading))
    return "\n".join(lines) + "\n"


# ---- the tables


def goal(study):
    r = study.row(("calm", "guarded"), 1024)
    pairs, power = big(r["pair_cycles"]).split("e")
    superscript = power.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return (
        f"**The goal**: 1,024 nodes, 5 % loss, 200 ms. {pairs} · 10{superscript} pair-cycles, highest age seen "
        f"{r['highest_age']}, threshold {r['threshold_cycles']}: **{short(r['false_verdicts_per_year'])} false\n"
        f"verdicts per cluster-year** ({short(r['low'])} to {short(r['high'])}, 95 %). Every survivor knew after at "
        f"most **{float(r['detect_last_cycles_max']):.1f} cycles** (first: {float(r['detect_first_cycles']):.1f} on\n"
        f"average), and between the first and the last were {float(r['detect_spread_cycles_p99']):.1f} cycles at the "
        f"99th percentile.\n"
    )


def sizes(study):
    heading = ["nodes", "loss", "threshold", "pair-cycles", "highest age", "false per year (95 %)", "first",
               "last, at most", "spread p99"]
    rows = []
    for nodes in SIZES:
        for loss in LOSSES:
            r = study.row(("calm", "guarded"), nodes, loss)
            rows.append([size(nodes), percent(loss), r["threshold_cycles"], big(r["pair_cycles"]), r["highest_age"],
                         false_per_year(r, True), cycles(r, "detect_first_cycles"),
                         cycles(r, "detect_last_cycles_max"), cycles(r, "detect_spread_cycles_p99", 2)])
    return table(heading, rows)


def rules(study):
    heading = ["nodes", "rule", "threshold", "highest age", "false per year", "last, at most", "pings per cycle",
               "bytes of a reply"]
    rows = []
    for nodes in SMALL:
        for what, name in RULES:
            r = study.row(what, nodes)
            rows.append([size(nodes), name, r["threshold_cycles"], r["highest_age"], false_per_year(r),
                         cycles(r, "detect_last_cycles_max"), f"{float(r['pings_per_cycle']):.2f}",
                         f"{float(r['entries_per_reply']):.2f} N"])
    return table(heading, rows)


def losses(study):
    heading = ["nodes", "loss", "the source's", "relative ages, two retries", "guarded, no retry",
               "**guarded, two retries**"]

    def cell(r):
        share = float(r["share_above_threshold"])
        false = percent(share) + " held dead" if share >= HELD_DEAD_SHOWN else short(r["false_verdicts_per_year"])
        return f"{r['threshold_cycles']}: {false}"

    rows = []
    for nodes in SIZES:
        for loss in LOSSES if nodes in SMALL else ["0.05"]:
            rows.append([size(nodes), percent(loss)] +
                        [cell(study.row(("calm", rule), nodes, loss))
                         for rule in ("source", "relative", "guarded no retry", "guarded")])
    return table(heading, rows)


def disturbed(study):
    heading = ["nodes", "what", "threshold", "pair-cycles", "highest age", "share above the threshold",
               "about or by the odd one, per year", "last, at most", "clock, cycles per interval"]
    rows = []
    for nodes in (64, 256, 1024):
        for what, name in DISTURBED:
            r = study.row(what, nodes)
            rows.append([size(nodes), name, r["threshold_cycles"], big(r["pair_cycles"]), r["highest_age"],
                         short(r["share_above_threshold"]), short(r["odd_per_year"]) if has_odd(r) else "",
                         cycles(r, "detect_last_cycles_max"), f"{float(r['clock_rate']):.2f}"])
    return table(heading, rows)


def has_odd(row):
    return row["scenario"] in ("one loses half", "one 2x fast")


def clocks(study):
    heading = ["nodes", "clock", "cycles per interval", "first to last, median", "at most",
               "messages more than 2 cycles old", "oldest", "obsolete beyond"]
    rows = []
    for nodes in SIZES:
        for what, name in CLOCKS:
            r = study.row(what, nodes)
            rows.append([size(nodes), name, f"{float(r['clock_rate']):.2f}", r["clock_spread_p50"],
                         r["clock_spread_max"], percent(r["late_share_over_2"]), r["latest"],
                         r["threshold_cycles"]])
    return table(heading, rows)


TABLES = {f.__name__: f for f in (goal, sizes, rules, losses, disturbed, clocks)}


def filled(page, study):
    return BLOCK.sub(lambda m: m[1] + TABLES[m[2]](study) + m[4], page)


# ---- whether all of it is true


def outside(page):
    """Lines with figures in tables that no row stands behind; a table of words needs none."""
    hidden = BLOCK.sub(lambda m: re.sub(r"[^\n]", "", m[0]), page)
    return [f"{PAGE}:{n}: a table that is not made from rows: {line}"
            for n, line in enumerate(hidden.splitlines(), 1) if re.match(r"\|.*\| *[\d.]+", line)]


def inconsistent(rows, ages):
    wrong = []
    keys = [key(r) for r in rows]
    for k in sorted({k for k in keys if keys.count(k) > 1}):
        wrong.append(f"{ROWS}: twice: {','.join(k)}")
    with_ages = {key(a) for a in ages}
    for k in sorted(set(keys) ^ with_ages):
        wrong.append(f"{AGES if k in keys else ROWS}: has nothing of {','.join(k)}")
    return wrong


def main(check):
    rows, wrong = read(ROWS)
    ages, wrong_ages = read(AGES)
    wrong += wrong_ages + inconsistent(rows, ages)
    page = PAGE.read_text()
    anew = filled(page, Study(rows))
    if not check:
        PAGE.write_text(anew)
    else:
        wrong += outside(page)
        wrong += [line.rstrip("\n") for line in
                  difflib.unified_diff(page.splitlines(True), anew.splitlines(True), str(PAGE), "from the rows", n=0)]
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main(sys.argv[1:] == ["--check"])
