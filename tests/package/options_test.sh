#!/usr/bin/env bash
# Configures with options that the other tests do not use, and as a part of another project. It builds no
# library, because that takes longer than a test may.
# usage: options_test.sh COMPILER
set -euo pipefail
compiler=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/scoll-options.XXXXXX")
trap 'rm -rf "$work"' EXIT
major=$(sed -n 's/^#define SCOLL_VERSION "\([0-9]*\).*/\1/p' "$root/include/scoll/version.hpp")
configure() { # OPTION ...
  cmake -S "$root" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" "$@" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
}
expect_folders() { # LIBRARIES HEADERS, as pkg-config knows them
  local found
  found=$(PKG_CONFIG_PATH=$work/build pkg-config --variable=libdir scoll)
  [[ $found == "$1" ]] || { echo "libraries: expected $1, found $found" && exit 1; }
  found=$(PKG_CONFIG_PATH=$work/build pkg-config --variable=includedir scoll)
  [[ $found == "$2" ]] || { echo "headers: expected $2, found $found" && exit 1; }
}

echo "== folders inside of the prefix and outside"
configure -DSCOLL_BUILD_{TESTS,EXAMPLES,BENCH,TOOLS}=OFF -DCMAKE_INSTALL_PREFIX=/opt/scoll \
  -DCMAKE_INSTALL_{LIBDIR=lib/x,INCLUDEDIR=include}
expect_folders "$work/build/../../../lib/x" "$work/build/../../../include/scoll-$major"
configure -DCMAKE_INSTALL_{LIBDIR=/elsewhere/lib,INCLUDEDIR=include}
expect_folders /elsewhere/lib "/opt/scoll/include/scoll-$major"
configure -DCMAKE_INSTALL_{LIBDIR=lib,INCLUDEDIR=/elsewhere/include}
expect_folders "$work/build/../../lib" "/elsewhere/include/scoll-$major"

echo "== tests of what is built, and no others"
cluster_tests() { ctest --test-dir "$work/build" -N | sed -n 's|^ *Test *#.*: cluster/||p' | sort | xargs; }
scripts() { find "$root/tests/cluster" -name '*_test.*' -perm -u+x -printf '%f\n' | sed 's/[.].*//' | sort | xargs; }
expect_tests() { # SCRIPTS NUMBER
  local found
  found=$(cluster_tests)
  [[ $found == "$1" ]] || { echo "scripts: expected $1, found $found" && exit 1; }
  found=$(grep -c '"file": .*/tests/tools/scoll-sim/simulator_test.cpp"' "$work/build/compile_commands.json" || true)
  [[ $found == "$2" ]] || { echo "the simulator's tests are there $found times, expected $2" && exit 1; }
}
configure -DSCOLL_BUILD_TESTS=ON
expect_tests "" 0
configure -DSCOLL_BUILD_EXAMPLES=ON
expect_tests "demo_keys_test demo_test shardctl_clients_test shardctl_epochs_test shardctl_groups_test shardctl_install_test shardctl_ls_test shardctl_test" 0
configure -DSCOLL_BUILD_{TOOLS,EXAMPLES}=ON
expect_tests "$(scripts)" 1

echo "== as a folder of another project: its sources find the headers, and get nothing that they did not ask for"
cmake -G Ninja -S "$root/tests/package/subproject" -B "$work/subproject" -DSCOLL_SOURCES="$root" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
ninja -C "$work/subproject" consumer simulated >"$work/log" || { cat "$work/log" && exit 1; }
targets=$(ninja -C "$work/subproject" -t targets all)
[[ $targets == *"scoll_testing"* ]] || { echo "scoll::testing is not there" && exit 1; }
for other in tests_ scoll-sim gossipctl example_; do
  [[ $targets != *"$other"* ]] || { echo "$other is built for a project that uses the library" && exit 1; }
done
