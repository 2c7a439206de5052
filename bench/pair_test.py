#!/usr/bin/env python3
"""Tests how pair.py judges two builds, with programs that pretend to be scoll-bench and cost what they are told."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("pair", HERE / "pair.py")
pair = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pair)

PRETENDER = """#!/usr/bin/env python3
import json, random, sys
drawn = random.uniform({low}, {high})
rows = [{{"subject": "raw", "p50_us": 1, "cpu_us_per_op": 1}},
        {{"subject": "scoll", "place": "asks", "p50_us": 10 * drawn, "cpu_us_per_op": 5 * drawn * {cpu}}},
        {{"subject": "scoll", "place": "answers", "p50_us": 10 * drawn, "cpu_us_per_op": 5 * drawn * {cpu}}}]
open(sys.argv[sys.argv.index("--json") + 1], "w").write(json.dumps(rows))
"""


def pretend(folder, name, low=1.0, high=1.0, cpu=1.0):
    program = folder / name
    program.write_text(PRETENDER.format(low=low, high=high, cpu=cpu))
    program.chmod(0o755)
    return program


def judge(base, head):
    rows = base.parent / "judged.json"
    done = subprocess.run([HERE / "pair.py", base, head, "--rounds", "9", "--job", "round trip, 64 bytes", "--json", rows],
                          stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, {row["value"]: row for row in json.loads(rows.read_text())}


def main():
    assert pair.values_of([{"subject": "raw", "p50_us": 1, "cpu_us_per_op": 9},
                           {"subject": "scoll", "p50_us": 2, "cpu_us_per_op": 3},
                           {"subject": "scoll", "p50_us": 4, "cpu_us_per_op": 5}]) == {"CPU": 8, "p50": 3}
    steady = pair.compare([(1.0, 1.1, 1.0)] * 5)
    assert abs(steady["ratio"] - 1.1) < 1e-9 and steady["a_a_interval"] == (1.0, 1.0), steady
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        base, costly = pretend(folder, "base"), pretend(folder, "costly", cpu=1.05)
        status, text, rows = judge(base, pretend(folder, "same"))
        assert status == 0 and not rows["CPU"]["exceeds"], text
        status, text, rows = judge(base, costly)
        assert status == 1 and rows["CPU"]["exceeds"] and not rows["p50"]["exceeds"], text
        assert text.count("over the limit") == 1, text
        status, text, rows = judge(costly, base)
        assert status == 0 and rows["CPU"]["ratio"] < 0.96, text
    print("two builds are compared as they should be")


if __name__ == "__main__":
    sys.exit(main())
