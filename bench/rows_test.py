#!/usr/bin/env python3
"""Runs short benchmarks and looks at the shape of their rows: which subjects, which fields, of which kind.

usage: rows_test.py SCOLL-BENCH
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ALWAYS = {"bench": str, "subject": str, "size": int, "p50_us": float, "p99_us": float, "max_us": float,
          "cpu_us_per_op": float}
ENGINE = {"backend": str}  # of scoll's own
RATIOS_OF_TIME = {"against": str, "p50_ratio": float, "p50_ratio_low": float, "p50_ratio_high": float}
RATIOS = RATIOS_OF_TIME | {"cpu_ratio": float}
TREE = {"nodes": int, "tree": str}
SCOLL_TREE = {"last_leaf_us": float, "predicted_us": float, "allocs_per_op": float, "syscalls_per_op": float,
              "messages_per_op": float}


# Where rings are forbidden their subjects are missing, and the heading says so.
def rings_offered(program):
    told = subprocess.run([program, "rtt", "--quick", "--size", "64"], check=True, capture_output=True)
    return b"no subject uses io_uring" not in told.stdout


def rows_of(program, *arguments, **environment):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([program, *arguments, "--quick", "--json", out.name], check=True, stdin=subprocess.DEVNULL,
                       env=os.environ | environment)
        return json.load(out)


def rows_and_pictures_of(program, *arguments):
    """The rows, and what each picture's script says; whether they could be drawn depends on gnuplot alone."""
    with tempfile.TemporaryDirectory() as folder:
        found = rows_of(program, *arguments, "--plot", folder)
        scripts = {path.stem: path.read_text() for path in pathlib.Path(folder).glob("*.gp")}
        drawn = {path.stem for path in pathlib.Path(folder).glob("*.svg") if path.stat().st_size > 1000}
        assert shutil.which("gnuplot") is None or drawn == set(scripts), (drawn, set(scripts))
        return found, scripts


def returned(program, *arguments):
    """What a short run comes to, and what it says."""
    told = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return told.returncode, told.stdout + told.stderr


def subjects(rows, bench):
    return {row["subject"]: row for row in rows if row["bench"] == bench}


def expect(row, fields):
    for name, kind in fields.items():
        value = row.get(name)
        assert isinstance(value, kind) or (kind is float and isinstance(value, int)), f"{name} in {row}"
        assert kind is str or value >= 0, f"{name} in {row}"


def check_rtt(program):
    found = subjects(rows_of(program, "rtt", "--size", "64"), "rtt")
    expect(found["scoll"], ENGINE | {"syscalls_per_op": float, "allocs_per_op": float, "messages_per_op": float})
    floor = "raw-uring" if rings_offered(program) else "raw-epoll"
    assert set(found) == {"scoll", "raw-blocking", "raw-epoll", floor, floor + " (A/A)"}, set(found)
    for name, row in found.items():
        expect(row, ALWAYS if name == floor else ALWAYS | RATIOS)


