#!/usr/bin/env python3
"""Keeps files short, and says what only once.

  long    a header of more than 300 lines, or a source of more than 450, in include/, src/, tools/ or examples/
  wide    a line of a `///` comment in include/ that has more than 110 columns, which the formatter leaves as it is
  twice   twelve lines of code in a row that stand in two places of include/ and src/; blank lines, comments, includes,
          lines of punctuation and declarations of what an interface asks for (`override;`) do not count

usage: structure.py [ROOT]
"""

import re

import sources
from sources import Finding

DECLARATION = re.compile(r"[^;{}]+;")
HEADER_LINES, SOURCE_LINES, REPEATED_LINES = 300, 450, 12
COLUMNS = 110


def too_long(root):
    for path in sources.code_files(root, ("include", "src", "tools", "examples")):
        name, lines = sources.name_of(path, root), len(sources.read(path).splitlines())
        limit = HEADER_LINES if path.suffix == ".hpp" else SOURCE_LINES
        if lines > limit:
            yield Finding(name, limit + 1, f"{lines} lines, but {limit} at most: split it by subject")


def too_wide(root):
    for path in sources.below(root, (".hpp",), ("include",)):
        for number, line in enumerate(sources.read(path).splitlines(), 1):
            if len(line) > COLUMNS and "///" in line:
                yield Finding(sources.name_of(path, root), number, f"{len(line)} columns, but {COLUMNS} at most: wrap the comment")


def counted_lines(source):
    """The lines of code that count, as (number, text)."""
    code = DECLARATION.sub(
        lambda m: sources.blank(m[0]) if m[0].endswith(" override;") else m[0], sources.without_comments(source)
    )
    for number, line in enumerate(code.splitlines(), 1):
        text = " ".join(line.split())
        if re.search(r"\w", text) and not re.match(r"#\s*(include|pragma)\b", text):
            yield number, text


def repeated(root):
    """Each place that repeats an earlier one, as (name, line, length, earlier name, earlier line)."""
    seen = {}
    for path in sources.code_files(root, ("include", "src")):
        name, lines = sources.name_of(path, root), list(counted_lines(sources.read(path)))
        running = None
        for index in range(len(lines) - REPEATED_LINES + 1):
            window = tuple(text for _, text in lines[index : index + REPEATED_LINES])
            first = seen.setdefault(window, (name, lines[index][0], index))
            if first[0] == name and abs(index - first[2]) < REPEATED_LINES:
                first = None
            if running and first and first[0] == running[3] and first[2] == running[5] + 1:
                running = (*running[:2], running[2] + 1, *running[3:5], first[2])
                continue
            if running:
                yield running[:5]
            running = (name, lines[index][0], REPEATED_LINES, first[0], first[1], first[2]) if first else None
        if running:
            yield running[:5]


def check(root):
    yield from too_long(root)
    yield from too_wide(root)
    for name, line, length, earlier, at in repeated(root):
        yield Finding(name, line, f"{length} lines of code stand at {earlier}:{at} as well: give them one place")


if __name__ == "__main__":
    sources.main(check, __doc__)
