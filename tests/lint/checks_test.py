#!/usr/bin/env python3
"""Every check of tests/lint/checks finds what it looks for, in small projects that are made up for it, and nothing else."""

import importlib
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "checks"))


class Case(unittest.TestCase):
    def found(self, check, files):
        """What a check says of a project of these files, as "path:line: text"."""
        with tempfile.TemporaryDirectory(prefix="scoll-lint.") as root:
            for path, text in files.items():
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return [str(finding) for finding in importlib.import_module(check).check(pathlib.Path(root))]

    def expect(self, check, files, *beginnings):
        """Exactly one finding for each beginning, in this order."""
        found = self.found(check, files)
        self.assertEqual([f[: len(b)] for f, b in zip(found, beginnings)], list(beginnings), found)
        self.assertEqual(len(found), len(beginnings), found)


def lines(count, form):
    return "".join(form.format(i) + "\n" for i in range(count))


class Structure(Case):
    def test_long_files(self):
        self.expect("structure", {"include/a.hpp": "//\n" * 300, "src/b.cpp": "//\n" * 450})
        self.expect("structure", {"include/a.hpp": "//\n" * 301}, "include/a.hpp:301: 301 lines")
        self.expect("structure", {"tools/b.cpp": "//\n" * 451}, "tools/b.cpp:451: 451 lines")

    def test_wide_comments(self):
        self.expect("structure", {"include/a.hpp": "  /// " + 104 * "ä" + "\n//" + 110 * "-" + "\n", "src/a.hpp": "/// " + 107 * "a"})
        self.expect("structure", {"include/a.hpp": "int a;  ///< " + 98 * "a" + "\n"}, "include/a.hpp:1: 111 columns")

    def test_what_stands_twice(self):
        one = "#include <a>\n" + lines(14, "int same_{} = 1;  // one")
        other = "int other;\n" + lines(14, "\n}}\nint  same_{} = 1;  // two")
        self.expect("structure", {"src/a.cpp": one, "src/b.cpp": other}, "src/b.cpp:4: 14 lines of code stand at src/a.cpp:2")
        self.expect("structure", {"src/a.cpp": one + other}, "src/a.cpp:19: 14 lines of code stand at src/a.cpp:2")
        self.expect("structure", {"src/a.cpp": lines(11, "int same_{};"), "src/b.cpp": lines(11, "int same_{};")})
        overriding = lines(14, "void f_{}(int\n  i) override;")
        self.expect("structure", {"src/a.hpp": overriding, "src/b.hpp": overriding})


class Layers(Case):
    def one(self, path, include, *beginnings):
        public = ("scoll/coro/a", "transport/io/a", "transport/tcp/a", "transport/sim/a", "gossip/a", "scoll/node")
        files = {f"include/{name}.hpp": "" for name in public} | {"src/scoll/secret.hpp": ""}
        self.expect("layers", files | {path: f"#include {include}\n"}, *(f"{path}:1: {b}" for b in beginnings))

    def test_one_direction(self):
        self.one("src/scoll/one.cpp", '"gossip/a.hpp"')
        self.one("src/gossip/one.cpp", '"transport/io/a.hpp"')
        self.one("src/transport/tcp/one.cpp", '"transport/io/a.hpp"')
        self.one("include/scoll/coro/one.hpp", '"transport/io/a.hpp"', "scoll/coro does not know")
        self.one("src/transport/io/one.cpp", '"gossip/a.hpp"', "transport does not know")
        self.one("src/gossip/one.cpp", '"scoll/node.hpp"', "gossip does not know")

    def test_links_do_not_know_each_other_and_are_not_known(self):
        self.one("src/transport/tcp/one.cpp", '"transport/sim/a.hpp"', "transport/tcp does not know")
        self.one("src/transport/session/one.cpp", '"transport/tcp/a.hpp"', "transport does not know")
        self.one("src/gossip/one.cpp", '"transport/tcp/a.hpp"', "gossip does not know")
        self.one("src/scoll/one.cpp", '"transport/tcp/a.hpp"')

    def test_no_system_in_coro(self):
        self.one("src/scoll/coro/one.cpp", "<vector>")
        self.one("src/scoll/coro/one.cpp", "<sys/mman.h>", "<sys/mman.h> is a header of the operating system")
        self.one("src/scoll/coro/one.cpp", "<unistd.h>", "<unistd.h> is a header of the operating system")

    def test_what_is_private_stays_so(self):
        self.one("src/scoll/one.cpp", '"scoll/secret.hpp"')
        self.one("include/scoll/one.hpp", '"scoll/secret.hpp"', "scoll/secret.hpp is private")
        self.one("include/scoll/one.hpp", '"scoll/none.hpp"', "there is no scoll/none.hpp")
        self.one("examples/one/one.cpp", '"scoll/secret.hpp"', "scoll/secret.hpp is neither a public header nor")
        self.one("examples/one/one.cpp", '"one.cpp"')


