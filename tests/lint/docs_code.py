#!/usr/bin/env python3
"""Compiles the C++ of a page, so that a reader can copy it.

usage: docs_code.py PAGE COMPILER [FLAG...]              compiles every ```cpp block of the page
       docs_code.py --docstrings FOLDER COMPILER [FLAG...]  those in `///` comments of its headers; each block has to be `cpp` or `text`
       --print in front of the compiler shows the program instead

Blocks are fragments (tests/lint/fragments.py says how they are put together). They see "scoll/scoll.hpp", the standard library, fmt and
what they include themselves. A comment of the page, in front of a block, says what else they need:

    <!-- compile: given                       declarations that all later blocks of the page see, and readers do not
    extern scoll::node& node;
    -->
    <!-- compile: within struct shard { … }; -->   the next block stands in place of the `…`
    <!-- compile: not, because WHY -->             the next block is not C++ as it stands; WHY is for those who maintain it
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "checks"))
import fragments
import sources

DIRECTIVE = re.compile(r"<!-- compile: (given|within|not, because)\s+(.*?)\s*-->", re.DOTALL)
STANDARD = "algorithm array chrono cstddef cstdint cstdio filesystem optional span string string_view tuple utility vector"
COMMON = "".join(f"#include <{name}>\n" for name in [*STANDARD.split(), "fmt/format.h"]) + '''
#include "scoll/local_cluster.hpp"
#include "scoll/scoll.hpp"
'''
# An unchecked result is a bug in a page as well; an unused name is not.
FLAGS = ["-std=c++20", "-fsyntax-only", "-O0", "-w", "-x", "c++"]


def is_compared(text, block):
    """Whether the block is part of a program that is compiled anyway: tests/lint/snippets.py compares them."""
    return text.splitlines()[: block.line - 2][-1:] != [] and text.splitlines()[block.line - 3].startswith("<!-- from: ")


def program_of_page(page, name):
    """The program, and the number of blocks in it."""
    text, program, compiled, waiting = sources.read(page), fragments.Program(), 0, None
    program.include(COMMON, name, 1)
    program.begin(name)
    parts = [(sources.line_of(text, m.start()), m) for m in DIRECTIVE.finditer(text)]
    parts += [(b.line, b) for b in sources.fenced_blocks(text) if b.language == "cpp" and not is_compared(text, b)]
    for line, part in sorted(parts, key=lambda p: p[0]):
        if isinstance(part, sources.Block):
            if not waiting or waiting[1] != "not, because":
                program.add(part.code, name, part.line, waiting[2] if waiting else "…")
                compiled += 1
            waiting = None
        elif part[1] == "given":
            offset = text.count("\n", part.start(), part.start(2))
            program.add_given(part[2], name, line + offset)
        elif waiting:
            sys.exit(f"{name}:{line}: two directives for one block")
        elif part[1] == "within" and part[2].count("…") != 1:
            sys.exit(f"{name}:{line}: one … says where the block stands")
        else:
            waiting = part
    return program, compiled


def program_of_docstrings(folder, root):
    program, compiled, untold = fragments.Program(), 0, []
    program.include(COMMON, "docs_code.py", 1)
    for header in sources.below(root, (".hpp",), (folder,)):
        name = sources.name_of(header, root)
        text = sources.read(header)
        blocks = list(sources.docstring_blocks(text))
        untold += [f"{name}:{b.line - 1}: a block of a docstring is `cpp` or `text`, not `{b.language}`"
                   for b in blocks if b.language not in ("cpp", "text")]
        untold += [f"{name}:{b.line - 1}: this block is never closed" for b in blocks if not b.closed]
        blocks = [b for b in blocks if b.language == "cpp"]
        if blocks:
            program.include(f'#include "{name.split("/", 1)[1]}"', name, 1)
            program.begin(name, GIVEN)
        for block in blocks:
            program.add(block.code, name, block.line)
            compiled += 1
    if untold:
        sys.exit("\n".join(untold))
    return program, compiled


# Declarations that blocks of docstrings may rely on, because their readers have them at hand.
GIVEN = """
using namespace scoll;
using namespace scoll::transport;
extern class node& node;
extern const std::uint64_t peer;
extern const std::vector<target> targets;
extern class scope& work;
extern transport::rail& tcp;
extern transport::rail& other_tcp;
extern transport::rail& simulated;
extern transport::reactor& loop;
extern struct node_options options;
struct asked_for { region_descriptor data; };
extern asked_for request;
struct stat_request { std::string path; };
struct stat_reply { std::uint64_t size; };
inline constexpr remote_function<int, nothing> forget{"forget"};
void work_on(std::span<const std::byte> chunk);
[[noreturn]] void die(std::string_view why);
"""


def compile(program, compiler, root):
    command = [*compiler, *FLAGS, "-I", str(root / "include"), "-I", str(root / "src"), "-"]
    return subprocess.run(command, input=program.text(), text=True, capture_output=True)


def main(arguments):
    docstrings = arguments[:1] == ["--docstrings"]
    arguments = arguments[docstrings:]
    if len(arguments) < 2:
        sys.exit(__doc__)
    subject, compiler = arguments[0], arguments[1:]
    root = sources.ROOT
    if docstrings:
        program, count = program_of_docstrings(subject, root)
    else:
        program, count = program_of_page(pathlib.Path(subject), sources.name_of(subject, root))
    if compiler[0] == "--print":
        print(program.text())
        return 0
    if count == 0:
        print(f"{subject}: no C++")
        return 0
    answer = compile(program, compiler, root)
    print(answer.stderr, end="")
    print(f"{subject}: {count} blocks" + ("" if answer.returncode == 0 else
          " do not compile; tests/lint/docs_code.py says how a page gives them what they need"))
    return answer.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
