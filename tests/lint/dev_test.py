#!/usr/bin/env python3
"""Whether `./dev` notices that a step failed: a copy of it, beside programs that only pretend to work."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Each command fails when its name and arguments match $FAILING.
PRETENDER = """#!/bin/bash
[[ "${0##*/} $*" != $FAILING ]] || exit 1
[[ $0 != */dpkg-query ]] || echo installed
"""
ON_PATH = """cmake ctest clang-format-19 clang++-19 g++ ninja pkg-config ccache dpkg-query dpkg-shlibdeps
    apt-get sudo"""
IN_TREE = "tests/verbs/vm.py tests/lint/co_await.py tests/lint/tidy.py tests/lint/checks/structure.py tests/lint/checks/tables.py build/release/bin/tests_sim build/release/bin/scoll-sim-mutants"
CTEST = """#!/bin/bash
if [[ " $*" != $FAILING ]]; then
    while (($#)) && [[ $1 != --output-junit ]]; do shift; done
    echo '<testcase name="one" status="run">' >"$2"
elif [[ " $*" == *" --no-tests=error"* ]]; then
    exit 1
fi
"""

FAILED_CTEST = """#!/bin/bash
while (($#)) && [[ $1 != --output-junit ]]; do shift; done
cat >"$2" <<'EOF'
<testsuite>
<testcase name="one" status="run">
<system-out>well</system-out>
</testcase>
<testcase name="two &lt;b&gt;" status="fail">
<system-out>first
1 &lt; 2, but it was not</system-out>
</testcase>
</testsuite>
EOF
exit 8
"""

# The tests that wait take as long as the next stage needs to be built.
SLOW_CTEST = """#!/bin/bash
[[ " $*" != *" -L ^cluster$"* ]] || for ((i = 0; i < 500; i++)); do
    [[ ! -e ${0%/*}/asan_is_built ]] || break
    sleep 0.01
done
((${i:-0} < 500))
"""
MARKING_CMAKE = """#!/bin/bash
[[ "$*" != "--build --preset asan "* ]] || touch "${0%/*}/asan_is_built"
"""

# What a machine with RDMA devices prints: its console ends lines with two characters, and the summary repeats them.
MACHINE = """#!/bin/bash
echo 'no machine here' >&2
[[ "${0##*/} $*" != $FAILING ]] || exit 3
printf '%-20s   12 s, 34 packets, receiver not ready: 0, status %d\\r\n' "one thing" 0 another 0 another 0 last $STATUS
exit $STATUS
"""

# It writes down the run that finds a bug, after the name of the file.
HUNTER = """#!/bin/bash
[[ "${0##*/} $*" != $FAILING ]] || exit 1
printf 'mutant,workload,nodes,seed,property\\n%s,ship,16,7,"no, never"\\n' "$3" >"$5"
"""


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="scoll-dev.")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("dev", "CMakePresets.json"):
            shutil.copy(ROOT / name, self.root)
        for path in [f"bin/{name}" for name in ON_PATH.split()] + IN_TREE.split():
            self.program(path, PRETENDER)
        self.program("bin/ctest", CTEST)
        (self.root / "src").mkdir()
        (self.root / "src/one.cpp").touch()
        (self.root / "build/clang").mkdir()
        (self.root / "build/clang/compile_commands.json").write_text(f'  "file": "{self.root}/src/one.cpp"\n')

    def program(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def dev(self, *arguments, failing="nothing"):
        variables = os.environ | {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "FAILING": failing}
        return subprocess.run([self.root / "dev", *arguments], capture_output=True, text=True, env=variables, timeout=60)

    def expect(self, code, text, *arguments, failing="nothing"):
        answer = self.dev(*arguments, failing=failing)
        self.assertEqual(answer.returncode, code, (failing, answer.stdout, answer.stderr))
        self.assertIn(text, answer.stdout + answer.stderr)

    def test_what_works_passes(self):
        self.expect(0, ", 0 failed", "check")
        self.expect(0, "== clang-tidy", "tidy")
        self.expect(0, "", "lint")

    def test_check_fails_with_each_of_its_steps(self):
        for failing, step in [
            ("clang-format-19 *", "format"),
            ("structure.py *", "lint"),
            ("tables.py *", "lint"),
            ("co_await.py *", "tidy"),
            ("cmake *scoll_commit*", "tidy"),
            ("tidy.py *", "tidy"),
            ("cmake *scoll_headers_alone*", "headers alone"),
            ("cmake *scoll-sim-mutants*", "mutants"),
            ("scoll-sim-mutants *", "mutants"),
            ("cmake *tests_sim*", "the goal of the gossip"),
            ("tests_sim *", "the goal of the gossip"),
            ("cmake --build --preset tsan *", "tsan"),
        ]:
            with self.subTest(failing=failing):
                self.expect(1, f"failed: {step}", "check", failing=failing)

    def test_check_goes_on_where_it_was_interrupted(self):
        def git(*arguments):
            who = ["-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run(["git", "-C", self.root, *who, *arguments], check=True, capture_output=True)

        (self.root / ".gitignore").write_text("build\n")
        git("init", "-q")
        git("add", ".")
        git("commit", "-qm", "one")
        broken = {"failing": "cmake --build --preset asan *"}
        self.expect(1, "failed: asan", "check", **broken)
        parts = "format structure tidy headers bugs gossip release asan clang debug tsan verbs".split()
        answer = self.dev("check")
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
        for part in parts:
            self.assertEqual(f"== {part}: held before" in answer.stdout, part not in ("asan", "verbs"), part)
        count = self.dev("check").stdout.splitlines()[-1]
        self.assertEqual(count, answer.stdout.splitlines()[-1])  # what is remembered is counted
        self.expect(0, "== asan: held before", "check", "asan", **broken)
        self.expect(1, "failed: asan", "check", "--anew", "asan", **broken)
        # With a change, and with another commit, everything is new.
        (self.root / "src/one.cpp").write_text("int a;")
        self.expect(1, "is not remembered", "check", "asan", **broken)
        git("commit", "-qam", "two")
        self.expect(1, "failed: asan", "check", "asan", **broken)
        self.expect(2, "check has no part 'arm'; there are: format structure", "check", "arm")

    def test_lint_fails_with_each_check_and_leaves_helpers_alone(self):
        (self.root / "tests/lint/checks/helper.py").write_text("not a program")
        self.expect(0, "", "lint")
        for failing in ("structure.py *", "tables.py *"):
            self.expect(1, "", "lint", failing=failing)

    def test_the_search_for_mutants_begins_with_those_that_are_known(self):
        known = f"--known {self.root}/docs/mutants.csv"
        for arguments, whole in [
            (["--mutants"], f"scoll-sim-mutants --mutants {known}"),
            (["--mutants", "--write", "a.csv"], f"scoll-sim-mutants --mutants --write a.csv {known}"),
            (["--mutants", "--known", "a.csv"], "scoll-sim-mutants --mutants --known a.csv"),
            (["--check-mutants", "a.csv"], "scoll-sim-mutants --check-mutants a.csv"),
            (["--mutant", "one", "--seed", "2"], "scoll-sim-mutants --mutant one --seed 2"),
        ]:
            with self.subTest(arguments=arguments):
                self.expect(0, "", "sim", *arguments)
                self.expect(1, "", "sim", *arguments, failing=whole)

    def with_bugs(self, *removed):
        """Puts sources of one line each, and for each of them a patch that removes a line, under git."""
        bugs = self.root / "tests/tools/scoll-sim/bugs"
        bugs.mkdir(parents=True)
        for name, line in removed:
            (self.root / f"src/{name}.cpp").write_text("present\n")
            patch = f"What it breaks.\n\ndiff --git a/src/{name}.cpp b/src/{name}.cpp\n--- a/src/{name}.cpp\n+++ b/src/{name}.cpp\n"
            (bugs / f"{name}.patch").write_text(f"{patch}@@ -1 +1 @@\n-{line}\n+a bug\n")
        subprocess.run(["git", "init", "-q", self.root], check=True)
        subprocess.run(["git", "-C", self.root, "add", "src", "tests"], check=True)
        self.program("build/bugs/build/bin/scoll-sim-mutants", HUNTER)

    def test_each_bug_is_hunted_in_a_copy(self):
        self.with_bugs(*((name, "present") for name in ("01_one", "02_two", "03_three")))
        (self.root / "src/one.cpp").unlink()  # git still knows it
        (self.root / "build/bugs/src/src").mkdir(parents=True)
        (self.root / "build/bugs/src/src/04_old.cpp").touch()
        hunts = "scoll-sim-mutants --mutants --mutant bug_"
        self.expect(0, "3 of 3 caught", "sim", "--bugs")
        self.expect(0, "bug_02_two                       caught by the workload ship with 16 nodes, seed 7: no, never", "sim", "--bugs")
        self.expect(0, "bug_02_two                       SURVIVED", "sim", "--bugs", failing=f"{hunts}02*")
        self.expect(0, "1 of 3 caught", "sim", "--bugs", "--jobs", "1", failing=f"{hunts}0[12]* --jobs 1")
        self.expect(1, "0 of 3 caught", "sim", "--bugs", failing=f"{hunts}*")
        self.expect(1, "", "sim", "--bugs", failing="cmake --build *scoll-sim-mutants*")
        copied = sorted(path.name for path in (self.root / "build/bugs/src/src").iterdir())
        self.assertEqual(copied, ["01_one.cpp", "02_two.cpp", "03_three.cpp"])
        self.assertEqual((self.root / "build/bugs/src/src/01_one.cpp").read_text(), "a bug\n")
        self.assertEqual((self.root / "src/01_one.cpp").read_text(), "present\n")

    def test_a_patch_that_does_not_apply_is_named(self):
        self.with_bugs(("01_one", "present"), ("02_two", "absent"))
        self.expect(2, "tests/tools/scoll-sim/bugs/02_two.patch does not apply", "sim", "--bugs")

    def test_a_stage_without_tests_fails_unless_they_were_chosen(self):
        self.expect(1, "failed: debug coro  (ctest)", "test", failing=" --preset debug *")
        self.expect(0, "0 failed", "test", "a filter", failing=" --preset debug *")

    def test_what_a_failed_test_has_printed_is_shown_at_the_end(self):
        self.program("bin/ctest", FAILED_CTEST)
        shown = self.dev("test", "--preset", "debug").stdout
        self.assertIn("---- the end of what debug  two <b> printed:\nfirst\n1 < 2, but it was not\n", shown)
        self.assertNotIn("well", shown)
        self.assertIn("failed: debug  two <b>\n", shown)

    def test_each_part_of_the_machine_for_rdma_is_a_test(self):
        self.program("tests/verbs/vm.py", MACHINE.replace("$STATUS", "0"))
        self.expect(0, "verbs            3 passed    0 failed", "test")
        self.expect(0, "== debug coro (ahead of its turn): build", "test")  # beside the machine
        self.expect(0, "verbs            3 passed    0 failed", "check")
        self.expect(0, "skipped: verbs  (no machine here)\n", "test", failing="vm.py *")
        self.assertNotIn("verbs", self.dev("test", "a filter").stdout)
        self.program("tests/verbs/vm.py", MACHINE.replace("$STATUS", "2"))
        self.expect(1, "failed: verbs  last\n", "test")
        self.program("tests/verbs/vm.py", "exit 1")
        self.expect(1, "failed: verbs  (./dev verbs)\n", "test")
        self.expect(1, "failed: verbs  (./dev verbs)\n", "test", failing="cmake *shard_server*")

    def test_other_stages_are_built_while_tests_wait(self):
        self.program("bin/ctest", SLOW_CTEST)
        self.program("bin/cmake", MARKING_CMAKE)
        shown = self.dev("test").stdout
        self.assertNotIn("failed: release", shown)
        self.assertIn("== debug coro (ahead of its turn): build", shown)

    def test_a_stage_that_cannot_be_built_does_not_stop_the_others(self):
        self.expect(1, "== debug coro (ahead of its turn): build", "test", failing="cmake --build --preset release *")
        self.expect(1, "failed: release  (build)\n", "test", failing="cmake --build --preset release *")

    def test_check_leaves_nothing_out(self):
        left_out = " --preset release * -E *cluster-poll/*"
        self.expect(1, "failed: release  (ctest)", "test", failing=left_out)
        self.expect(0, ", 0 failed", "test", "--preset", "release", failing=left_out)
        self.expect(0, ", 0 failed", "check", failing=left_out)

    def test_tidy_fails_with_each_of_its_steps(self):
        for failing in ("co_await.py *", "cmake --preset clang*", "cmake *scoll_commit*", "tidy.py *"):
            with self.subTest(failing=failing):
                self.expect(1, "== clang-tidy", "tidy", failing=failing)

    def test_tidy_fails_where_clang_tidy_would_not_look(self):
        (self.root / "bench").mkdir()
        (self.root / "bench/two.cpp").touch()
        self.expect(1, "clang-tidy would not see:\nbench/two.cpp\n", "tidy")

    def test_what_the_benchmarks_are_compared_with_is_installed(self):
        for command in (["test", "--preset", "release"], ["setup", "test"], ["setup", "tidy"], ["setup", "bench"]):
            with self.subTest(command=command):
                self.expect(0, "installing: libasio-dev\n", *command, failing="dpkg-query *libasio-dev*")

    def test_presets_without_tests_are_refused(self):
        having = "those that have: debug release clang bench asan tsan"
        self.expect(2, f"the preset 'fuzz' has no tests; {having}", "test", "--preset", "fuzz")
        self.expect(2, "there is no preset 'none'", "test", "--preset", "none")
        for preset in having.split()[3:]:
            self.expect(0, f"== {preset}: tests", "test", "--preset", preset)

    def test_help_is_shown_and_nothing_else_happens(self):
        for command in (["check"], ["test"], ["tidy"], ["format"], ["build", "debug"], ["bench", "profile"]):
            for word in ("--help", "-h"):
                with self.subTest(command=command):
                    done = self.dev(*command, word)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(f"\n  {command[0]} ", done.stdout)
                    self.assertNotIn("==", done.stdout)


unittest.main()