def check_bcast(program):
    rows = rows_of(program, "bcast", "--nodes", "4", "--size", "64", "--tree", "knomial:2", "--under-bulk", "--traced",
                   "--repaired", "--quorum", "3", "--kills", "2", "--zones", "2")
    found = subjects(rows, "bcast")
    ring = {"raw-tree-uring"} if rings_offered(program) else set()
    assert set(found) == {"scoll", "scoll-plain", "raw-tree", "raw-tree-epoll", "raw-tree-epoll (A/A)"} | ring, set(found)
    for row in found.values():
        expect(row, ALWAYS | TREE)
    expect(found["scoll-plain"], RATIOS | ENGINE | {"allocs_per_op": float, "cpu_us_leaf": float})
    assert found["scoll-plain"]["allocs_per_op"] == 4, found["scoll-plain"]  # each process's vector, and nothing else
    expect(found["scoll"], RATIOS | SCOLL_TREE | ENGINE)
    assert abs(found["scoll"]["messages_per_op"] - 6) < 1, found["scoll"]
    assert "tree_choice" not in found["scoll"], found["scoll"]
    beside = {"in_flight": int, "operations_per_s": float, "allocs_per_op": float, "syscalls_per_op": float}
    expect(subjects(rows, "bcast-many")["scoll"], ALWAYS | TREE | beside)
    expect(subjects(rows, "bcast-under-bulk")["scoll"], ALWAYS | TREE | beside | {"background_mib_per_s": float})
    assert subjects(rows, "bcast-under-bulk")["scoll"]["background_mib_per_s"] > 1, rows
    for bench in ("bcast-traced", "bcast-repaired"):
        expect(subjects(rows, bench)["scoll"], ALWAYS | TREE | beside | RATIOS)
    expect(subjects(rows, "bcast-quorum")["scoll"], ALWAYS | TREE | beside | RATIOS | {"quorum": int})
    zoned = {row["tree"]: row for row in rows if row["bench"] == "bcast-zoned"}
    assert set(zoned) == {"zoned:4,8", "knomial:8"}, zoned
    for row in zoned.values():
        expect(row, ALWAYS | TREE | {"zones": int, "edges_across": int, "allocs_per_op": float})
    expect(zoned["zoned:4,8"], RATIOS)
    assert zoned["zoned:4,8"]["edges_across"] == 1 and zoned["knomial:8"]["edges_across"] == 2, zoned  # of 1 and 3
    lost = subjects(rows, "bcast-loss")
    assert set(lost) == {"repair", "anew", "nobody dies"}, set(lost)
    for name, row in lost.items():
        expect(row, TREE | {"kills": int, "p50_us": float, "max_us": float})
        assert row["kills"] == 2, row
        if name != "nobody dies":
            expect(row, RATIOS_OF_TIME | {"in_all_p50_us": float})
            assert row["in_all_p50_us"] > row["p50_us"], row
    chosen = subjects(rows_of(program, "bcast", "--nodes", "5", "--size", "64", "--tree", "auto"), "bcast")
    for row in chosen.values():
        assert row["tree_choice"] == "auto" and row["tree"] != "auto", row
    assert 1 < chosen["scoll"]["predicted_us"] < 1e6, chosen["scoll"]
    pinned = rows_of(program, "bcast", "--nodes", "3", "--size", "64", "--tree", "auto", SCOLL_NODE_PINNED_TREE="chain")
    assert subjects(pinned, "bcast")["scoll"]["tree"] == "chain", pinned


def check_revoke(program):
    rows = rows_of(program, "revoke", "--nodes", "4")
    for bench in ("revoke", "revoke-under-replies"):
        found = {name.removeprefix("scoll "): row for name, row in subjects(rows, bench).items()}
        assert set(found) == {"last-leaf", "before", "before (A/A)", "last-notice", "interrupted", "first", "second",
                              "third", "notices"}, set(found)
        for name, row in found.items():
            expect(row, {"bench": str, "nodes": int} | ENGINE)
            expect(row, {"notices_per_node": float, "degree": int} if name == "notices" else
                   {"p50_us": float, "p99_us": float, "max_us": float})
        assert found["notices"]["notices_per_node"] < found["notices"]["degree"] + 1, found["notices"]
        expect(found["last-notice"], {"against": str, "p50_ratio": float})  # limits.json looks at it
        above = found["third"]["p50_ratio_low"] - found["before (A/A)"]["p50_ratio_high"]
        assert abs(found["third"]["above_aa"] - max(0, above)) < 0.01, (found["third"], found["before (A/A)"])


def check_stream(program):
    rows = rows_of(program, "stream", "--nodes", "4", "--size", "300000", "--tree", "chain")
    found = subjects(rows, "stream")
    assert set(found) == {"scoll", "pulls", "pulls (A/A)"}, set(found)
    for row in found.values():
        expect(row, ALWAYS | {"nodes": int, "mib_per_s": float, "extra_kib": float})
    expect(found["scoll"], RATIOS | ENGINE | {"tree": str})
    assert found["scoll"]["against"] == "pulls" and found["scoll"]["tree"] == "chain", found["scoll"]


