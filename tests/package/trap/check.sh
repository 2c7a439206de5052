#!/usr/bin/env bash
# A project with traps must not build, and the message must name them. Without traps it is not searched again
# until it changes.
# usage: check.sh package|subproject PREFIX COMPILER WORK_FOLDER
set -euo pipefail
how=$1 prefix=$2 compiler=$3 work=$4
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
cp -r "$here/CMakeLists.txt" "$here/trap.cpp" "$here/include" "$work"
say() { printf '%s, as a %s\n' "$*" "$how" && exit 1; }
configure() { # OPTION ...
  cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" "$@" \
    >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
}
options=()
[[ $how == package ]] || options=(-DSUBPROJECT="$here/../../..")

configure "${options[@]}"
warned=$(grep -c 'may miscompile a co_await' "$work/log" || true)
version=$("$compiler" -dumpversion | cut -d. -f1)
if "$compiler" --version | grep -q clang || ((version >= 14)); then expected=0; else expected=1; fi
((warned == expected)) || say "warned $warned times about this compiler, expected $expected"
configure -DSCOLL_WARN_ABOUT_GCC=OFF
! grep -q 'may miscompile a co_await' "$work/log" || say "warned although that is switched off"

! cmake --build "$work/build" --target trap >"$work/log" 2>&1 || say "a project with traps was built"
for trap in trap.cpp:4 include/ask.hpp:4; do
  grep -q "^$work/$trap: co_await beside ?:" "$work/log" || { cat "$work/log" && say "no word about $trap"; }
done
! grep -q 'Building CXX object' "$work/log" || say "it was compiled before it was searched"

sed -i '/co_await/d' "$work/trap.cpp" "$work/include/ask.hpp"
cmake --build "$work/build" --target trap_co_await >"$work/log" 2>&1 || { cat "$work/log" && say "nothing is wrong with it now"; }
cmake --build "$work/build" --target trap_co_await >"$work/log" 2>&1
! grep -q 'Searching' "$work/log" || say "it was searched again although nothing had changed"
touch "$work/include/ask.hpp"
cmake --build "$work/build" --target trap_co_await >"$work/log" 2>&1
grep -q 'Searching' "$work/log" || say "it was not searched again although a header had changed"
