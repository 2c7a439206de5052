#!/usr/bin/env python3
"""Finds uses of co_await that a supported compiler miscompiles.

  condition   co_await in the condition of if, while, switch, for or do: GCC 12 corrupts the frame.
              Name the result first, or use an initialiser: if (auto r = co_await x; !r)
  ternary     co_await beside ?: in one full expression: GCC 12 destroys the temporary twice.
  binding     a structured binding of a co_await: GCC 15 and 16 corrupt it. Name the result first.

usage: co_await.py FILE...            prints <file>:<line>: <trap>, exit code 1 when there are any
       co_await.py --expect FILE      checks that exactly the lines that say "// trap: <trap>" are found
"""

import re
import sys

AWAIT = re.compile(r"\bco_await\b")
COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
CONTROL = re.compile(r"\b(if|while|switch|for)\b\s*(?:constexpr\s*)?\(")
BINDING = re.compile(r"\bauto\s*(?:const\s*)?&{0,2}\s*\[[^\]]*\]\s*[={(]\s*(?=co_await\b)")


def blank(match):
    """Keeps offsets and lines, so that findings point at the source."""
    return re.sub(r"[^\n]", " ", match.group())


def closing(text, opening):
    """The index of the parenthesis that closes the one at `opening`."""
    depth = 0
    for index in range(opening, len(text)):
        if text[index] == "(":
            depth += 1
        elif text[index] == ")":
            depth -= 1
            if depth == 0:
                return index
    return len(text)


def split_outside_brackets(text, separator):
    """Pieces of `text` as (offset, piece), cut where the separator stands outside all brackets."""
    pieces, start, depth = [], 0, 0
    for index, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == separator and depth == 0:
            pieces.append((start, text[start:index]))
            start = index + 1
    pieces.append((start, text[start:]))
    return pieces


def without_lambda_bodies(text):
    """Blanks braces and what they hold: a nested body is a function of its own."""
    out, depth = [], 0
    for char in text:
        depth += char == "{"
        out.append(char if depth == 0 or char == "\n" else " ")
        depth -= char == "}"
    return "".join(out)


def conditions(code):
    """Every condition as (offset, text)."""
    for match in CONTROL.finditer(code):
        opening = match.end() - 1
        inside = code[opening + 1 : closing(code, opening)]
        pieces = split_outside_brackets(inside, ";")
        if match.group(1) == "for":
            if len(pieces) == 3:
                yield opening + 1 + pieces[1][0], pieces[1][1]
        else:
            yield opening + 1 + pieces[-1][0], pieces[-1][1]


def find_traps(source):
    code = COMMENT_OR_LITERAL.sub(blank, source)
    traps = set()

    def note(offset, trap):
        traps.add((code.count("\n", 0, offset) + 1, trap))

    for offset, text in conditions(code):
        for match in AWAIT.finditer(without_lambda_bodies(text)):
            note(offset + match.start(), "condition")
    for match in BINDING.finditer(code):
        note(match.end(), "binding")
    for statement in re.finditer(r"[^;{}]+", code):
        if "?" in statement.group():
            for match in AWAIT.finditer(statement.group()):
                note(statement.start() + match.start(), "ternary")
    return traps


def expected_traps(source):
    found = set()
    for number, line in enumerate(source.splitlines(), 1):
        if match := re.search(r"// trap: (\w+)", line):
            found.add((number, match.group(1)))
    return found


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_expectations(path):
    source = read(path)
    expected, found = expected_traps(source), find_traps(source)
    for line, trap in sorted(expected ^ found):
        print(f"{path}:{line}: {trap} {'missed' if (line, trap) in expected else 'found where there is none'}")
    return int(expected != found or not expected)


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--expect":
        return check_expectations(arguments[1])
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    failed = 0
    for path in arguments:
        for line, trap in sorted(find_traps(read(path))):
            print(f"{path}:{line}: co_await: {trap} (tests/lint/co_await.py says why and what instead)")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
