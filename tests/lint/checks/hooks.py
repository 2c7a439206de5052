#!/usr/bin/env python3
"""Finds hooks of services that the page about services does not show.

A hook is what include/scoll/detail/service_traits.hpp looks for in a service (`names_execute`). Each has a row in the table below
"The hooks" of docs/writing-a-service.md, which begins with its name and its parameters, and each row is about a hook.

usage: hooks.py [ROOT]
"""

import pathlib
import re

import sources
from sources import Finding

TRAITS, PAGE, HEADING = "include/scoll/detail/service_traits.hpp", "docs/writing-a-service.md", "## The hooks"
NAMED = re.compile(r"\bconcept names_(\w+)\s*=")
ROW = re.compile(r"^\| `(\w+)\(", re.MULTILINE)


def check(root):
    traits, page = pathlib.Path(root, TRAITS), pathlib.Path(root, PAGE)
    if not traits.exists() and not page.exists():
        return
    hooks = NAMED.findall(sources.without_comments(sources.read(traits)))
    text = sources.read(page)
    start = text.find(HEADING + "\n")
    if start < 0:
        yield Finding(PAGE, 1, f"has no section {HEADING.strip('# ')}")
        return
    line = sources.line_of(text, start)
    section = re.split(r"^## ", text[start + len(HEADING) :], maxsplit=1, flags=re.MULTILINE)[0]
    shown = ROW.findall(section)
    yield from (Finding(PAGE, line, f"the table of hooks has no row for {hook}") for hook in hooks if hook not in shown)
    yield from (Finding(PAGE, line, f"the table has a row for {name}, which is no hook") for name in shown if name not in hooks)


if __name__ == "__main__":
    sources.main(check, __doc__)
