#!/usr/bin/env bash
# Stores and fetches files with processes of the example remote_file: one server, and clients that come and go.
set -euo pipefail
program=$1
folder=$(mktemp -d)
server=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT
mkdir "$folder/served"

"$program" serve "$folder/served" > "$folder/said" &
server=$!
for _ in $(seq 100); do
  grep -q tcp:// "$folder/said" && break
  sleep 0.1
done
address=$(grep -o 'tcp://[0-9.:]*' "$folder/said")

head -c 3000017 /dev/urandom > "$folder/one"
: > "$folder/empty"
"$program" put "$address" "$folder/one"
"$program" put "$address" "$folder/one" two
"$program" put "$address" "$folder/empty"
for name in one two; do
  "$program" get "$address" "$name" "$folder/back"
  cmp "$folder/one" "$folder/back"
done
"$program" get "$address" empty "$folder/back"
cmp "$folder/empty" "$folder/back"

# Many clients at once.
for i in $(seq 12); do "$program" put "$address" "$folder/one" "many$i" > /dev/null & clients[i]=$!; done
for pid in "${clients[@]}"; do wait "$pid"; done
for i in $(seq 12); do cmp "$folder/one" "$folder/served/many$i"; done

# Mistakes are told, and nothing is left behind.
if "$program" get "$address" missing "$folder/none" 2> "$folder/why"; then exit 1; fi
grep -q 'No such file' "$folder/why"
[ ! -e "$folder/none" ]
if "$program" get tcp://127.0.0.1:1 one "$folder/none" --timeout 3 2> "$folder/why"; then exit 1; fi
grep -q 'unreachable' "$folder/why"
status=0
"$program" get 2> /dev/null || status=$?
[ "$status" = 2 ]

kill -TERM "$server"
wait "$server"
server=
echo "remote_file: all files came back the same"
