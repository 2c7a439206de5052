#!/usr/bin/env python3
"""Finds patches of chosen bugs that do not apply to the sources any more.

The patches in tests/tools/scoll-sim/bugs apply together, in the order of their names. They are tried on a copy of src.

usage: chosen_bugs.py [ROOT]
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

import sources
from sources import Finding

# The copy is in no repository, whatever surrounds it.
OUTSIDE = os.environ | {"GIT_DIR": os.devnull}
FOLDER = "tests/tools/scoll-sim/bugs"


def check(root):
    patches = sorted(pathlib.Path(root, FOLDER).glob("*.patch"))
    if not patches:
        return
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(pathlib.Path(root, "src"), pathlib.Path(copy, "src"))
        for patch in patches:
            tried = subprocess.run(["git", "apply", patch.resolve()], cwd=copy, env=OUTSIDE, capture_output=True, check=False)
            if tried.returncode != 0:
                yield Finding(f"{FOLDER}/{patch.name}", 1, "does not apply; adapt it to the sources so that it has the same bug")


if __name__ == "__main__":
    sources.main(check, __doc__)