class WireStructs(Case):
    def member(self, member, *found, how="auto head = wire::decode_from<sent>(bytes);"):
        text = f"struct sent {{\n  {member}\n}};\nstruct kept {{ long other; }};\n{how}\n"
        self.expect("wire_structs", {"src/one.cpp": text}, *(f"src/one.cpp:2: {f} is on the wire" for f in found))

    def test_members_of_what_is_sent(self):
        self.member("std::uint64_t a; bool long_one; std::vector<std::int8_t> b{};")
        self.member("static constexpr int limit = 3; int size() const { return 1; } std::string c;")
        self.member("long a = 1;", "long")
        self.member("std::vector<std::size_t> a;", "std::size_t")
        self.member("std::optional<unsigned> a{};", "unsigned")
        self.member("time_t a, b;", "time_t")
        self.member("long a;", how="")

    def test_all_ways_onto_the_wire(self):
        for how in ("wire::encode_to(m.head_space(), sent{1})", "static_assert(wire::fixed_size<sent> == 8);",
                    "constexpr scoll::remote_function<sent, void> f{};", "struct outer { sent inner; }; decode_from<outer>(x);",
                    "struct service { using request = sent; };", "void scoll_describe(Archive& a, sent& value);",
                    "using other = sent; decode_from<other>(x);"):
            self.member("int a;", "int", how=how)
        self.member("int a; void describe(Archive& archive) { archive(a); }", "int", how="")
        self.member("struct request { int a; };", "int", how="")
        self.member("static constexpr std::uint16_t wire_version = 1; int a;", "int", how="")

    def test_enums(self):
        self.member("level a;", how="enum class level : std::uint8_t { low }; decode_from<sent>(x);")
        files = {"src/one.hpp": "enum class level : int { low };", "src/two.cpp": "struct s { level a; }; decode_from<s>(x);"}
        self.expect("wire_structs", files, "src/one.hpp:1: int is on the wire")


class Paths(Case):
    def test_files_that_are_named(self):
        files = {"include/scoll/a.hpp": "", "src/b.cpp": "", "docs/c.py": "", "CHANGELOG.md": "gone.hpp"}
        good = "`scoll/a.hpp`, a.hpp, [b](../src/b.cpp), src/b.cpp: `b.cpp`, tests/*.hpp, tests/<x>.cpp, c.hpp.in\n"
        self.expect("paths", files | {"docs/one.md": good})
        bad = "#include \"scoll/none.hpp\"\nsrc/a.hpp\nnowhere.py\n"
        self.expect("paths", files | {"docs/one.md": bad}, "docs/one.md:1: there is no scoll/none.hpp",
                    "docs/one.md:2: there is no src/a.hpp", "docs/one.md:3: there is no nowhere.py")


