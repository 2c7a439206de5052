#!/usr/bin/env python3
"""Finds includes that go up: `"../kit/report.hpp"` is `"bench/kit/report.hpp"`, from the top of the project.

An example may go up within its own folder, because its readers copy that folder.

usage: includes.py [ROOT]
"""

import pathlib

import layers
import sources
from sources import Finding


def within_example(root, path, included):
    parts = sources.name_of(path, root).split("/")
    if parts[0] != "examples" or len(parts) < 3:
        return False
    own = pathlib.Path(root, *parts[:2]).resolve()
    return (path.parent / included).resolve().is_relative_to(own)


def check(root):
    for path in sources.code_files(root):
        for line, _, included in layers.includes_of(sources.read(path)):
            if ".." in included.split("/") and not within_example(root, path, included):
                yield Finding(sources.name_of(path, root), line, f"{included} goes up: name it from the top of the project")


if __name__ == "__main__":
    sources.main(check, __doc__)
