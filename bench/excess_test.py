#!/usr/bin/env python3
"""Tests how excess.py reads what perf and addr2line write, on small samples in their formats."""

import importlib.util
import pathlib

spec = importlib.util.spec_from_file_location("excess", pathlib.Path(__file__).with_name("excess.py"))
excess = importlib.util.module_from_spec(spec)
spec.loader.exec_module(excess)

SAMPLES = """\
  41
\tffffffff81000010 tcp_sendmsg ([kernel.kallsyms])
\tffffffff81000020 __sys_sendmsg ([kernel.kallsyms])
\t            3010 scoll::transport::session::kick() (/x/bin/scoll-bench)

  41
\t            3010 scoll::transport::session::kick() (/x/bin/scoll-bench)
\t            3900 [unknown] (/x/bin/scoll-bench)

  42
\t            3020 std::vector<int, std::allocator<int> >::push_back(int&&) (/x/bin/scoll-bench)

  42
\t    7f0000000800 XXH3_64bits (/usr/lib/libxxhash.so.0)

  42
\tffffffff81000030 copy_user_generic ([kernel.kallsyms])
\tffffffff81000010 tcp_sendmsg ([kernel.kallsyms])

  42
\tffffffff81000040 handle_mm_fault ([kernel.kallsyms])
\t            3020 std::vector<int, std::allocator<int> >::push_back(int&&) (/x/bin/scoll-bench)

  42

  42
\tffffffff81000050 something_new ([kernel.kallsyms])

   -1
\tffffffff81000060 tcp_sendmsg ([kernel.kallsyms])

  77
\tffffffff81000060 tcp_sendmsg ([kernel.kallsyms])
"""

INLINED = """\
0x0000000000003010
/x/src/transport/session/session.cpp:10
0x0000000000003020
/usr/include/c++/12/bits/stl_vector.h:99
/x/build/../include/scoll/collective/bcast.hpp:7 (discriminator 2)
/x/src/transport/session/session.cpp:11
0x0000000000003030
/usr/include/c++/12/bits/stl_vector.h:99
"""


class lines_of_x(excess.Lines):
    def __init__(self):
        super().__init__("/y/scoll-bench")

    def learn(self, addresses):
        self.known = {a: excess.layer_of(files) for a, files in excess.inlined(INLINED.splitlines())}
        assert set(addresses) <= self.known.keys(), addresses


def test_code_belongs_to_the_innermost_source_of_the_project():
    layers = [excess.layer_of(files) for _, files in excess.inlined(INLINED.splitlines())]
    assert layers == ["session and exchange", "collective backend", "C library"], layers


def test_each_sample_is_counted_once():
    seen = excess.count(excess.frames_of_samples(SAMPLES.splitlines(), {41, 42}), lines_of_x())
    assert seen == {"TCP and IP": 1, "session and exchange": 1, "collective backend": 1, "checksum": 1, "copying": 1,
                    "page faults": 1, "other": 1}, seen


def test_the_cheaper_raw_tree_is_compared():
    round_of = lambda us: {"checksum": us, "other": 1.0}
    found = {"raw-tree-epoll": [round_of(9), round_of(8), round_of(7)], "raw-tree-uring": [round_of(5)] * 3,
             "scoll": [round_of(11), round_of(30), round_of(10)], "scoll-plain": [round_of(12)] * 3}
    rows = [(row["subject"], row["kind"], row["us"]) for row in excess.rows_of_case(16, 64, found)]
    assert rows == [("raw-tree", "checksum", "5.0"), ("raw-tree", "other", "1.0"), ("scoll", "checksum", "11.0"),
                    ("scoll", "other", "1.0"), ("scoll-plain", "checksum", "12.0"), ("scoll-plain", "other", "1.0")], rows


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
