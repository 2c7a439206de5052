#!/usr/bin/env python3
"""Checks that what the documentation links to is there.

usage: links.py ROOT       prints <file>:<line>: <link>, exit code 1 when a relative link leads nowhere

Reads every .md file below ROOT outside of build folders. An anchor must be a heading of the file it points into.
Links to other sites are not followed.
"""

import os
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
SKIPPED = {"build", "third_party"}


def documents(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        yield from (pathlib.Path(folder, f) for f in sorted(files) if f.endswith(".md"))


def without_code(text):
    text = FENCE.sub(lambda m: "\n" * m.group().count("\n"), text)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(document):
    """As GitHub makes them: lower case, punctuation dropped, blanks become hyphens."""
    text = FENCE.sub("", document.read_text())
    headings = re.findall(r"^#+ +(.*?) *#*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def leads_nowhere(document, link):
    if re.match(r"[a-z]+:", link):
        return False
    path, _, anchor = link.partition("#")
    target = document.parent / path if path else document
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target)


def main(root):
    bad = 0
    for document in documents(root):
        for number, line in enumerate(without_code(document.read_text()).splitlines(), 1):
            for match in LINK.finditer(line):
                link = match.group(1) or match.group(2)
                if leads_nowhere(document, link):
                    print(f"{document}:{number}: {link}")
                    bad = 1
    sys.exit(bad)


main(*sys.argv[1:])
