#!/usr/bin/env python3
"""Finds members of structs on the wire whose width depends on the machine: long, int, unsigned, short, std::size_t, time_t, ...

The compiler cannot tell std::uint64_t from unsigned long, so this goes by how the type is spelled. On the wire are: the types
given to decode_from, encode_to, fixed_size, encodable and remote_function; what describes itself or has a `wire_version`; `request`
and `reply` of services, and notices; and whatever these have as members.

usage: wire_structs.py [ROOT]
"""

import re
from typing import NamedTuple

import sources
from sources import Finding

FOLDERS = ("include", "src", "examples", "tools")
VAGUE = re.compile(
    r"\b(long|short|int|unsigned|signed|(?:std::)?(?:s?size_t|ptrdiff_t|u?intptr_t|intmax_t|uintmax_t|time_t|off_t|clock_t|wchar_t)"
    r"|(?:std::)?u?int_(?:fast|least)\d+_t)\b"
)
DEFINITION = re.compile(r"\b(struct|class|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^]]*\]\]\s*)?([A-Za-z_]\w*)\s*(?:final\s*)?(?::(?!:)([^{};]*))?\{")
ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([^;]+);")
NAMED = re.compile(r"\b(?:decode_from|fixed_size|encodable|signature|remote_function)\s*<")
ENCODED = re.compile(r"\bencode(?:_to)?\([^;{}]*?\b((?:\w+::)*\w+)\{")
DESCRIBED = re.compile(r"\bscoll_describe\(\s*\w+&\s*\w+,\s*(?:const\s+)?((?:\w+::)*\w+)&")
PARAMETERS = {"std", "scoll", "wire", "transport", "detail", "In", "Out", *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
SERVICE_TYPES = {"request", "reply"}


class Type(NamedTuple):
    path: str
    line: int
    name: str
    around: str  # the struct it is nested in, or nothing
    members: list  # (line, text of the declaration without its initialiser)
    wire: bool


def closing(text, opening, pair):
    depth = 0
    for index in range(opening, len(text)):
        depth += (text[index] == pair[0]) - (text[index] == pair[1])
        if depth == 0:
            return index
    return len(text)


def declarations(code, begin, end):
    """Statements of a body that stand outside of inner braces, as (offset, text); a body in braces ends one."""
    start, depth, text = begin, 0, ""
    for index in range(begin, end):
        char = code[index]
        depth += char == "{"
        if depth == 0 and char != ";":
            text += char
        depth -= char == "}"
        if depth == 0 and char in ";}":
            rest = code[index + 1 : end].lstrip()
            if char == ";" or "(" in text or DEFINITION.match(text.strip() + "{"):
                yield start + len(text) - len(text.lstrip()), text
                start, text = index + 1, ""
            elif not rest.startswith((";", ",")):
                start, text = index + 1, ""


def is_data(text):
    text = re.sub(r"\b(public|private|protected)\s*:", " ", text).strip()
    skipped = r"(static|using|friend|template|typedef|constexpr|inline|struct|class|enum|union|explicit|virtual|~|#|static_assert)\b"
    return bool(text) and not re.match(skipped, text) and "(" not in text.split("=")[0] and "operator" not in text


def type_of(declaration):
    """What stands before the names that are declared."""
    text = re.sub(r"\b(?:public|private|protected)\s*:", " ", declaration)
    text = re.sub(r"\[\[.*?\]\]|\b(?:alignas\([^)]*\)|mutable|const)\b", " ", text.split("=")[0].split("{")[0])
    return re.sub(r"\w+(?:\s*,\s*\w+)*\s*$", "", " ".join(text.split()))


def parse(path, code):
    """The types that a file defines."""
    spans = []
    for match in DEFINITION.finditer(code):
        end = closing(code, match.end() - 1, "{}")
        around = [name for begin, stop, name in spans if begin < match.start() < stop]
        spans.append((match.end(), end, match[2]))
        body = code[match.end() : end]
        if match[1].startswith("enum"):
            members = [(match.start(), match[3] or "")]
        else:
            members = [(at, type_of(text)) for at, text in declarations(code, match.end(), end) if is_data(text)]
            bases = [(match.start(), base) for base in [match[3]] if base]
            members += bases  # as members: a base is encoded too
        own = re.sub(r"\{[^{}]*\}", "", body)
        wire = bool(re.search(r"\bArchive\s*&\s*archive\b|\bwire_version\b", own))
        service = around and match[2] in SERVICE_TYPES
        yield Type(path, sources.line_of(code, match.start()), match[2], around[-1] if around else "",
                   [(sources.line_of(code, at), text) for at, text in members], bool(wire or service))


def words(text):
    return set(re.findall(r"[A-Za-z_]\w*", text))


def roots(path, code):
    """Texts of types that are given to the wire, as (line, text)."""
    for match in NAMED.finditer(code):
        end = closing(code, match.end() - 1, "<>")
        if end - match.end() < 200:
            yield sources.line_of(code, match.start()), code[match.end() : end]
    for form in (ENCODED, DESCRIBED):
        for match in form.finditer(code):
            yield sources.line_of(code, match.start()), match[1]
    for match in ALIAS.finditer(code):
        if match[1] in SERVICE_TYPES:
            yield sources.line_of(code, match.start()), match[2]


def nearest(path, candidates):
    """Those that a name in this file most likely means: of this file, else of its folder, else of its program or layer."""
    parts = path.split("/")
    for length in range(len(parts), 0, -1):
        if near := [c for c in candidates if c[0].split("/")[:length] == parts[:length]]:
            return near
    return candidates


def check(root):
    types, aliases, waiting, seen = {}, {}, [], set()
    for path in sources.code_files(root, FOLDERS):
        name, code = sources.name_of(path, root), sources.without_comments_and_literals(sources.read(path))
        if name.startswith("include/transport/wire/"):
            continue
        for found in parse(name, code):
            types.setdefault(found.name, []).append(found)
            if found.wire:
                waiting.append((found.path, found))
        for match in ALIAS.finditer(code):
            aliases.setdefault(match[1], []).append((name, sources.line_of(code, match.start()), match[2]))
        waiting += [(name, (line, text)) for line, text in roots(name, code)]
    while waiting:
        path, what = waiting.pop()
        if isinstance(what, Type):
            if (what.path, what.line) in seen:
                continue
            seen.add((what.path, what.line))
            waiting += [(what.path, member) for member in what.members]
            continue
        line, text = what
        if vague := VAGUE.search(text):
            seen.add((path, line, vague[0]))
        if re.search(r"[*&]", text):  # nothing that could be encoded
            continue
        for word in words(text) - PARAMETERS:
            if word not in SERVICE_TYPES:
                waiting += [(t.path, t) for t in nearest(path, types.get(word, []))]
                for at, number, meaning in nearest(path, aliases.get(word, [])):
                    if (at, number, "") not in seen:
                        seen.add((at, number, ""))
                        waiting.append((at, (number, meaning)))
    for entry in sorted(e for e in seen if len(e) == 3 and e[2]):
        yield Finding(entry[0], entry[1], f"{entry[2]} is on the wire, and as wide as the machine likes: state its width")


if __name__ == "__main__":
    sources.main(check, __doc__)