def check_peers(program):
    """Where they were built; elsewhere one has to be told what to install."""
    folder = pathlib.Path(program).parent
    mpi, grpc = ((folder / peer).exists() for peer in ("scoll-bench-mpi", "scoll-bench-grpc"))
    if mpi:
        check_bulk_bcast_peers(program)
    for bench, is_built in {"bcast": mpi and grpc, "bulk-bcast": mpi}.items():
        if is_built:
            continue
        code, said = returned(program, bench, "--peers", "--quick")
        packages = ["libopenmpi-dev", "libgrpc++-dev", "protobuf-compiler-grpc"]
        assert code == 2 and any(name in said for name in packages) and f"./dev bench {bench} --peers" in said, said
    if not (mpi and grpc):
        return
    loaded = subjects(rows_of(program, "load", "--peers", "--share", "50", "--nodes", "3", "--job", "bcast"), "load-bcast")
    assert set(loaded) == {"scoll", "raw-epoll", "grpc"} and loaded["grpc"]["ops_per_s"] > 0, loaded
    rows, pictures = rows_and_pictures_of(program, "bcast", "--peers", "--nodes", "4", "--size", "8,64", "--at-once", "2")
    found = {row["subject"]: row for row in rows if row["bench"] == "bcast" and row["size"] == 64}
    for name in ("openmpi-tcp", "grpc"):
        expect(found[name], ALWAYS | TREE | RATIOS)
        assert found[name]["against"] == "raw-tree" and found[name]["cpu_us_per_op"] > 0, found[name]
        assert found[name]["rounds"] == found["scoll"]["rounds"], (found[name], found["scoll"])
        assert f"'{name} p50'" in pictures["bcast-over-size-nodes-4-knomial-4"], pictures


def check_ship(program):
    rows, pictures = rows_and_pictures_of(program, "ship", "--size", "0,64", "--at-once", "16,256", "--peers", "2,16")
    assert {row["subject"] for row in rows} == {"scoll", "transport-rtt", "transport-rtt (A/A)"}, rows
    for row in rows:
        expect(row, ALWAYS | {"in_flight": int, "peers": int, "ops_per_s": float, "allocs_per_op": float})
    assert {(row["size"], row["in_flight"], row["peers"]) for row in rows if row["subject"] == "scoll"} == {
        (0, 1, 1), (64, 1, 1), (0, 16, 1), (0, 256, 1), (0, 64, 2), (0, 64, 16)}, rows
    expected = {"ship-over-size-in-flight-1-peers-1", "ship-over-in-flight-size-0-peers-1",
                "ship-rate-over-in-flight-size-0-peers-1", "ship-over-peers-size-0-in-flight-64"}
    assert expected <= set(pictures), set(pictures)
    for name in expected:
        assert "'scoll" in pictures[name] and "'transport-rtt" in pictures[name], pictures[name]


def check_load(program):
    rows, pictures = rows_and_pictures_of(program, "load", "--share", "20,80", "--nodes", "4", "--stopped")
    for job, nodes in {"call": 2, "bcast": 4}.items():
        found = {(row["subject"], row["share"]): row for row in rows if row["bench"] == f"load-{job}"}
        assert set(found) == {(name, share) for name in ("scoll", "raw-epoll") for share in (20, 80)}, set(found)
        for (_, share), row in found.items():
            expect(row, ALWAYS | {"nodes": int, "possible_per_s": float, "ops_per_s": float, "p999_us": float,
                                  "syscalls_per_op": float})
            assert row["nodes"] == nodes and row["syscalls_per_op"] > 0, row
            assert abs(row["rate_per_s"] / row["possible_per_s"] - share / 100) < 0.01, row
            assert row["ops_per_s"] < 1.01 * row["rate_per_s"], row
        # Who waits behind a process that stands still is late from when he was due: a fifth of all, not one.
        for row in subjects(rows, f"load-{job}-stopped").values():
            assert row["stop_ms"] == 200 and row["p99_us"] > 150e3 and row["max_us"] >= 195e3, row
        assert set(subjects(rows, f"load-{job}-stopped")) == {"scoll", "raw-epoll"}, rows
        assert "'scoll p50'" in pictures[f"load-{job}-over-share-size-64-nodes-{nodes}"], set(pictures)


