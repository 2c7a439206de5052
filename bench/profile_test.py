#!/usr/bin/env python3
"""Tests how profile.py reads what callgrind and perf write, on small samples in their formats."""

import importlib.util
import pathlib

# By its path: the standard library has a module of the same name.
spec = importlib.util.spec_from_file_location("hop_profile", pathlib.Path(__file__).with_name("profile.py"))
hop_profile = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hop_profile)

CALLGRIND = """\
# callgrind format
positions: line
events: Ir

ob=(1) /x/scoll-bench
fl=(1) /x/src/transport/session/session.cpp
fn=(1) scoll::transport::session::deliver()
10 5
fi=(2) /usr/include/c++/12/bits/stl_vector.h
+3 7
fe=(1)
* 2
cob=(2) /usr/lib/libxxhash.so.0
cfi=(3) ???
cfn=(2) XXH3_64bits
calls=4 0
12 1000
fi=(4) /x/include/scoll/coro/task.hpp
-1 11

ob=(2)
fl=(3)
fn=(2)
0 900
"""

PERF = """\
  41
\tffffffff81000010 tcp_sendmsg ([kernel.kallsyms])
\tffffffff81000020 __sys_sendmsg ([kernel.kallsyms])

  41
\tffffffff81000030 finish_task_switch.isra.0 ([kernel.kallsyms])
\tffffffff81000040 __schedule ([kernel.kallsyms])
\tffffffff81000010 tcp_sendmsg ([kernel.kallsyms])

  42 

  41
\tffffffff81000050 do_syscall_64 ([kernel.kallsyms])
"""


def test_costs_go_to_the_layer_of_their_line():
    counted = hop_profile.instructions_by_layer(CALLGRIND.splitlines())
    # Inlined from the standard library: the caller's. The cost of the call itself is its callee's.
    assert counted == {"session and exchange": 14, "reactor and coroutines": 11, "checksum": 900}, counted


def test_samples_go_to_the_innermost_kind():
    seen = hop_profile.cpu_by_kind(PERF.splitlines())
    assert seen[41] == {"TCP and IP": 1, "sleeping and waking": 1, "entering, copying, other": 1}, seen
    assert seen[42] == {"user": 1}, seen


test_costs_go_to_the_layer_of_their_line()
test_samples_go_to_the_innermost_kind()
