#!/usr/bin/env bash
# needs: shard_server shardctl plan_b_servers
# The demo, on eight servers and a folder made for it: it checks the answers itself, and fails when one is wrong.
# Here it is checked that it did so, that awkward files are stored, and that nothing is left behind.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  cat "$work/output" >&2
  exit 1
}

mkdir -p "$work/source/deep/er" "$work/tmp"
for i in {1..300}; do printf 'file %s\n' {1..40} "$i" >"$work/source/deep/file-$i"; done
head -c 700000 /dev/urandom >"$work/source/deep/er/several chunks, 100% of them"
: >"$work/source/empty"
printf 'x' >"$work/source/ünï\"cödé"
printf 'latin 1' >"$work/source/"$'\xe9'
ln -s empty "$work/source/link"
mkfifo "$work/source/fifo"

TMPDIR=$work/tmp "$here/../../examples/shard_server/demo.sh" --nodes 8 --dir "$work/source" --install-mib 48 >"$work/output" 2>&1 ||
  fail "the demo ended with $?"

has() { grep -qE -- "$1" "$work/output" || fail "the output lacks: $1"; }
has '^node 1 \(8\)$'
has '^copied +304 objects, '
has '^servers +all 8 executed$'
has '^  node [1-8] +.*several chunks, 100% of them: content differs from what was stored$'
has '^PARTIAL ANSWER: 4 of 8 servers are in the answer$'
has '^  merged +4  nodes 1-4$'
has '^  unknown +4  nodes 5-8: delivery, connection_lost: '
has '^  absent +1  node 5: '
has '^entities +50,000$'
has '^pool 2 +nodes 2, 4, 6, 8$'
has '^servers +all 4 executed$'
has '^closed: node [1-8] has closed the servers for maintenance: new disks$'
has '^leader +node [1-8], which stores .*, since term 1$'
has 'node 3 has revoked the group, reason 42: plan B'
has '^installed +reference.bin, 48.0 MiB, XXH3 [0-9a-f]{16}$'
has '^on the disks of +7 servers, 336.0 MiB; their hash is [0-9a-f]{16}$'
has '^PARTIAL ANSWER: 7 of 8 servers are in the answer$'
has '^  merged +7  nodes 1-4, 6-8$'
has '^=> repeat this when node 5 can be reached: the others keep the file$'
has '^on the disks of +8 servers, 384.0 MiB; their hash is [0-9a-f]{16}$'
has '^8 servers stopped$'
has '^ *[0-9.]+ s  server 4 is killed$'
has '^ *[0-9.]+ s  server [1-6]: revoked '
has '^ *[0-9.]+ s  server [1-6]: plan A ended, [0-9.]+ s after the kill: revoked: node [1-6] has revoked the group'
has '^ *[0-9.]+ s  server 1: plan [0-9]+ servers 1 2 3 5 6 go on at block [0-9]+$'
has '^ *[0-9.]+ s  server 1: back all 4000 blocks, and every sum is right$'
has '^all 5 survivors finished; the last one left plan A [0-9.]+ s after the kill$'
has '^without a revoke [1-5] of 5 survivors waited for their deadline of 3\.0 s$'
[[ $(grep -c '^✓' "$work/output") == 27 ]] || fail "not all expectations were checked"
[[ -z $(ls -A "$work/tmp") ]] || fail "left behind: $(ls -A "$work/tmp")"
for process in /proc/[0-9]*; do
  command=$(tr '\0' ' ' 2>/dev/null <"$process/cmdline") || continue
  [[ $command != *"shard_server --cluster $work"* ]] || fail "still running: $command"
done
