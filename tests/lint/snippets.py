#!/usr/bin/env python3
"""Checks that documents show the code that is compiled.

usage: snippets.py ROOT            exit code 1, and a difference, for every block that is not what its source says
       snippets.py --write ROOT    puts the sources' lines into the blocks
       snippets.py --self-test     checks this program

In an .md file, the line

    <!-- from: examples/guide/step_1.cpp [service] -->

stands above a fenced block of code, which must have the lines between the two lines "// [service]" of that file,
without their common indentation. Without a name in brackets, it must be the whole file. Lines that mark other parts
are left out.
"""

import difflib
import os
import pathlib
import re
import sys
import tempfile
import textwrap

MARK = re.compile(r"^\s*// \[\w+\]$")
BLOCK = re.compile(
    r"^<!-- from: (?P<path>\S+)(?: \[(?P<part>\w+)\])? -->\n+```\w*\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
MARKER = re.compile(r"^<!-- from: ", re.MULTILINE)
SKIPPED = {"build", "third_party"}


def documents(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        yield from (pathlib.Path(folder, f) for f in sorted(files) if f.endswith(".md"))


def lines_of(source, part):
    """The lines of a part of a file, or an explanation why there are none."""
    if not source.is_file():
        return None, "there is no such file"
    lines = source.read_text().splitlines()
    if part is not None:
        marks = [i for i, line in enumerate(lines) if line.strip() == f"// [{part}]"]
        if len(marks) != 2:
            return None, f"it needs two lines '// [{part}]' and has {len(marks)}"
        lines = lines[marks[0] + 1 : marks[1]]
    text = "\n".join(line for line in lines if not MARK.match(line))
    return textwrap.dedent(text).strip("\n").splitlines(), None


def check(document, root, write=False):
    """Complaints about one document, which is corrected if it is to be written."""
    complaints = []
    text = document.read_text()

    def one(match):
        name = f"{document.relative_to(root)}: {match['path']} [{match['part'] or 'all'}]"
        wanted, why = lines_of(root / match["path"], match["part"])
        if wanted is None:
            complaints.append(f"{name}: {why}")
            return match.group()
        shown = match["code"].splitlines()
        if shown == wanted:
            return match.group()
        if not write:
            difference = difflib.unified_diff(shown, wanted, str(document.relative_to(root)), match["path"], lineterm="")
            complaints.append("\n".join(difference))
        before = match.group()[: match.start("code") - match.start()]
        return before + "".join(line + "\n" for line in wanted) + "```"

    corrected = BLOCK.sub(one, text)
    if len(MARKER.findall(text)) != len(BLOCK.findall(text)):
        complaints.append(f"{document.relative_to(root)}: a '<!-- from:' line has no block of code below it")
    if write and corrected != text:
        document.write_text(corrected)
    return complaints


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "a.cpp").write_text("#include <x>\n  // [part]\n  int a;\n  // [inner]\n    int b;\n  // [part]\n")
        page = root / "page.md"

        def complaints(code, marker="a.cpp [part]"):
            page.write_text(f"Text.\n\n<!-- from: {marker} -->\n```cpp\n{code}```\n")
            return check(page, root)

        assert complaints("int a;\n  int b;\n") == []
        assert "+int a;" in complaints("int c;\n  int b;\n")[0]
        assert "two lines" in complaints("int a;\n", "a.cpp [other]")[0]
        assert "no such file" in complaints("int a;\n", "b.cpp [part]")[0]
        page.write_text("<!-- from: a.cpp [part] -->\nint a;\n")
        assert "no block" in check(page, root)[0]
        complaints("int c;\n")
        assert check(page, root, write=True) == [] and check(page, root) == []


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    write = "--write" in arguments
    root = pathlib.Path([a for a in arguments if a != "--write"][0])
    complaints = [c for document in documents(root) for c in check(document, root, write)]
    if complaints:
        sys.exit("\n".join(complaints))


main(sys.argv[1:])
