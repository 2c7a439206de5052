#!/usr/bin/env bash
# needs: shard_server shardctl
# The demo with keys: all that it expects of its servers holds while their links and their gossip are guarded.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source" "$work/tmp"
for i in {1..40}; do printf 'file %s\n' {1..40} "$i" >"$work/source/file-$i"; done

status=0
TMPDIR=$work/tmp "$here/../../examples/shard_server/demo.sh" --nodes 8 --dir "$work/source" --install-mib 8 --keys \
  >"$work/output" 2>&1 || status=$?
met=$(grep -c '^✓' "$work/output") || true
if ((status != 0 || met != 27)) || ! grep -q 'prove that they have the key of this cluster' "$work/output"; then
  cat "$work/output" >&2
  echo "FAILED: the demo with keys ended with $status, and $met of its 27 expectations were met" >&2
  exit 1
fi
