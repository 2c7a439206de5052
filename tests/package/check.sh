#!/usr/bin/env bash
# Installs the built files as a user would, and has another project find them, build against them and run:
# with find_package, with pkg-config from a moved tree, and from the Debian packages.
# usage: check.sh BUILD_FOLDER COMPILER
set -euo pipefail
build=$1 compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/scoll-package.XXXXXX")
trap 'rm -rf "$work"' EXIT
say() { printf '== %s\n' "$*"; }
expect() { # WHAT WANTED FOUND
  [[ $2 == "$3" ]] || { printf '%s: expected\n%s\nfound\n%s\n' "$1" "$2" "$3" && exit 1; }
}
rdma=$(find "$build" -maxdepth 1 -name scoll-verbs.pc) # empty: scoll::verbs is not built
version=$(sed -n 's/^#define SCOLL_VERSION "\(.*\)"/\1/p' "$here/../../include/scoll/version.hpp")

consumer_finds() { # PREFIX
  cmake -S "$here/consumer" -B "$work/consumer" -U scoll_DIR -DCMAKE_PREFIX_PATH="$1" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE=Debug >"$work/configure.log" || { cat "$work/configure.log" && exit 1; }
  grep -q "^scoll_DIR:PATH=$1/" "$work/consumer/CMakeCache.txt" || { echo "found elsewhere than in $1" && exit 1; }
  cmake --build "$work/consumer"
  expect "the consumer" "scoll $version: ok" "$("$work/consumer/consumer")"
  expect "the consumer of scoll::testing" "in virtual time: ok" "$("$work/consumer/simulated")"
  needs_no_libibverbs "$work/consumer/consumer"
  if [[ -z $rdma ]]; then
    [[ ! -e $work/consumer/rdma ]] || { echo "scoll::verbs was found, and is not built" && exit 1; }
    return
  fi
  expect "the consumer of scoll::verbs" "rdma: ok" "$("$work/consumer/rdma")"
}

needs_no_libibverbs() { # PROGRAM
  if ldd "$1" | grep ibverbs; then echo "$1 needs libibverbs" && exit 1; fi
}

has_public_headers_only() { # PREFIX
  local folder=$1/include/scoll-${version%%.*} private
  [[ -e $folder/scoll/node.hpp && -e $folder/transport/sim/sim_network.hpp ]] || { echo "no headers in $folder" && exit 1; }
  private=$(cd "$here/../../src" && find . -name '*.hpp')
  [[ $private == *engine.hpp* ]] || { echo "src has no private headers" && exit 1; }
  for header in $private; do
    [[ ! -e $folder/$header ]] || { echo "$header is private and was installed" && exit 1; }
  done
}

say "find_package"
cmake --install "$build" --prefix "$work/first" >"$work/install.log"
consumer_finds "$work/first"
has_public_headers_only "$work/first"

say "a co_await that compilers get wrong"
for how in package subproject; do
  "$here/trap/check.sh" "$how" "$work/first" "$compiler" "$work/trap-$how"
done

say "a version that is too new is refused"
sed 's/scoll 0.1/scoll 99.0/' "$here/consumer/CMakeLists.txt" >"$work/CMakeLists.txt"
cp "$here"/consumer/*.cpp "$work"
if cmake -S "$work" -B "$work/refused" -DCMAKE_PREFIX_PATH="$work/first" >"$work/refused.log" 2>&1; then
  echo "it was taken" && exit 1
fi
grep -q "scoll-config.cmake, version: $version" "$work/refused.log"

say "pkg-config, after the tree has been moved"
mv "$work/first" "$work/second"
libraries=$(cd "$work/second" && find . -name scoll.pc -printf '%h')
export PKG_CONFIG_PATH=$work/second/$libraries
expect "pkg-config's version" "$version" "$(pkg-config --modversion scoll)"
mapfile -t flags < <(pkg-config --cflags --libs scoll | xargs -n1)
"$compiler" -std=c++20 -O0 "$here/consumer/consumer.cpp" -o "$work/plain" "${flags[@]}"
expect "the consumer" "scoll $version: ok" "$("$work/plain")"
needs_no_libibverbs "$work/plain"
if [[ -n $rdma ]]; then
  expect "the version of scoll-verbs" "$version" "$(pkg-config --modversion scoll-verbs)"
  mapfile -t flags < <(pkg-config --cflags --libs scoll-verbs | xargs -n1)
  "$compiler" -std=c++20 -O0 "$here/consumer/rdma.cpp" -o "$work/rdma" "${flags[@]}"
  expect "the consumer of scoll::verbs" "rdma: ok" "$("$work/rdma")"
fi

if ! command -v dpkg-deb >/dev/null || ! command -v dpkg-shlibdeps >/dev/null; then
  say "no Debian packages here"
  exit 0
fi
say "Debian packages"
cpack --config "$build/CPackConfig.cmake" -B "$work/packages" >"$work/cpack.log" || { cat "$work/cpack.log" && exit 1; }
for package in libscoll-dev scoll-tools; do
  file=$(echo "$work/packages/${package}_${version}"_*.deb)
  expect "the name in $package" "$package" "$(dpkg-deb -f "$file" Package)"
  dpkg-deb -x "$file" "$work/root"
done
depends=$(dpkg-deb -f "$work"/packages/libscoll-dev_*.deb Depends)
expect "what libscoll-dev needs" "libfmt-dev, liburing-dev, libxxhash-dev, libssl-dev, pkgconf | pkg-config" "$depends"
[[ $(dpkg-deb -f "$work"/packages/scoll-tools_*.deb Depends) == *libc6* ]]

say "the library of libscoll-dev"
consumer_finds "$work/root/usr"
has_public_headers_only "$work/root/usr"
PKG_CONFIG_PATH=$(dirname "$(find "$work/root" -name scoll.pc)")
expect "pkg-config's version" "$version" "$(pkg-config --modversion scoll)"
mapfile -t flags < <(pkg-config --cflags --libs scoll | xargs -n1)
"$compiler" "$work/consumer/CMakeFiles/consumer.dir/consumer.cpp.o" -o "$work/packaged" "${flags[@]}"
expect "the consumer" "scoll $version: ok" "$("$work/packaged")"

say "the programs of scoll-tools"
programs=$work/root/usr/bin
expect "all of them" "gossipctl scoll-info scoll-sim" "$(cd "$programs" && echo *)"
expect "scoll-info's version" "$version" "$("$programs/scoll-info" --version)"
expect "what scoll-info says first" "scoll    $version" "$("$programs/scoll-info" | sed -n 1p)"
expect "gossipctl's help" "Who is alive: " "$("$programs/gossipctl" --help | grep -o '^Who is alive: ')"
"$programs/scoll-sim" --seed 1 --quiet
say "all of it works"