class Decisions(Case):
    PAGES = {"docs/decisions/0007-abort.md": "# 0007 An abort is answered\n", "docs/decisions/README.md": "An abort is answered\n"}

    def test_what_is_cited(self):
        good = "One that aborts waits\n([0007](decisions/0007-abort.md)). Answers, see decision 7.\nThe decision of 7 members.\n"
        self.expect("decisions", self.PAGES | {"docs/one.md": good, "src/a.cpp": "// all is answered (docs/decisions/0007)\n"})

    def test_what_does_not_exist_or_is_about_something_else(self):
        self.expect("decisions", self.PAGES | {"src/a.cpp": "\n// answered (docs/decisions/0008)"}, "src/a.cpp:2: there is no decision 0008")
        self.expect("decisions", self.PAGES | {"docs/one.md": "An abort. Memory is lent ([7](decisions/0007-abort.md)). An answer."},
                    "docs/one.md:1: says nothing of decision 0007")
        self.expect("decisions", self.PAGES | {"docs/decisions/0009-x.md": "# 0009 Bulk\n"}, "docs/decisions/README.md:1: lacks 0009")


class Tables(Case):
    CODE = {
        "src/a.cpp": '// SCOLL_MUTANT(zero)\nif (SCOLL_MUTANT(one)) f();\n',
        "src/b.hpp": 'int b = SCOLL_MUTANT(one, "what it "\n    "does");\nint c = SCOLL_MUTANT(\n    another, "less");\n',
        "docs/mutants.csv": "mutant,workload,nodes,seed,property\none,ship,16,3,merged once\nanother,mixed,3,70,signal 11\n",
        "include/scoll/coro/error.hpp": "enum class errc {\n  ok = 0,\n  busy = 3,  ///< full at the\n             ///< place named\n};",
    }
    MUTANTS = ("<!-- table: mutants -->\n| mutant | what it does | found with | nodes | seed | property |\n"
               "| --- | --- | --- | --- | --- | --- |\n| another | less | mixed | 3 | 70 | signal 11 |\n"
               "| one | what it does | ship | 16 | 3 | *merged once* |\n<!-- end of table -->\n")
    ERRORS = ("<!-- table: errors -->\n| code | number | what it says |\n| --- | --- | --- |\n"
              "| `busy` | 3 | full at the place named |\n<!-- end of table -->\n")

    def test_tables_that_are_true(self):
        self.expect("tables", self.CODE | {"docs/a.md": self.MUTANTS + self.ERRORS})

    def test_tables_that_are_not(self):
        wrong = self.MUTANTS.replace("| 16 | 3 |", "| 16 | 4 |")
        self.expect("tables", self.CODE | {"docs/a.md": wrong + self.ERRORS}, "docs/a.md:5: the table mutants is not what")
        self.expect("tables", self.CODE | {"docs/a.md": self.MUTANTS + self.ERRORS + self.ERRORS}, "docs/a.md:12: the table errors stands twice")
        self.expect("tables", self.CODE | {"docs/a.md": self.MUTANTS}, "include/scoll/coro/error.hpp:1: no page shows")

    def test_code_that_says_too_little(self):
        page = {"docs/a.md": self.MUTANTS + self.ERRORS}
        two = self.CODE["include/scoll/coro/error.hpp"].replace("};", "  new_one = 4,\n};")
        self.expect("tables", self.CODE | page | {"include/scoll/coro/error.hpp": two}, "include/scoll/coro/error.hpp:1: has a code without")

    def test_mutants_that_are_not_told_apart(self):
        project = self.CODE | {"docs/a.md": self.MUTANTS + self.ERRORS}
        self.expect("tables", project | {"src/c.cpp": 'f(SCOLL_MUTANT(two, "more"));\n'}, "docs/mutants.csv:1: has no row for two")
        self.expect("tables", project | {"src/a.cpp": "", "src/b.hpp": self.CODE["src/b.hpp"].replace("one", "two")},
                    "docs/a.md:5: the table mutants", "docs/mutants.csv:1: has no row for two", "docs/mutants.csv:1: has a row for one")
        row = self.CODE["docs/mutants.csv"] + "two,mixed,16,1,p\n"
        self.expect("tables", project | {"src/c.cpp": "f();\nf(SCOLL_MUTANT(two) || SCOLL_MUTANT(two));\n", "docs/mutants.csv": row},
                    "src/c.cpp:2: no site of the mutant two says what it does")
        self.expect("tables", project | {"src/c.cpp": 'f(SCOLL_MUTANT(one, "what it does"));\n'},
                    "src/c.cpp:1: the mutant one has a text already, at src/b.hpp:1")


