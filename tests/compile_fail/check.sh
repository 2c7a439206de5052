#!/usr/bin/env bash
# check.sh SOURCE COMPILER [FLAG...]
#
# SOURCE must be refused with a message that matches every "// expect-error: <extended regex>" line in it, and
# must be accepted with -DSCOLL_CONTROL: the control shows that the case fails for its reason and no other.
set -euo pipefail

source=$1
compile=("${@:2}" -fsyntax-only "$source")
export LC_ALL=C # plain quotes in messages

mapfile -t expected < <(sed -n 's|^.*// expect-error: *||p' "$source")
if ((${#expected[@]} == 0)); then
  echo "$source has no '// expect-error: <regex>' line"
  exit 1
fi

if ! control=$("${compile[@]}" -DSCOLL_CONTROL 2>&1); then
  printf 'the control does not compile:\n%s\n' "$control"
  exit 1
fi
if refused=$("${compile[@]}" 2>&1); then
  echo "this compiles, and must not"
  exit 1
fi
for regex in "${expected[@]}"; do
  if ! grep -Eq -e "$regex" <<<"$refused"; then
    printf 'refused, but no message matches: %s\n%s\n' "$regex" "$refused"
    exit 1
  fi
done
