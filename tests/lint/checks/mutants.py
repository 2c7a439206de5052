#!/usr/bin/env python3
"""Finds sites of deliberate bugs in headers, and sources with such sites that do not include what defines them.

The simulator is compiled once and linked with a library that has these bugs and with one that has none, so what it inlines must
be the same in both.

usage: mutants.py [ROOT]
"""

import re

import sources
from sources import Finding

SITE = re.compile(r"\bSCOLL_MUTANT\(")
DEFINED_IN = "src/scoll/coro/mutants.hpp"
INCLUDED = '#include "scoll/coro/mutants.hpp"'


def check(root):
    for path in sources.below(root, (".hpp",), ("include", "src", "tools")):
        name = sources.name_of(path, root)
        if name == DEFINED_IN:
            continue
        text = sources.without_comments(sources.read(path))
        for site in SITE.finditer(text):
            yield Finding(name, sources.line_of(text, site.start()), "a deliberate bug is in a header: move the function to a source")
    for path in sources.below(root, (".cpp",), ("src", "tools")):
        text = sources.read(path)
        site = SITE.search(text)
        if site and INCLUDED not in text:
            yield Finding(sources.name_of(path, root), sources.line_of(text, site.start()), f"add {INCLUDED}")


if __name__ == "__main__":
    sources.main(check, __doc__)
