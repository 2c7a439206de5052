#!/usr/bin/env python3
"""Fills the tables of docs/performance.md on what a hop costs from docs/profile.csv, and draws docs/images/profile.svg.

usage: profile_tables.py            writes both anew
       profile_tables.py --check    names what is not as the CSV has it instead, exit code 1 when anything is

`./dev bench profile` measures anew. A table stands between `<!-- profile: NAME -->` and `<!-- end of profile -->`.
"""

import csv
import pathlib
import re
import sys
from html import escape

DOCS = pathlib.Path(__file__).resolve().parents[1]
PAGE, ROWS, PICTURE = DOCS / "performance.md", DOCS / "profile.csv", DOCS / "images/profile.svg"
BLOCK = re.compile(r"(<!-- profile: (\w+) -->\n)(.*?)(<!-- end of profile -->)", re.DOTALL)
TITLES = {"instructions": "instructions in user space", "cpu_us": "µs of CPU"}
COLOURS = ["#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#999999", "#222222"]


def read():
    """{what: {place: {kind: value}}}, in the order of the file."""
    found = {}
    with ROWS.open(newline="") as file:
        for row in csv.DictReader(file):
            of_place = found.setdefault(row["of"], {}).setdefault(f"{row['job']}: {row['place']}", {})
            of_place[row["kind"]] = float(row["value"])
    return found


def shown(what, value):
    return f"{value:,.0f}" if what == "instructions" else f"{value:.1f}"


def table(what, places):
    kinds = list(next(iter(places.values())))
    lines = [["", *places], ["---", *("---:" for _ in places)]]
    lines += [[kind, *(shown(what, of[kind]) for of in places.values())] for kind in kinds]
    lines.append(["**together**", *(f"**{shown(what, sum(of.values()))}**" for of in places.values())])
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def bars(what, places, top):
    """A bar for each place, in one scale, with a key below."""
    left, width, bar, step = 130, 700, 22, 30
    widest = max(sum(of.values()) for of in places.values())
    text = lambda x, y, words, more="": f'<text x="{x}" y="{y}"{more}>{escape(words)}</text>'
    parts = [text(10, top, f"{TITLES[what]}, per operation", ' font-weight="bold"')]
    y = top + 12
    for place, of in places.items():
        x = float(left)
        parts.append(text(left - 8, y + 16, place, ' text-anchor="end"'))
        for colour, value in zip(COLOURS, of.values()):
            length = width * value / widest
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{bar}" fill="{colour}"/>')
            x += length
        parts.append(text(f"{x + 6:.1f}", y + 16, shown(what, sum(of.values()))))
        y += step
    for i, (colour, kind) in enumerate(zip(COLOURS, next(iter(places.values())))):
        x, line = left + i % 4 * 195, y + 6 + i // 4 * 20
        parts += [f'<rect x="{x}" y="{line}" width="12" height="12" fill="{colour}"/>', text(x + 18, line + 11, kind)]
    return parts, y + 80


def picture(found):
    parts, top = [], 26
    for what, places in found.items():
        more, top = bars(what, places, top)
        parts += more
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="920" height="{top - 30}" font-family="sans-serif" font-size="13">\n'
            '<rect width="100%" height="100%" fill="#ffffff"/>\n')
    return head + "\n".join(parts) + "\n</svg>\n"


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    found = read()
    page = PAGE.read_text()
    names = [match[2] for match in BLOCK.finditer(page)]
    wanted = {PAGE: BLOCK.sub(lambda m: m[1] + table(m[2], found[m[2]]) + m[4], page), PICTURE: picture(found)}
    if not arguments:
        for path, text in wanted.items():
            path.write_text(text)
        return 0
    wrong = [f"{path.name} is not what {ROWS.name} gives: run docs/images/profile_tables.py"
             for path, text in wanted.items() if path.read_text() != text]
    wrong += [f"{PAGE.name} has no table of {what}" for what in found if what not in names]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
