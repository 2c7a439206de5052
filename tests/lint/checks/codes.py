#!/usr/bin/env python3
"""Finds private codes such as `C12` or (X4) in comments and pages: a reader cannot look them up, so words belong in their place.

A letter out of those that were used with a number, in parentheses or backticks. Names of code that look like one are told from
them by standing in code.

usage: codes.py [ROOT]
"""

import re

import sources
from sources import Finding

CODE = re.compile(r"(?<![\w`])(?:\(|`|\(`)(?P<first>[CFGTX]\d{1,2})`?(?:(?:, | and |/|–|-)`?[CFGTX]\d{1,2}`?)*(?:`|\)|(?=[,;: ]))")


def check(root):
    for path in sources.code_files(root, ("include", "src", "tools", "examples")):
        text = sources.comments(sources.read(path))
        yield from (Finding(sources.name_of(path, root), sources.line_of(text, m.start()), f"{m[0]} means nothing to a reader")
                    for m in CODE.finditer(text))
    for page in sources.documents(root):
        name = sources.name_of(page, root)
        if name.startswith(("docs/", "examples/")) or name in ("README.md", "CONTRIBUTING.md"):
            text = sources.without_blocks(sources.read(page))
            yield from (Finding(name, sources.line_of(text, m.start()), f"{m[0]} means nothing to a reader") for m in CODE.finditer(text))


if __name__ == "__main__":
    sources.main(check, __doc__)
