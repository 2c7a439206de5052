#!/usr/bin/env python3
"""Compares the tables of docs/ that say what the code says with the code, and writes them anew.

usage: tables.py [ROOT]     names each table that differs
       tables.py --write    writes them

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. The names: `mutants`, the deliberate bugs of
src/scoll/coro/mutants.hpp with what found them according to docs/mutants.csv; `errors`, the codes of include/scoll/coro/error.hpp.
The table of the settings is compared with `scoll-info` by tests/cluster/info_test.py.
"""

import csv
import pathlib
import re
import sys

import sources
from sources import Finding

TABLE = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
MUTANTS, FOUND_BY, ERRORS = "src/scoll/coro/mutants.hpp", "docs/mutants.csv", "include/scoll/coro/error.hpp"
MUTANT = re.compile(r'SCOLL_NAMED_MUTANT\((\w+)\),\s*((?:"[^"]*"\s*)+)\}')
ERROR = re.compile(r"^\s*(\w+) = (\d+),?\s*///<\s*(.*(?:\n\s*///<.*)*)", re.MULTILINE)


def rows(*lines):
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def mutants(root):
    """The rows, and what is wrong with what they are made of."""
    with pathlib.Path(root, FOUND_BY).open(newline="") as file:
        found = {row["mutant"]: row for row in csv.DictReader(file)}
    made = {m[1]: "".join(re.findall(r'"([^"]*)"', m[2])) for m in MUTANT.finditer(sources.read(pathlib.Path(root, MUTANTS)))}
    wrong = [f"has no row for {name}: what finds it? (./dev sim --mutants)" for name in made if name not in found]
    wrong += [f"has a row for {name}, which is no mutant" for name in found if name not in made]
    lines = [[name, what, found[name]["seed"], found[name]["property"]] for name, what in made.items() if name in found]
    return rows(["mutant", "what it does", "found by seed", "property"], ["---"] * 4, *lines), wrong


def errors(root):
    text = sources.read(pathlib.Path(root, ERRORS))
    body = text[text.index("enum class errc") :]
    body = body[: body.index("};")]
    lines = [[f"`{m[1]}`", m[2], re.sub(r"\s*\n\s*///<\s*", " ", m[3]).strip()] for m in ERROR.finditer(body)]
    wrong = [] if len(lines) == len(re.findall(r"= \d+", body)) - 1 else ["has a code without a `///<`"]  # all but ok
    return rows(["code", "number", "what it says"], ["---"] * 3, *lines), wrong


TABLES = {"mutants": (FOUND_BY, mutants), "errors": (ERRORS, errors)}


def pages(root):
    """Every page with tables, as (path, text, text as it should be)."""
    for page in sources.documents(root):
        text = sources.read(page)
        if TABLE.search(text):
            wanted = TABLE.sub(lambda m: m[1] + TABLES[m[2]][1](root)[0] + m[4] if m[2] in TABLES else m[0], text)
            yield page, text, wanted


def check(root):
    shown = set()
    for page, text, wanted in pages(root):
        name, again = sources.name_of(page, root), list(TABLE.finditer(wanted))
        for match, other in zip(TABLE.finditer(text), again):
            line = sources.line_of(text, match.start())
            if match[2] not in TABLES:
                yield Finding(name, line, f"there is no table {match[2]}")
            elif match[2] in shown:
                yield Finding(name, line, f"the table {match[2]} stands twice")
            elif match[3] != other[3]:
                old, new = match[3].splitlines(), other[3].splitlines()
                differ = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
                yield Finding(name, line + 1 + differ, f"the table {match[2]} is not what the code says: run tests/lint/checks/tables.py --write")
            shown.add(match[2])
    for name, (source, make) in TABLES.items():
        if pathlib.Path(root, source).exists():
            yield from (Finding(source, 1, wrong) for wrong in make(root)[1])
            if name not in shown:
                yield Finding(source, 1, f"no page shows the table {name}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for page, text, wanted in pages(sources.ROOT):
            if text != wanted:
                page.write_text(wanted)
    else:
        sources.main(check, __doc__)
