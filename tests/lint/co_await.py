#!/usr/bin/env python3
"""Finds uses of co_await that a supported compiler miscompiles.

  condition   co_await in the condition of if, while, switch, for or do: GCC 12 corrupts the frame.
              Name the result first, or use an initialiser: if (auto r = co_await x; !r)
  ternary     co_await beside ?: in one full expression: GCC 12 destroys the temporary twice.
              Name the choice first: const auto chosen = c ? a : b;
  binding     a structured binding of a co_await: GCC 15 and 16 corrupt it. Name the result first.

usage: co_await.py FILE...            prints <file>:<line>: <trap>, exit code 1 when there are any
       co_await.py --target LIST      the same for the C++ sources that the file LIST names, line by line, and for
                                      what they include in quotes; other lines of it are "-I<folder>" (where to look for
                                      that) and "--below <folder>" (nothing outside of it is read)
           [--stamp FILE]             is written when there are none, and beside it FILE.d, which says what was read
       co_await.py --expect FILE      checks that exactly the lines that say "// trap: <trap>" are found
"""

import os
import re
import sys

AWAIT = re.compile(r"\bco_await\b")
COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
CONTROL = re.compile(r"\b(if|while|switch|for)\b\s*(?:constexpr\s*)?\(")
BINDING = re.compile(r"\bauto\s*(?:const\s*)?&{0,2}\s*\[[^\]]*\]\s*[={(]\s*(?=co_await\b)")
LAMBDA = re.compile(
    r"\[[^\[\]]*\]\s*(?:<[^<>]*>\s*)?(?:\((?:[^()]|\([^()]*\))*\)\s*)?"
    r"(?:(?:mutable|constexpr|static|noexcept)\s*)*(?:->[\w:<>,&*\s]+)?$"
)
TAKES_BRACES = re.compile(r"[\w>=,]$|\breturn$")
NEVER_BEFORE_BRACES = re.compile(r"\b(?:else|do|try|const|noexcept|override|final|mutable)$")
DECLARATION = re.compile(r"\s*(?:struct|class|enum|union|namespace|template|extern)\b")
VALUE = re.compile(r"\?|\bco_await\b|\b(?:co_)?return\b|(?<![=!<>])=(?!=)")
SOURCE = re.compile(r"\.(?:c|h|cc|hh|cpp|hpp|cxx|hxx|c\+\+|h\+\+|ipp|inl|tpp|cppm|ixx)$", re.IGNORECASE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
ADVICE = {
    "condition": "in a condition, where GCC 12 corrupts the frame: name the result first",
    "ternary": "beside ?:, where GCC 12 destroys a temporary twice: name the choice first",
    "binding": "in a structured binding, which GCC 15 and 16 corrupt: name the result first",
}


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


def is_initialiser(text):
    """Whether a brace behind this beginning of a statement opens a value and no block."""
    tail = text.rstrip()
    if not TAKES_BRACES.search(tail) or NEVER_BEFORE_BRACES.search(tail) or DECLARATION.match(text):
        return False
    return VALUE.search(text) is not None and "->" not in tail[tail.rfind(")") + 1 :]


class Expression:
    """A full expression as it is read: bodies of lambdas are blank in it, and are read by themselves."""

    def __init__(self, start):
        self.start, self.text, self.open, self.blocks = start, [], [], 0

    def take(self, end):
        """What has been read, if it is anything; the next one begins at `end`."""
        start, text = self.start, "".join(self.text)
        self.start, self.text = end, []
        return [(start, text)] if text.strip() else []


def full_expressions(code):
    """Every full expression as (offset, text). Initialisers in braces are part of theirs."""
    found, outer, now = [], [], Expression(0)
    for index, char in enumerate(code):
        if char == "{":
            text = "".join(now.text)
            if LAMBDA.search(text.rstrip()):
                now.text.append(" ")
                outer.append(now)
                now = Expression(index + 1)
                continue
            if not now.open and not is_initialiser(text):
                now.blocks += 1
                found += now.take(index + 1)
                continue
        if char == "}" and (not now.open or now.open[-1] != "{"):
            found += now.take(index + 1)
            if now.blocks > 0:
                now.blocks -= 1
            elif outer:
                now = outer.pop()
                now.text += " " * (index + 1 - now.start - len(now.text))
            continue
        if char == ";":
            now.text.append(" ")
            found += now.take(index + 1)
            continue
        if char in "([{":
            now.open.append(char)
        elif char in ")]}" and now.open:
            now.open.pop()
        now.text.append(char)
    return found + now.take(len(code))


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
    for offset, text in full_expressions(code):
        if "?" in text:
            for match in AWAIT.finditer(text):
                note(offset + match.start(), "ternary")
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


def read_target(path):
    """The files of a target, with what they include in quotes, as far as it lies below the folder named."""
    files, folders, below = [], [], os.sep
    for line in read(path).splitlines():
        if line.startswith("-I"):
            folders.append(line[2:])
        elif line.startswith("--below "):
            below = os.path.abspath(line[8:])
        elif SOURCE.search(line):
            files.append(os.path.abspath(line))
    seen = dict.fromkeys(files)
    for file in files:  # grows
        for name in INCLUDE.findall(read(file)):
            candidates = (os.path.abspath(os.path.join(folder, name)) for folder in [os.path.dirname(file), *folders])
            included = next((c for c in candidates if os.path.isfile(c)), None)
            if included and included not in seen and included.startswith(below.rstrip(os.sep) + os.sep):
                seen[included] = None
                files.append(included)
    return files


def write_stamp(path, files):
    with open(path + ".d", "w", encoding="utf-8") as depfile:
        depfile.write(" ".join(name.replace(" ", "\\ ") for name in [path + ":", *files]) + "\n")
    with open(path, "w", encoding="utf-8"):
        pass


def report(files):
    failed = 0
    for path in files:
        for line, trap in sorted(find_traps(read(path))):
            print(f"{path}:{line}: co_await {ADVICE[trap]}")
            failed = 1
    return failed


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--expect":
        return check_expectations(arguments[1])
    if len(arguments) in (2, 4) and arguments[0] == "--target" and arguments[2:3] in ([], ["--stamp"]):
        files = read_target(arguments[1])
        failed = report(files)
        if not failed and len(arguments) == 4:
            write_stamp(arguments[3], files)
        return failed
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    return report(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
