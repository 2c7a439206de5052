#!/usr/bin/env python3
"""Finds files that a page names and that do not exist.

Looks at every .md file but the change log, at text and blocks alike, for what ends in .hpp, .cpp, .py, .sh or .cmake. A path starts at
the project, include/, src/ or the page's own folder; `lane.hpp` without a folder must exist somewhere in the project. Pages may
name files that a reader is to make; these are listed below.

usage: paths.py [ROOT]
"""

import pathlib
import re

import sources
from sources import Finding

NAMED = re.compile(r"(?<![\w./-])((?:\.\./)*(?:[\w-]+/)*[\w-]+\.(?:hpp|cpp|py|sh|cmake))(?![\w/]|\.\w)")
PATTERN = re.compile(r"[*<>{]")
# page: files that its reader makes
MADE_BY_READERS = {}


def exists(root, page, name, known):
    if "/" not in name:
        return name in known
    places = (root, pathlib.Path(root, "include"), pathlib.Path(root, "src"), page.parent)
    return any(pathlib.Path(place, name).exists() for place in places)


def check(root):
    known = {path.name for path in sources.below(root, (".hpp", ".cpp", ".py", ".sh", ".cmake"), (".",))}
    for page in sources.documents(root):
        name = sources.name_of(page, root)
        if name == "CHANGELOG.md" or name.startswith("docs/decisions/"):  # these tell what was true when they were written
            continue
        for number, line in enumerate(sources.read(page).splitlines(), 1):
            for match in NAMED.finditer(line):
                before = line[: match.start()]
                if before and PATTERN.match(before[-1]):  # part of a pattern such as tests/*.cpp
                    continue
                if match[1] not in MADE_BY_READERS.get(name, ()) and not exists(root, page, match[1], known):
                    yield Finding(name, number, f"there is no {match[1]}")


if __name__ == "__main__":
    sources.main(check, __doc__)