class Includes(Case):
    def test_includes_that_go_up(self):
        self.expect("includes", {"bench/a/b.cpp": '#include "bench/kit/c.hpp"\n#include "d.hpp"\nf("../kit");\n'})
        for top in ("include", "src", "tools", "bench", "tests"):
            self.expect("includes", {f"{top}/a/b.cpp": '\n#include "../c.hpp"\n'}, f"{top}/a/b.cpp:2: ../c.hpp goes up")

    def test_examples_stay_within_their_folder(self):
        self.expect("includes", {"examples/one/a/b.cpp": '#include "../c/d.hpp"\n'})
        self.expect("includes", {"examples/one/b.cpp": '#include "../two/d.hpp"\n'}, "examples/one/b.cpp:1: ../two/d.hpp goes up")
        self.expect("includes", {"examples/b.cpp": '#include "../src/d.hpp"\n'}, "examples/b.cpp:1: ../src/d.hpp goes up")


class Exports(Case):
    FILES = {
        "include/scoll/scoll.hpp": '#include "scoll/tree.hpp"  // IWYU pragma: export\n#include "gossip/a.hpp"    // IWYU pragma: export\n',
        "include/scoll/tree.hpp": '#include "scoll/tree/flat.hpp"  // IWYU pragma: export\n#include "scoll/tree/graph.hpp"\n',
        "include/scoll/tree/flat.hpp": "", "include/scoll/detail/a.hpp": "", "include/scoll/coro/waiter.hpp": "",
        "include/gossip/a.hpp": "", "include/transport/io/a.hpp": "",
    }

    def test_headers_that_nothing_exports(self):
        self.expect("exports", self.FILES)
        more = {"include/scoll/tree/graph.hpp": "", "include/gossip/b.hpp": ""}
        self.expect("exports", self.FILES | more, "include/scoll/tree/graph.hpp:1: no feature header", "include/gossip/b.hpp:1: no feature header")


class Mutants(Case):
    def test_sites_in_headers(self):
        site = 'if (SCOLL_MUTANT(forgets, "it forgets")) return;\n'
        included = '#include "scoll/coro/mutants.hpp"\n' + site
        self.expect("mutants", {"src/scoll/a.cpp": included, "src/scoll/a.hpp": "// SCOLL_MUTANT(forgets)\n"})
        self.expect("mutants", {"src/scoll/a.cpp": site}, "src/scoll/a.cpp:1: add #include")
        self.expect("mutants", {"src/scoll/a.hpp": "\n" + site}, "src/scoll/a.hpp:2: a deliberate bug is in a header")


class Folders(Case):
    FILES = {"include/scoll/tree/a.hpp": "", "include/scoll/set.hpp": "", "include/scoll/detail/c.hpp": "", "tools/one/a.hpp": ""}

    def test_folders_that_are_those_of_the_headers(self):
        good = {"src/scoll/tree/a.cpp": '#include "scoll/tree/a.hpp"\n', "src/scoll/set/set.cpp": '#include "scoll/set.hpp"\n',
                "src/scoll/tree/c.cpp": '#include "scoll/detail/c.hpp"\n', "src/scoll/tree/inner/d.cpp": "",
                "tests/scoll/tree/inner/d_test.cpp": "", "tests/scoll/node/e_test.cpp": "", "tests/tools/one/a_test.cpp": "",
                "tests/support/f.cpp": ""}
        self.expect("folders", self.FILES | good)

    def test_folders_that_are_not(self):
        self.expect("folders", self.FILES | {"src/other/one/a.cpp": ""}, "src/other/one:1: there is neither")
        self.expect("folders", self.FILES | {"tests/scoll/forest/a_test.cpp": ""}, "tests/scoll/forest:1: tests a folder that")
        self.expect("folders", self.FILES | {"tests/tools/two/a_test.cpp": ""}, "tests/tools/two:1: tests a folder that")
        self.expect("folders", self.FILES | {"src/scoll/a.cpp": '#include "scoll/tree/a.hpp"\n'}, "src/scoll/a.cpp:1: the header scoll/tree/a.hpp")


