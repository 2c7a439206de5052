#!/usr/bin/env python3
"""Whether tidy.py finds in sources that are read together what clang-tidy finds in each alone."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "tidy.py"
RULES = """Checks: '-*,bugprone-use-after-move,clang-analyzer-core.NullDereference,misc-unused-using-decls'
WarningsAsErrors: '*'
HeaderFilterRegex: '/src/'
"""
CLEAN = "int {name}_of(int x) {{ return x; }}\n"
NULL = "int null_of(int* p) { return p == nullptr ? *p : 0; }\n"
UNUSED = "#include <string>\nusing std::to_string;\n"
SHARED = "namespace {{ int helper() {{ return {value}; }} }}\nint {name}() {{ return helper(); }}\n"


@unittest.skipUnless(shutil.which("clang-tidy-19") and shutil.which("clang++-19"), "clang-tidy-19 is not installed")
class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="scoll-tidy.")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / ".clang-tidy").write_text(RULES)
        self.script = self.root / "tests/lint/tidy.py"
        self.script.parent.mkdir(parents=True)
        shutil.copy(SCRIPT, self.script)

    def tidy(self, rules="", **sources):
        """Returns what is printed about sources of these names, and the status."""
        shutil.rmtree(self.root / "src", ignore_errors=True)
        (self.root / "src").mkdir()
        if rules:
            (self.root / "src/.clang-tidy").write_text(rules)
        commands = []
        for name, text in sources.items():
            file = self.root / f"src/{name}.cpp"
            file.write_text(text)
            commands.append({"directory": str(self.root), "file": str(file), "command": f"clang++-19 -o {name}.o -c {file}"})
        (self.root / "build").mkdir(exist_ok=True)
        (self.root / "build/compile_commands.json").write_text(json.dumps(commands))
        ran = subprocess.run([self.script, "build", "/src/", "1"], cwd=self.root, capture_output=True, text=True,
                             env=os.environ | {"XDG_CACHE_HOME": str(self.root / "cache")}, timeout=60)
        return ran.stdout, ran.returncode

    def marks(self):
        return len(list((self.root / "cache").glob("scoll/tidy/*")))

    def test_clean_sources_are_read_once_and_together(self):
        sources = {name: CLEAN.format(name=name) for name in ("a", "b", "c")}
        for _ in range(2):
            said, status = self.tidy(**sources)
            self.assertEqual((said, status), ("[3/3] src\n", 0))
            self.assertEqual(self.marks(), 1)

    def test_a_finding_names_its_source(self):
        said, status = self.tidy(a=CLEAN.format(name="a"), b=NULL)
        self.assertEqual(status, 1)
        self.assertIn(f"{self.root}/src/b.cpp:1:45: error: Dereference of null pointer", said)

    def test_a_finding_is_printed_again_as_long_as_it_is_there(self):
        for _ in range(2):
            self.assertEqual(self.tidy(a=CLEAN.format(name="a"), b=NULL)[1], 1)
        self.assertEqual(self.tidy(a=CLEAN.format(name="a"), b=CLEAN.format(name="b"))[1], 0)

    def test_sources_with_a_name_in_common_are_read_apart(self):
        sources = {name: SHARED.format(name=name, value=i) for i, name in enumerate(("a", "b"))}
        self.assertEqual(self.tidy(**sources), ("[2/2] src\n", 0))
        self.assertEqual(self.marks(), 2)

    def test_a_check_of_main_files_looks_at_each_source(self):
        said, status = self.tidy(a=CLEAN.format(name="a"), b=UNUSED)
        self.assertEqual(status, 1)
        self.assertIn("src/b.cpp:2:12: error: using decl 'to_string' is unused", said)

    def test_new_rules_count(self):
        sources = {"a": CLEAN.format(name="a"), "b": NULL}
        self.assertEqual(self.tidy(**sources)[1], 1)
        (self.root / ".clang-tidy").write_text(RULES.replace("clang-analyzer-core.NullDereference,", ""))
        self.assertEqual(self.tidy(**sources)[1], 0)
        (self.root / ".clang-tidy").write_text(RULES)
        self.assertEqual(self.tidy(**sources)[1], 1)

    def test_rules_of_a_folder_stand_for_its_sources(self):
        rules = "InheritParentConfig: true\nChecks: '-clang-analyzer-core.NullDereference'\n"
        self.assertEqual(self.tidy(rules, a=CLEAN.format(name="a"), b=NULL)[1], 0)
        self.assertEqual(self.tidy(a=CLEAN.format(name="a"), b=NULL)[1], 1)

    def test_no_source_is_an_error(self):
        self.assertEqual(self.tidy()[1], 1)


if __name__ == "__main__":
    unittest.main()
