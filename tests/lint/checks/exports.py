#!/usr/bin/env python3
"""Finds public headers that scoll/scoll.hpp does not export, directly or through a feature header.

Looks at include/scoll and include/gossip. What templates need and no user names stands in a folder `detail`, or in the list below.
Either a header is for users, and then it is exported, or it belongs into src/.

usage: exports.py [ROOT]
"""

import pathlib
import re

import sources
from sources import Finding

EXPORT = re.compile(r'^#include "([^"]+)"\s*// IWYU pragma: export', re.MULTILINE)
FIRST = "scoll/scoll.hpp"
# Parts of the templates of coroutines, executors and errors.
PARTS = {f"scoll/coro/{name}.hpp" for name in
         ("assert", "caught", "frame_pool", "intrusive_list", "member_node", "member_timer", "ready_node", "waiter")}


def exported(root):
    found, waiting = set(), [FIRST]
    while waiting:
        name = waiting.pop()
        file = pathlib.Path(root, "include", name)
        if name not in found and file.exists():
            found.add(name)
            waiting += EXPORT.findall(sources.read(file))
    return found


def check(root):
    known = exported(root)
    for path in sources.below(root, (".hpp",), ("include/scoll", "include/gossip")):
        name = path.relative_to(pathlib.Path(root, "include")).as_posix()
        if "detail" not in path.parent.parts and name not in known | PARTS:
            yield Finding(f"include/{name}", 1, f"no feature header exports it to {FIRST}: export it, or move it to src/")


if __name__ == "__main__":
    sources.main(check, __doc__)