class Hooks(Case):
    def one(self, rows, *beginnings):
        traits = "// concept names_none = no;\nconcept names_execute = true;\nconcept names_members =\n    true;\n"
        page = f"# Service\n\n## The hooks\n\n| hook |\n|---|\n{rows}\n## Merging\n\n| `other()` |\n"
        self.expect("hooks", {"include/scoll/detail/service_traits.hpp": traits, "docs/writing-a-service.md": page}, *beginnings)

    def test_the_table_of_hooks(self):
        self.one("| `execute(const request&)` |\n| `members(std::uint64_t id)` |\n")
        self.one("| `execute(const request&)` |\n", "docs/writing-a-service.md:3: the table of hooks has no row for members")
        self.one("| `execute()` |\n| `members()` |\n| `ended()` |\n", "docs/writing-a-service.md:3: the table has a row for ended")
        files = {"include/scoll/detail/service_traits.hpp": "", "docs/writing-a-service.md": "# Service\n"}
        self.expect("hooks", files, "docs/writing-a-service.md:1: has no section The hooks")


class Missing(Case):
    FILES = {"include/scoll/detail/any_group.hpp": "task<void> revoke();  // repair()\n",
             "include/scoll/collective/options.hpp": "enum class populate : int {\n  immediate,\n  delayed,  // later\n};\n"}

    def one(self, section, *beginnings):
        text = f"# One\n\n**Revoke** a group.\n\n## What is not there yet\n\n{section}\n\n## Licence\n\n**Revoke**\n"
        self.expect("missing", self.FILES | {"README.md": text}, *beginnings)

    def test_what_is_said_to_be_missing(self):
        self.one("- **Repair.** There is no second tree; a delayed group may be revoked.")
        self.one("- **Rails**.\n- **Revoke**.", "README.md:8: says that there is no revoke")
        self.one("- **Groups** are created at once; there is no delayed creation.", "README.md:7: says that there is no delayed")


class Codes(Case):
    def test_codes_in_comments_and_pages(self):
        self.expect("codes", {"src/a.cpp": "f(C1); // with `C` and (C++20), `T`\n", "docs/a.md": "`T` (X)\n```\n(C12)\n```\n"})
        self.expect("codes", {"src/a.cpp": "int a;\n/// Held (`C12`, `T1`).\n"}, "src/a.cpp:2: (`C12`")
        self.expect("codes", {"src/a.cpp": "// (X4)\n", "docs/a.md": "as `F1` says\n"}, "src/a.cpp:1: (X4)", "docs/a.md:1: `F1`")


class ChosenBugs(Case):
    PATCH = """A bug.

diff --git a/src/a.cpp b/src/a.cpp
--- a/src/a.cpp
+++ b/src/a.cpp
@@ -1,3 +1,3 @@
 int a;
-int b;
+int b = 1;
 int c;
"""

    def test_patches_that_do_not_apply(self):
        name = "tests/tools/scoll-sim/bugs/01_b.patch"
        self.expect("chosen_bugs", {"src/a.cpp": "int a;\nint b;\nint c;\n", name: self.PATCH})
        self.expect("chosen_bugs", {"src/a.cpp": "int a;\nint d;\nint c;\n", name: self.PATCH}, f"{name}:1: does not apply")


if __name__ == "__main__":
    unittest.main()
