#!/usr/bin/env python3
"""Keeps the folders of src/ and tests/ those of include/.

  room     a folder of src/ that is not one of include/ either, nor below one; a folder of tests/ about no folder of include/ or src/
           or, for programs, of tools/ or examples/
  beside   a source of a public header that stands neither in the header's folder nor in a folder of the header's name in there; the
           templates' headers, in a folder `detail`, have their sources with the subject

usage: folders.py [ROOT]
"""

import pathlib

import layers
import sources
from sources import Finding

LIBRARY, PROGRAMS = ("scoll", "transport", "gossip"), ("tools", "examples")
# folders of tests whose subjects stand in the folder above: the feature headers, and a node with its parts
ABOVE = ("scoll/headers", "scoll/node")


def folders_of(root, top):
    """The folders with code below one of the project's folders."""
    found = {path.parent.relative_to(pathlib.Path(root, top)).as_posix() for path in sources.code_files(root, (top,))}
    return sorted(found - {"."})


def rooms(root):
    def there(*places):
        return any(pathlib.Path(root, place).is_dir() for place in places)

    for folder in folders_of(root, "src"):
        if not there(f"include/{folder}", f"include/{pathlib.PurePosixPath(folder).parent}"):
            yield Finding(f"src/{folder}", 1, f"there is neither include/{folder} nor the folder above it")
    for folder in folders_of(root, "tests"):
        top = folder.split("/")[0]
        known = there(f"include/{folder}", f"src/{folder}") if top in LIBRARY else top not in PROGRAMS or there(folder)
        if not known and folder not in ABOVE:
            yield Finding(f"tests/{folder}", 1, "tests a folder that does not exist")


def beside(root):
    for path in sources.below(root, (".cpp",), ("src",)):
        name = sources.name_of(path, root)
        first = next((included for _, quoted, included in layers.includes_of(sources.read(path)) if quoted), "")
        header = pathlib.PurePosixPath(first)
        if header.stem != path.stem or "detail" in header.parts or not pathlib.Path(root, "include", header).exists():
            continue
        folder = path.parent.relative_to(pathlib.Path(root, "src"))
        if folder.as_posix() not in (header.parent.as_posix(), header.with_suffix("").as_posix()):
            yield Finding(name, 1, f"the header {header} stands in another folder")


def check(root):
    yield from rooms(root)
    yield from beside(root)


if __name__ == "__main__":
    sources.main(check, __doc__)
