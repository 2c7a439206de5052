#!/usr/bin/env python3
"""Checks that the README shows the program that is compiled.

usage: readme_snippet.py README.md example.cpp

The lines between the two "// [readme]" marks of the example must be the README's first ```cpp block.
"""

import difflib
import pathlib
import re
import sys


def main(readme, example):
    parts = re.split(r"^// \[readme\]\n", pathlib.Path(example).read_text(), flags=re.MULTILINE)
    block = re.search(r"^```cpp\n(.*?)^```$", pathlib.Path(readme).read_text(), re.MULTILINE | re.DOTALL)
    if len(parts) != 3 or block is None:
        sys.exit(f"{example} needs two // [readme] marks, and {readme} a ```cpp block")
    difference = difflib.unified_diff(
        block.group(1).splitlines(), parts[1].splitlines(), readme, example, lineterm=""
    )
    text = "\n".join(difference)
    if text:
        sys.exit(text)


main(*sys.argv[1:])