def check_cores(program):
    rows, pictures = rows_and_pictures_of(program, "cores", "--cores", "1,2", "--nodes", "3", "--at-once", "4")
    for job, nodes in {"call": 2, "bcast": 3}.items():
        found = {row["cores"]: row for row in rows if row["bench"] == f"cores-{job}"}
        assert set(found) == {1, 2}, found
        for cores, row in found.items():
            expect(row, ALWAYS | ENGINE | {"nodes": int, "in_flight": int, "ops_per_s": float, "allocs_per_op": float})
            assert row["nodes"] == nodes and row["in_flight"] == 4, row
            assert abs(row["busiest_reactor"] - 1 / cores) < 0.1 / cores, row  # all reactors work, each as much as the others
        expect(found[2], {"rate_ratio": float, "rate_ratio_low": float, "rate_ratio_high": float})
        assert found[2]["against"] == "1 core", found[2]
        assert any(name.startswith(f"cores-{job}-rate-over-cores") for name in pictures), set(pictures)


def check_bulk(program):
    rows, pictures = rows_and_pictures_of(program, "bulk", "--size", "4096,65536")
    assert {"bulk-over-size-pull", "bulk-rate-over-size-pull", "bulk-rate-over-size-push"} <= set(pictures), set(pictures)
    chunked = rows_of(program, "bulk", "--op", "pull", "--size", "1048576", "--chunk", "65536", "--depth", "2,4")
    assert {(row["chunk"], row["depth"]) for row in chunked if row["subject"] == "scoll"} == {
        (65536, 2), (65536, 4)}, chunked
    for op in ("pull", "push"):
        found = {row["subject"]: row for row in rows if row["op"] == op and row["size"] == 65536}
        assert set(found) == {"scoll", "scoll (hashed)", "raw-stream", "raw-stream (A/A)"}, set(found)
        for name, row in found.items():
            expect(row, (ALWAYS if name == "raw-stream" else ALWAYS | RATIOS) | {"gib_per_s": float})
        expect(found["scoll"], {"chunk": int, "depth": int, "allocs_per_op": float, "syscalls_per_op": float})


def check_bulk_bcast(program):
    rows = rows_of(program, "bulk-bcast", "--nodes", "4", "--size", "1000000", "--plan", "auto", "--raw-piece", "65536,262144")
    found = subjects(rows, "bulk-bcast")
    assert set(found) == {"scoll", "raw-tree", "raw-tree (A/A)"}, set(found)
    for name, row in found.items():
        expect(row, (ALWAYS if name == "raw-tree" else ALWAYS | RATIOS) | {
            "nodes": int, "plan": str, "chunk": int, "syscalls_per_op": float, "extra_kib": float})
        assert name == "scoll" or row["chunk"] in (65536, 262144), row
    expect(found["scoll"], ENGINE | {"asked": str, "predicted_us": float, "frames_per_op": float, "allocs_per_op": float})
    assert found["scoll"]["asked"] == "auto" and found["scoll"]["plan"] != "auto", found["scoll"]
    rows, pictures = rows_and_pictures_of(program, "bulk-bcast", "--nodes", "2,5", "--size", "1,200000", "--raw-piece", "65536",
                                          "--plan", "whole,kary:2,circulant", "--piece", "65536")
    by_plan = {(row["nodes"], row["size"], row["plan"]): row for row in rows if row["subject"] == "scoll"}
    assert set(by_plan) == {(nodes, size, plan) for nodes in (2, 5) for size in (1, 200000)
                            for plan in ("whole", "kary:2", "circulant")}, set(by_plan)
    for (nodes, _, plan), row in by_plan.items():
        assert row["chunk"] == 65536 and row["asked"] == plan + ", pieces of 65536", row
        assert row["frames_per_op"] >= 4 * (nodes - 1), row  # a request, an order, a piece and an answer for each member
    for name in ("bulk-bcast-over-size-nodes-5", "bulk-bcast-over-nodes-size-200000"):
        for line in ("scoll, kary:2, pieces of 65536 p50", "raw-tree p50"):
            assert f"'{line}'" in pictures[name], pictures


def check_bulk_bcast_peers(program):
    rows = rows_of(program, "bulk-bcast", "--peers", "--nodes", "3", "--size", "300000", "--plan", "auto",
                   "--raw-piece", "65536")
    found = subjects(rows, "bulk-bcast")
    assert set(found) == {"scoll", "raw-tree", "raw-tree (A/A)", "openmpi-tcp"}, set(found)
    expect(found["openmpi-tcp"], ALWAYS | RATIOS | {"nodes": int, "beside": str, "scoll_p50_ratio": float,
                                                       "scoll_p50_ratio_low": float})


