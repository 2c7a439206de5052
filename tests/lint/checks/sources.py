"""What the checks share: the project's files, what of them is comment and what is code, and fenced blocks.

A check is an executable file in this folder with a function `check(root)` that yields findings. It needs no entry anywhere:
ctest runs it as `lint/<name>`, and `./dev lint` runs it too. tests/lint/checks_test.py shows each of them red.
"""

import os
import pathlib
import re
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDERS = ("include", "src", "tools", "examples", "bench", "tests")
SKIPPED = {"build", "third_party"}
COMMENT_OR_LITERAL = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)


class Finding(NamedTuple):
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class Block(NamedTuple):
    """A fenced block: `line` is that of its first line of content."""

    line: int
    language: str
    code: str
    closed: bool


def below(root, suffixes, folders=FOLDERS):
    """Files of the folders with one of the suffixes, in order."""
    for folder in folders:
        for place, inner, names in os.walk(pathlib.Path(root, folder)):
            inner[:] = sorted(f for f in inner if f not in SKIPPED and not f.startswith((".", "__")))
            yield from (pathlib.Path(place, n) for n in sorted(names) if n.endswith(suffixes))


def code_files(root, folders=FOLDERS):
    return below(root, (".hpp", ".cpp"), folders)


def documents(root):
    return below(root, (".md",), (".",))


def name_of(path, root):
    return pathlib.Path(path).resolve().relative_to(pathlib.Path(root).resolve()).as_posix()


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def blank(text):
    """As many lines and columns of nothing."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(source):
    return COMMENT_OR_LITERAL.sub(lambda m: blank(m[0]) if m["comment"] else m[0], source)


def without_comments_and_literals(source):
    return COMMENT_OR_LITERAL.sub(lambda m: blank(m[0]), source)


def comments(source):
    """All that is not comment is blank; runs of line comments are text without their slashes."""
    parts, end = [], 0
    for match in COMMENT_OR_LITERAL.finditer(source):
        if match["comment"]:
            parts += [blank(source[end : match.start()]), re.sub(r"^(//+[<!]?|/\*)|\*/$", lambda m: blank(m[0]), match[0])]
            end = match.end()
    return "".join(parts) + blank(source[end:])


def fenced_blocks(text):
    """Every fenced block of a Markdown text, also one that is never closed."""
    lines, start = text.splitlines(), None
    for number, line in enumerate(lines, 1):
        if start is None and (match := re.match(r"\s*(```+|~~~+)\s*(\S*)", line)):
            start, fence, language = number, match[1], match[2]
        elif start is not None and line.strip() == fence:
            yield Block(start + 1, language, "\n".join(lines[start : number - 1]) + "\n", True)
            start = None
    if start is not None:
        yield Block(start + 1, language, "\n".join(lines[start:]) + "\n", False)


def without_blocks(text):
    """Markdown with nothing in place of its fenced blocks."""
    lines = text.splitlines()
    for block in fenced_blocks(text):
        count = block.code.count("\n") + (1 if block.closed else 0)
        for index in range(block.line - 2, min(block.line - 1 + count, len(lines))):
            lines[index] = ""
    return "\n".join(lines) + "\n"


def docstring_text(source):
    """The text of `///` comments, line by line; other lines are a line of hyphens, which no fence goes beyond."""
    found = (re.match(r"\s*///(?!<) ?(.*)", line) for line in source.splitlines())
    return [match[1] if match else None for match in found]


def docstring_blocks(source):
    """Every fenced block in a `///` comment. It ends with the comment at the latest."""
    lines = docstring_text(source) + [None]
    begin = 0
    for index, line in enumerate(lines):
        if line is None:
            for block in fenced_blocks("\n".join(lines[begin:index])):
                yield block._replace(line=block.line + begin)
            begin = index + 1


def main(check, documentation, advice=""):
    """Runs a check over the project, or over the root that is given, and ends with 1 if it found anything."""
    if len(sys.argv) > 2 or any(a.startswith("-") for a in sys.argv[1:]):
        sys.exit(documentation)
    findings = list(check(pathlib.Path(sys.argv[1]) if len(sys.argv) == 2 else ROOT))
    for finding in findings:
        print(finding)
    if findings and advice:
        print(advice)
    sys.exit(1 if findings else 0)
