#!/usr/bin/env python3
"""Finds things that the README says are not there, and that are.

Looks at "What is not there yet": words in bold, and those after "no". None of them may be the name of a function of a group or a node,
or of a choice in the options of groups.

usage: missing.py [ROOT]
"""

import pathlib
import re

import sources
from sources import Finding

PAGE, HEADING = "README.md", "## What is not there yet"
FUNCTIONS = ("include/scoll/collective/group.hpp", "include/scoll/detail/any_group.hpp", "include/scoll/node.hpp")
CHOICES = "include/scoll/collective/options.hpp"
DENIED = re.compile(r"\*\*(.+?)\*\*|\b[Nn]o (\w+)", re.DOTALL)


def code_of(root, name):
    file = pathlib.Path(root, name)
    return sources.without_comments(sources.read(file)) if file.exists() else ""


def names(root):
    found = {name for header in FUNCTIONS for name in re.findall(r"\b(\w+)\(", code_of(root, header))}
    for body in re.findall(r"\benum class \w+[^{;]*\{([^}]*)\}", code_of(root, CHOICES)):
        found.update(re.findall(r"\w+", body))
    return found


def check(root):
    page = pathlib.Path(root, PAGE)
    text = sources.read(page) if page.exists() else ""
    start = text.find(HEADING + "\n")
    if start < 0:
        return
    known = names(root)
    section = re.split(r"^## ", text[start + len(HEADING) :], maxsplit=1, flags=re.MULTILINE)[0]
    for match in DENIED.finditer(section):
        for word in re.findall(r"\w+", (match[1] or match[2]).lower()):
            if word in known:
                line = sources.line_of(text, start + len(HEADING) + match.start())
                yield Finding(PAGE, line, f"says that there is no {word}, and there is")


if __name__ == "__main__":
    sources.main(check, __doc__)