def check_bulk_bcast_limits(program):
    """What the committed limits ask for is there, and breaks."""
    committed = json.loads((pathlib.Path(__file__).parent / "limits.json").read_text())
    limits = [limit for limit in committed if limit["where"]["bench"] == "bulk-bcast"]
    assert {limit["field"] for limit in limits} >= {"p50_ratio_low", "cpu_ratio", "allocs_per_op", "extra_kib"}, limits
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "limits.json"
        for limit in limits:  # of tiny sizes, and of no sense
            limit["where"] = {**limit["where"], "nodes": 2, "size": 65536}
            limit["at_most"] = -1
        file.write_text(json.dumps([limit for limit in limits if limit["where"]["subject"] == "scoll"]))
        code, said = returned(program, "bulk-bcast", "--quick", "--nodes", "2", "--size", "65536", "--raw-piece", "65536",
                              "--check", "--limits", str(file))
    assert code == 1 and "ABOVE" in said and " 0 without the figure, 0 unmeasured" in said, said


def check_security(program):
    rows = rows_of(program, "security")
    for case in ("rtt", "rtt-apart", "bcast", "pull"):
        found = {row["subject"]: row for row in rows if row["case"] == case}
        assert set(found) == {"scoll psk", "scoll clear", "scoll clear (A/A)"}, set(found)
        for name, row in found.items():
            expect(row, ALWAYS | ENGINE | {"nodes": int, "allocs_per_op": float} | ({} if name == "scoll clear" else RATIOS))
        assert found["scoll psk"]["against"] == "scoll clear", found
    flood = {row["subject"]: row for row in rows if row["case"] == "flood"}
    assert set(flood) == {"scoll psk", "scoll psk, strangers stay", "scoll psk, strangers hang up", "scoll psk (A/A)"}, set(flood)
    for name in set(flood) - {"scoll psk"}:
        expect(flood[name], RATIOS | {"p99_ratio": float, "p99_ratio_low": float, "p99_ratio_high": float})
    code, said = returned(program, "security", "--case", "nope")
    assert code != 0 and "--case" in said, said


def check_coro(program):
    rows, pictures = rows_and_pictures_of(program, "coro")
    cases = {row["case"] for row in rows if row["subject"] == "scoll"}
    assert cases == {"switch", "child", "queue", "timer"}, rows
    for row in rows:
        expect(row, {"bench": str, "case": str, "p50_ns": float, "cpu_ns_per_op": float})
    assert '"timer, scoll"' in pictures["coro-by-subject"], pictures


def check_limits(program):
    with tempfile.TemporaryDirectory() as folder:
        def judged_by(*limits):
            file = pathlib.Path(folder) / "limits.json"
            file.write_text(json.dumps([
                {"where": {"bench": bench, "subject": "scoll"} | where, "field": field, "at_most": most}
                for bench, where, field, most in limits]))
            return returned(program, "rtt", "--quick", "--size", "64", "--check", "--limits", str(file))

        kept, broken = ("rtt", {}, "p50_us", 1e9), ("rtt", {"size": 64}, "p50_us", 1e-9)
        code, said = judged_by(kept, ("bcast", {}, "p50_us", 0), ("rtt", {"size": 7}, "p50_us", 0))
        assert code == 0 and "1 compared, 0 above their limit, 0 without the figure, 1 unmeasured" in said, said
        code, said = judged_by(kept, broken)
        assert code == 1 and "ABOVE" in said and "2 compared, 1 above" in said, said
        code, said = judged_by(kept, ("rtt", {}, "p50ratio", 1))
        assert code == 1 and "no field" in said, said
        assert judged_by(("bcast", {}, "p50_us", 0))[0] == 1, "nothing was compared"
        (pathlib.Path(folder) / "bad.json").write_text('{"a": 1}')
        code, said = returned(program, "rtt", "--check", "--limits", folder + "/bad.json")
        assert code == 2 and "bad.json" in said and "# rtt" not in said, said


