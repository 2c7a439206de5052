#!/usr/bin/env python3
"""Lists sentences in comments and pages that show signs of being hard to read.

usage: prose.py --list [ROOT]     prints <file>:<line>: <sign>: <the sentence's beginning>, and how many of each there are
       prose.py --self-test

Not a check: it prints what to look at. A sentence may be right though it is listed.
"""

import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "checks"))
import sources

FOLDERS = ("include", "src", "tools", "examples", "bench", "tests")
BEGINNING = re.compile(r"(Of|Who|Those|Whether|What|Also by|Nobody|Whoever|Which)\b(?!\?)")
INSIDE = {
    "that is none": re.compile(r"\bthat (?:is|are) none\b"),
    "such that nobody": re.compile(r"\bsuch that nobody\b"),
    "who without a noun": re.compile(r"(?:^|[,;:(] |\band |\bor |\bto |\bfor |\bof |\bby )who (?!(?:it|he|she|they|you|we|I) )\w+s?\b"),
    "nobody is": re.compile(r"\b[Nn]obody(?:'s)? (?:is|are|has|can|may) \w+ who\b"),
    "that is nobody's": re.compile(r"\bnobody's\b"),
}
LINE_COMMENT = re.compile(r"^\s*//[/!<]*\s?(.*)$")


def comment_paragraphs(source):
    """Runs of comment lines as (line, text); a trailing comment is one by itself."""
    run, start = [], 0
    for number, line in enumerate([*source.splitlines(), ""], 1):
        match = LINE_COMMENT.match(line)
        if match and match[1].strip():
            start = start if run else number
            run.append(match[1].strip())
            continue
        if run:
            yield start, run
            run = []
        if not match and (trailing := re.search(r"[;{},)]\s*//+[<!]?\s*(\S.*)$", line)):
            yield number, [trailing[1]]


def page_paragraphs(text):
    run, start = [], 0
    for number, line in enumerate([*sources.without_blocks(text).splitlines(), ""], 1):
        words = re.sub(r"^\s*(?:[-*>]|\d+\.|#+)\s+", "", line).strip()
        ends = not words or words != line.strip() or words.startswith(("|", "<!--"))
        if ends and run:
            yield start, run
            run = []
        if words.startswith("|"):
            yield from ((number, [cell.strip()]) for cell in words.strip("|").split("|") if cell.strip(" -:"))
        elif words and not words.startswith("<!--"):
            start = start if run else number
            run.append(words)


def sentences(start, lines):
    """Sentences of a paragraph, as (line, text)."""
    text = " ".join(lines)
    ends, total = [], 0
    for line in lines:
        total += len(line) + 1
        ends.append(total)
    for match in re.finditer(r"\S.*?(?:[.!?:](?=\s+[A-Z`*])|$)", text):
        yield start + next(i for i, end in enumerate(ends) if match.start() < end), match[0]


def signs(sentence):
    bare = re.sub(r"^[*_`\"(]+", "", sentence)
    if (match := BEGINNING.match(bare)) and not sentence.rstrip(" *_").endswith("?"):
        yield f"begins with {match[1]}"
    for name, pattern in INSIDE.items():
        if pattern.search(bare):
            yield name


def texts(root):
    for path in sources.code_files(root, FOLDERS):
        yield path, comment_paragraphs(sources.read(path))
    for page in sources.documents(root):
        if sources.name_of(page, root) != "CHANGELOG.md":
            yield page, page_paragraphs(sources.read(page))


def listed(root):
    for path, paragraphs in texts(root):
        for start, lines in paragraphs:
            for line, sentence in sentences(start, lines):
                for sign in signs(sentence):
                    yield sources.name_of(path, root), line, sign, sentence


def self_test():
    source = "// Takes it. Of those\n// nobody is asked.\nint a;  // an access that is none\n// This is one. What is this?\n"
    page = "# What holds\n\n- Who waits, waits. It is given to who asks.\n\n| Those who fail | a |\n\n```\nOf code\n```\n"
    found = [(line, sign) for make, text in ((comment_paragraphs, source), (page_paragraphs, page))
             for start, lines in make(text) for line, sentence in sentences(start, lines) for sign in signs(sentence)]
    wanted = [(1, "begins with Of"), (3, "that is none"), (1, "begins with What"), (3, "begins with Who"),
              (3, "who without a noun"), (5, "begins with Those")]
    return f"found {found}" if found != wanted else None


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if arguments[:1] != ["--list"] or len(arguments) > 2:
        return __doc__
    count = collections.Counter()
    for name, line, sign, sentence in listed(pathlib.Path(arguments[1]) if len(arguments) == 2 else sources.ROOT):
        print(f"{name}:{line}: {sign}: {sentence[:100]}")
        count[sign] += 1
    print(", ".join(f"{number} {sign}" for sign, number in count.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
