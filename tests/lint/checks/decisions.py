#!/usr/bin/env python3
"""Finds decisions that are cited and do not exist, or are about something else.

A page or comment cites a decision by `decisions/0007`, by a link to its file, or as `decision 7`. The page must exist, and the
sentence around the citation must share a significant word with its title: a number that has drifted is found that way.
docs/decisions/README.md lists every page with its title.

usage: decisions.py [ROOT]
"""

import re

import sources
from sources import Finding

CITED = re.compile(r"decisions?/(\d{4})\b[\w-]*(?:\.md)?|\]\((\d{4})-[\w-]+\.md|\bdecisions?\s+(?:page\s+)?#?(\d{1,4})\b", re.IGNORECASE)
WORD = re.compile(r"[a-z]{3,}")
COMMON = set("the and for that with are was what who not its into where from this they them their but has have had how one two "
             "while than then when which whom you your all any will can may see why decision decisions docs".split())


def significant(text):
    """Words of a text, cut to a stem that forms of a word share."""
    return {word[:4] for word in WORD.findall(text.lower()) if word not in COMMON}


def titles(root):
    found = {}
    for page in sources.documents(root):
        if match := re.fullmatch(r"docs/decisions/(\d{4})-.*\.md", sources.name_of(page, root)):
            found[int(match[1])] = re.sub(r"^#\s*\d*\s*", "", sources.read(page).splitlines()[0])
    return found


def sentence(text, begin, end):
    """The sentence, or the row of a table, around a citation, without addresses of links."""
    breaks = [m.end() for m in re.finditer(r"[.!?](?=\s)|\n\s*\n|\n(?=\s*[-|*#])", text)]
    start = max([0, *(b for b in breaks if b <= begin)])
    stop = min([len(text), *(b for b in breaks if b > end)])
    return re.sub(r"\]\([^)]*\)|\S*decisions?/\S*", " ", text[start:stop])


def cited(root):
    """Texts that may cite, as (name, text)."""
    for page in sources.documents(root):
        if sources.name_of(page, root) != "CHANGELOG.md":
            yield sources.name_of(page, root), sources.without_blocks(sources.read(page))
    for path in sources.code_files(root):
        yield sources.name_of(path, root), sources.comments(sources.read(path))


def check(root):
    known = titles(root)
    for name, text in cited(root):
        for match in CITED.finditer(text):
            number, line = int(match[1] or match[2] or match[3]), sources.line_of(text, match.start())
            if number not in known:
                yield Finding(name, line, f"there is no decision {number:04}")
            elif not significant(sentence(text, match.start(), match.end())) & significant(known[number]):
                yield Finding(name, line, f"says nothing of decision {number:04}, which is “{known[number]}”")
    index = [sources.read(page) for page in sources.documents(root) if sources.name_of(page, root) == "docs/decisions/README.md"]
    for number, title in known.items():
        if not any(title.replace("`", "") in text.replace("`", "") for text in index):
            yield Finding("docs/decisions/README.md", 1, f"lacks {number:04}, or its title: {title}")


if __name__ == "__main__":
    sources.main(check, __doc__)