def check_bcast_limits(program):
    """`--check` measures what the limits of broadcasts are about, and says what it has not measured."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        _, said = returned(program, "bcast", "--quick", "--nodes", "10", "--size", "64", "--check", "--json", out.name)
        rows = json.load(out)
    assert {"bcast-traced", "bcast-repaired", "bcast-quorum"} <= {row["bench"] for row in rows}, rows
    assert subjects(rows, "bcast-quorum")["scoll"]["quorum"] == 9, rows
    for bench in ("bcast-traced scoll nodes=16", "bcast-loss repair nodes=64"):
        assert f"unmeasured {bench}" in said, said


def check_commands_of_limits(program):
    """Each limit is behind a command that knows its options."""
    committed = json.loads((pathlib.Path(__file__).parent / "limits.json").read_text())
    code, said = returned(program, "limits")
    lines = [line.split("#") for line in said.splitlines()]
    assert code == 0 and len(lines) == len(committed), said
    for (command, what), limit in zip(lines, committed):
        words = command.split()
        assert words[:2] == ["./dev", "bench"] and words[-1] == "--check" and limit["field"] in what, (command, what)
        options = [word for word in words[3:] if word.startswith("--")]
        known = returned(program, words[2], "--help")[1]
        assert limit["where"]["bench"].startswith(words[2]) and all(option in known for option in options), command
    assert "./dev bench bcast --nodes 64 --tree kary:8 --kills 20 --check" in said, said
    assert "./dev bench stream --nodes 16 --size 16777216 --check" in said, said


def check_refusals(program):
    """Before anything is measured, with the reason."""
    for arguments, reason in {
        ("rtt", "--json", "/nonexistent/rows.json"): "/nonexistent/rows.json",
        ("rtt", "--check", "--limits", "/nonexistent/limits.json"): "/nonexistent/limits.json",
        ("bcast", "--tree", "knomial:4", "nope"): "'nope'",
        ("bcast", "--nodes", "1"): "--nodes",
        ("rtt", "--size", "0"): "--size",
        ("bulk-bcast", "--plan", "nope"): "'nope'",
        ("verbs", "--case", "nope"): "--case",
        ("verbs", "--host", "10.0.0.1"): "--host",
        ("bulk-bcast", "--piece", "1000"): "--piece",
        ("nothing",): "nothing",
    }.items():
        code, said = returned(program, *arguments)
        assert code != 0 and reason in said and "p50" not in said, (arguments, code, said)


def check_gossip(program):
    rows = rows_of(program, "gossip", "--size", "1024", "--nodes", "16")
    merge, cycle = subjects(rows, "gossip-merge"), subjects(rows, "gossip-cycle")
    assert set(merge) == {"scoll", "memcpy", "memcpy (A/A)"}, set(merge)
    assert set(cycle) == {"scoll", "raw-udp", "raw-udp (A/A)"}, set(cycle)
    for row in merge.values():
        expect(row, ALWAYS | {"gb_per_s": float})
    for row in cycle.values():
        expect(row, {"nodes": int, "ping_bytes": int, "reply_bytes": int, "cpu_us_per_op": float, "allocs_per_op": float})
    assert merge["scoll"]["against"] == "memcpy" and cycle["scoll"]["against"] == "raw-udp"
    one = subjects(rows, "gossip-one")
    assert set(one) == set(cycle), set(one)
    for row in one.values():
        expect(row, {"nodes": int, "ping_bytes": int, "cpu_us_per_op": float, "allocs_per_op": float})
    assert one["scoll"]["against"] == "raw-udp" and one["scoll"]["allocs_per_op"] == 0, one["scoll"]


check_rtt(sys.argv[1])
check_ship(sys.argv[1])
check_bcast(sys.argv[1])
check_revoke(sys.argv[1])
check_stream(sys.argv[1])
check_peers(sys.argv[1])
check_load(sys.argv[1])
check_cores(sys.argv[1])
check_bulk(sys.argv[1])
check_bulk_bcast(sys.argv[1])
check_bulk_bcast_limits(sys.argv[1])
check_gossip(sys.argv[1])
check_security(sys.argv[1])
check_coro(sys.argv[1])
check_limits(sys.argv[1])
check_bcast_limits(sys.argv[1])
check_commands_of_limits(sys.argv[1])
check_refusals(sys.argv[1])
