#!/usr/bin/env python3
"""Compares the tables of docs/ that say what the code says with the code, and writes them anew.

usage: tables.py [ROOT]     names each table that differs
       tables.py --write    writes them

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. The names: `mutants`, the deliberate bugs at the sites of
SCOLL_MUTANT (src/scoll/coro/mutants.hpp) with what found them according to docs/mutants.csv; `errors`, the codes of
include/scoll/coro/error.hpp. A mutant without a text and a mutant with two of them are named as well. The table of the settings is
compared with `scoll-info` by tests/cluster/info_test.py.
"""

import csv
import pathlib
import re
import sys
from typing import NamedTuple

import sources
from sources import Finding

TABLE = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
FOUND_BY, ERRORS = "docs/mutants.csv", "include/scoll/coro/error.hpp"
SITE = re.compile(r'SCOLL_MUTANT\(\s*(\w+)\s*(?:,\s*((?:"[^"]*"\s*)+))?\)')
NO_PROPERTY = ("assertion: ", "exception: ", "signal ", "exit status ")
ERROR = re.compile(r"^\s*(\w+) = (\d+),?\s*///<\s*(.*(?:\n\s*///<.*)*)", re.MULTILINE)


def rows(*lines):
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


class Site(NamedTuple):
    mutant: str
    text: str
    path: str
    line: int


def sites(root):
    for path in sources.code_files(root, ("include", "src")):
        code = sources.without_comments(sources.read(path))
        for m in SITE.finditer(code):
            text = "".join(re.findall(r'"([^"]*)"', m[2] or ""))
            yield Site(m[1], text, sources.name_of(path, root), sources.line_of(code, m.start()))


def mutants(root):
    """The rows, and what is wrong with what they are made of."""
    with pathlib.Path(root, FOUND_BY).open(newline="") as file:
        found = {row["mutant"]: row for row in csv.DictReader(file)}
    texts, wrong, every = {}, [], list(sites(root))
    for site in every:
        if site.text and texts.setdefault(site.mutant, site) is not site:
            first = texts[site.mutant]
            wrong.append(Finding(site.path, site.line, f"the mutant {site.mutant} has a text already, at {first.path}:{first.line}"))
    for site in {s.mutant: s for s in reversed(every)}.values():
        if site.mutant not in texts:
            wrong.append(Finding(site.path, site.line, f"no site of the mutant {site.mutant} says what it does"))
        if site.mutant not in found:
            advice = "./dev sim --mutants --write docs/mutants.csv"
            wrong.append(Finding(FOUND_BY, 1, f"has no row for {site.mutant}: what finds it? ({advice})"))
    made = {s.mutant for s in every}
    wrong += [Finding(FOUND_BY, 1, f"has a row for {name}, which is no mutant") for name in found if name not in made]
    lines = [[name, texts[name].text, *(found[name][key] for key in ("workload", "nodes", "seed")), emphasised(found[name]["property"])]
             for name in sorted(texts) if name in found]
    return rows(["mutant", "what it does", "found with", "nodes", "seed", "property"], ["---"] * 6, *lines), wrong


def emphasised(found_by):
    return found_by if found_by.startswith(NO_PROPERTY) else f"*{found_by}*"


def errors(root):
    text = sources.read(pathlib.Path(root, ERRORS))
    body = text[text.index("enum class errc") :]
    body = body[: body.index("};")]
    lines = [[f"`{m[1]}`", m[2], re.sub(r"\s*\n\s*///<\s*", " ", m[3]).strip()] for m in ERROR.finditer(body)]
    complete = len(lines) == len(re.findall(r"= \d+", body)) - 1  # all but ok
    wrong = [] if complete else [Finding(ERRORS, 1, "has a code without a `///<`")]
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
            yield from make(root)[1]
            if name not in shown:
                yield Finding(source, 1, f"no page shows the table {name}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for page, text, wanted in pages(sources.ROOT):
            if text != wanted:
                page.write_text(wanted)
    else:
        sources.main(check, __doc__)
