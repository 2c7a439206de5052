#!/usr/bin/env python3
"""Fills the tables of docs/performance.md on what a hop costs from docs/profile.csv, and those on what broadcasts take
above the raw tree from docs/excess.csv. Draws docs/images/profile.svg.

usage: profile_tables.py            writes both anew
       profile_tables.py --check    names what is not as the CSVs have it instead, exit code 1 when anything is

`./dev bench profile` measures anew. A table stands between `<!-- profile: NAME -->` and `<!-- end of profile -->`.
"""

import csv
import pathlib
import re
import sys
from html import escape

DOCS = pathlib.Path(__file__).resolve().parents[1]
PAGE, ROWS, PICTURE = DOCS / "performance.md", DOCS / "profile.csv", DOCS / "images/profile.svg"
EXCESS = DOCS / "excess.csv"
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


def read_excess():
    """{(nodes, size): {kind: {subject: µs}}}, in the order of the file."""
    found = {}
    with EXCESS.open(newline="") as file:
        for row in csv.DictReader(file):
            kinds = found.setdefault((int(row["nodes"]), int(row["size"])), {})
            kinds.setdefault(row["kind"], {})[row["subject"]] = float(row["us"])
    return found


def excess_table(case):
    """What each kind adds to the raw tree's CPU, and its part of the whole excess; the greatest first."""
    more = lambda of, subject: of[subject] - of["raw-tree"]
    whole = {subject: sum(more(of, subject) for of in case.values()) for subject in ("scoll", "scoll-plain")}
    part = lambda us, subject: f"{us:+.1f} | {100 * us / whole[subject]:.0f} %"
    lines = [["", "raw-tree", "scoll", "more", "part", "scoll-plain", "more", "part"], ["---", *["---:"] * 7]]
    for kind, of in sorted(case.items(), key=lambda each: -more(each[1], "scoll")):
        cells = [part(more(of, subject), subject) for subject in whole]
        lines.append([kind, f"{of['raw-tree']:.1f}", f"{of['scoll']:.1f}", cells[0], f"{of['scoll-plain']:.1f}", cells[1]])
    sums = {subject: sum(of[subject] for of in case.values()) for subject in ("raw-tree", *whole)}
    last = ["**together**", f"**{sums['raw-tree']:.1f}**"]
    for subject, us in whole.items():
        last += [f"**{sums[subject]:.1f}**", f"**{us:+.1f}**", f"×{sums[subject] / sums['raw-tree']:.2f}"]
    lines.append(last)
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def tables():
    """Each by the name that its place in the page has."""
    made = {what: table(what, places) for what, places in read().items()}
    made |= {f"excess_{nodes}_{size}": excess_table(case) for (nodes, size), case in read_excess().items()}
    return made


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
    made = tables()
    wanted = {PAGE: BLOCK.sub(lambda m: m[1] + made[m[2]] + m[4], page), PICTURE: picture(found)}
    if not arguments:
        for path, text in wanted.items():
            path.write_text(text)
        return 0
    wrong = [f"{path.name} is not what the CSVs give: run docs/images/profile_tables.py"
             for path, text in wanted.items() if path.read_text() != text]
    wrong += [f"{PAGE.name} has no table of {what}" for what in made if what not in names]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
