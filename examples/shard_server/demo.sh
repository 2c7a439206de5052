#!/usr/bin/env bash
# Starts a cluster of shard servers on this machine and walks through what it is for: one question, asked over a
# tree, one merged answer, and an exact account when a server dies in the middle. Leaves nothing behind.
set -euo pipefail

usage() {
  cat <<'END'
usage: ./dev demo [--nodes N] [--dir DIR] [--max-objects N] [--max-mib N] [--install-mib N]
                  [--transport T] [--keys] [--keep]

  --nodes N         servers to start, 6 to 1024 (default 16)
  --dir DIR         what to store in them (default /usr/share/doc, or what else has a thousand files)
  --max-objects N   at most so many files of it (default 4000)
  --max-mib N       at most so many MiB of it (default 200)
  --install-mib N   a file of so many MiB is installed on all servers, 8 to 4096 (default: 2048 in all)
  --transport T     of links: tcp (default), verbs (RDMA), or tcp+verbs: messages by TCP and bulk data by RDMA
  --keys            let the servers talk only to each other: a key, which links and gossip prove and encrypt with
  --keep            leave the servers' folder, logs included, and say where it is
END
}

if [[ -t 1 ]]; then bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' off=$'\e[0m'; else bold='' dim='' red='' green='' off=''; fi
chapter() { printf '\n%s== %s%s\n' "$bold" "$*" "$off"; }
note() { printf '%s%s%s\n' "$dim" "$*" "$off"; }
fail() {
  printf '%sdemo: %s%s\n' "$red" "$*" "$off" >&2
  exit 1
}
expect() { # WHAT WANTED FOUND
  [[ $2 == "$3" ]] || fail "$1: expected '$2', found '$3'"
  printf '%s✓ %s%s\n' "$green" "$1" "$off"
}

nodes=16 source='' max_objects=4000 max_mib=200 install_mib='' transport=tcp keys='' keep=''
while (($#)); do
  case $1 in
    --nodes | --dir | --max-objects | --max-mib | --install-mib | --transport)
      [[ $# -ge 2 ]] || { usage >&2 && exit 2; }
      case $1 in
        --nodes) nodes=$2 ;;
        --dir) source=$2 ;;
        --max-objects) max_objects=$2 ;;
        --max-mib) max_mib=$2 ;;
        --install-mib) install_mib=$2 ;;
        --transport) transport=$2 ;;
      esac
      shift
      ;;
    --keys) keys=yes ;;
    --keep) keep=yes ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done
if ! [[ $nodes =~ ^[0-9]{1,4}$ ]] || ((nodes < 6 || nodes > 1024)); then usage >&2 && exit 2; fi
[[ -n $install_mib ]] || install_mib=$((nodes > 256 ? 8 : 2048 / nodes))
if ! [[ $install_mib =~ ^[0-9]{1,4}$ ]] || ((install_mib < 8 || install_mib > 4096)); then usage >&2 && exit 2; fi
[[ $transport =~ ^(tcp|verbs|tcp\+verbs)$ ]] || { usage >&2 && exit 2; }
if [[ -z $source ]]; then
  for source in /usr/share/doc /usr/include /usr /etc; do
    found=$(find "$source/" -type f 2>/dev/null | head -1000 | wc -l) || true # head ends find
    ((found < 1000)) || break
  done
fi
[[ -d $source ]] || fail "there is no folder '$source'"

bin=${SCOLL_BIN_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/release/bin}
[[ -x $bin/shard_server && -x $bin/shardctl && -x $bin/plan_b_servers ]] || fail "no shard_server in $bin: ./dev demo builds it"

# In memory if there is room: thousands of files that live for seconds are not worth a disk's time.
# Each server has its file of the installation twice for a moment: the old one and the new one.
needed_mib=$((2 * max_mib + (2 * nodes + 1) * install_mib))
room_mib() { df --output=avail -B 1M "$1" 2>/dev/null | tail -1; }
place=${TMPDIR:-/tmp}
if [[ -z ${TMPDIR:-} && -w /dev/shm ]] && (($(room_mib /dev/shm) > needed_mib + 2 * max_mib)); then place=/dev/shm; fi
(($(room_mib "$place") > needed_mib)) || fail "less than $needed_mib MiB are free in $place: set TMPDIR, or lower --install-mib"
home=$(mktemp -d "$place/scoll-demo.XXXXXX")
export SHARD_CLUSTER=$home/cluster.toml
declare -A pids=()

clean_up() {
  local status=$? pid
  trap - EXIT
  for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for _ in {1..60}; do
    [[ -n $(jobs -rp) ]] || break
    sleep 0.1
  done
  for pid in $(jobs -rp); do kill -KILL "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  if [[ -n $keep ]]; then note "kept: $home"; else rm -rf "$home"; fi
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Runs shardctl, showing command and output; sets `output` and `status`.
ctl() {
  printf '%s$ shardctl %s%s\n' "$dim" "$*" "$off"
  status=0
  output=$("$bin/shardctl" "$@") || status=$?
  printf '%s\n' "$output"
}
# The text after a name at the beginning of a line of `output`.
field() { sed -n "s/^ *$1  *\([^ ].*\)/\1/p" <<<"$output"; }
# "1-3, 7" as "1 2 3 7".
expand() {
  local range ids=()
  for range in ${1//,/ }; do mapfile -t -O ${#ids[@]} ids < <(seq "${range%-*}" "${range#*-}"); done
  echo "${ids[*]}"
}
# The servers that the account of `output` has in a state.
servers() { expand "$(sed -n "s/^  $1  *[0-9]*  nodes\{0,1\} \([0-9, -]*\).*/\1/p" <<<"$output")"; }

chapter "$nodes servers, each a process with its own folder"
place_of_servers=()
if [[ $transport != tcp ]]; then
  devices=$("$bin/scoll-info" devices) || fail "no RDMA here: $devices"
  hosts=$(awk '$2 == "RoCEv2" && $1 ~ /^[0-9.]+$/ { print $1 }' <<<"$devices" | paste -sd, -)
  place_of_servers=(--transport "$transport" --hosts "$hosts")
  # Many servers share one machine, whose memory may not be locked for all of them as if each had its own.
  export SCOLL_VERBS_RECEIVE_SLOTS=512 SCOLL_VERBS_SEND_SLABS=256 SCOLL_VERBS_READ_SLABS=8
  note "links by $transport, on $hosts"
fi
"$bin/shardctl" init --nodes "$nodes" --dir "$home" --pools 2 "${place_of_servers[@]}" >/dev/null
if [[ -n $keys ]]; then
  (umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$home/ring")
  printf '\n[security]\nmode = "psk"\nkeys = "ring"\n' >>"$SHARD_CLUSTER"
  note 'their links and their gossip prove that they have the key of this cluster, and are encrypted'
fi
start_server() { # ID
  "$bin/shard_server" --cluster "$SHARD_CLUSTER" --node "$1" --data "$home/node-$1" --log "$home/node-$1.log" \
    2>"$home/node-$1.err" &
  pids[$1]=$!
}
await_server() { # ID
  until [[ -S $home/node-$1.sock ]] && "$bin/shardctl" --node "$1" status >/dev/null 2>&1; do
    kill -0 "${pids[$1]}" 2>/dev/null || fail "server $1 did not start: $(cat "$home/node-$1".{err,log})"
    sleep 0.02
  done
}
# Waits until server 1 has heard that so many others are in a state, and shows what it knows.
await_members() { # STATE COUNT
  local begun=$EPOCHREALTIME
  for _ in {1..600}; do
    output=$("$bin/shardctl" --node 1 members)
    [[ $(expand "$(field "$1")" | wc -w) != "$2" ]] || break
    sleep 0.05
  done
  note "after $(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $begun }") s:"
  ctl --node 1 members
}
for ((id = 1; id <= nodes; ++id)); do start_server $id; done
for ((id = 1; id <= nodes; ++id)); do await_server $id; done
note "A server that starts listens to the gossip for a while before it speaks: the others may have to notice a death first."
await_members alive "$nodes"
note "A question asked of server 1 takes this tree; the answers merge on the way back."
ctl tree

chapter "Store $source: each server copies the files that it owns"
ctl ingest "$source" --max-objects "$max_objects" --max-mib "$max_mib"
expect "all servers took part" 0 $status

chapter "How much is there?"
ctl df
expect "all servers executed" "all $nodes executed" "$(field servers)"
objects=$(field objects)
objects=${objects//,/}
ctl top -k 3
((objects > 0)) || fail "there are no files in $source"
victim_object=$(sed -n '1s/.*node [0-9]* *//p' <<<"$output")

chapter "Is it all still what was stored? Every server hashes every object"
ctl scrub
expect "nothing is damaged" 0 "$(field damaged)"

chapter "One bit flips on one disk"
ctl where "$victim_object"
file=$(field file) owner=$(field node)
(($(stat -c %s "$file") > 100)) || fail "even the largest object is too small to be damaged"
byte=$(od -An -tu1 -j100 -N1 "$file")
printf '%b' "\\x$(printf %02x $((byte ^ 1)))" | dd of="$file" bs=1 seek=100 conv=notrunc status=none
note "flipped a bit of byte 100 in that file"
ctl scrub
expect "one object is damaged" 1 "$(field damaged)"
expect "the answer names it" "node $owner $victim_object: content differs from what was stored" \
  "$(sed -n 's/^  \(node [0-9]*\) */\1 /p' <<<"$output")"
ctl put "/$victim_object"
note "stored once more from the source"

chapter "A layout: 50,000 slots, which each server pulls from its parent in the tree"
ctl layout
expect "all servers know their slots" "50,000" "$(field entities)"
expect "every object is in one of them" "$objects" "$(field objects | sed 's/ .*//; s/,//g')"

chapter "Pools: every server looks them up in the cluster file, and no message makes them"
ctl pools
ctl pool 2
expect "the servers of pool 2 executed, and nobody else was asked" "all $((nodes / 2)) executed" "$(field servers)"

chapter "Maintenance: no writes, a leader that all agree on, and a last broadcast that ends it"
ctl maintenance begin --note "new disks"
ctl put "/$victim_object"
expect "a write is refused" 3 $status
ctl leader
leader=$(field leader)
ctl --node 3 leader
expect "any other server names the same leader" "$leader" "$(field leader)"
ctl maintenance end
expect "it is over on all servers" "all $nodes executed" "$(field servers)"
ctl put "/$victim_object"
expect "writes are accepted again" 0 $status

chapter "A scrub turns out to be a bad idea: server 3 revokes it, and the next one runs at once"
note "\$ shardctl scrub --pace 5000 &"
"$bin/shardctl" scrub --pace 5000 --progress lines >"$home/revoked" 2>"$home/progress" &
scrubbing=$!
until grep -q " of .* objects" "$home/progress"; do
  kill -0 "$scrubbing" 2>/dev/null || fail "the scrub did not run: $(cat "$home/revoked")"
  sleep 0.05
done
ctl --node 3 revoke --code 42 --text "plan B"
wait "$scrubbing" && fail "the scrub was not revoked"
cat "$home/revoked"
expect "who waits for it reads why it has ended" "node 3 has revoked the group, reason 42: plan B" \
  "$(grep -o 'node 3 has revoked the group, reason 42: plan B' "$home/revoked" | head -1)"
ctl scrub
expect "plan B ran on all servers" "all $nodes executed" "$(field servers)"

# An interior server: not the root, and with others below it.
read -r victim subtree < <("$bin/shardctl" tree --form list | awk '$3 != $1 && NF > 5 { $2 = $3 = $4 = $5 = ""; print; exit }')
survivors=$(comm -23 <(seq "$nodes" | sort) <(xargs -n1 <<<"$victim $subtree" | sort) | sort -n | xargs)

chapter "Server $victim is killed in the middle of a scrub; ${subtree// /, } are below it"
pace=$((2500 * nodes / objects)) # so that it lasts 2.5 s
note "\$ shardctl scrub --pace $pace --progress lines"
status=0
output=''
while IFS= read -r line; do
  printf '%s\n' "$line"
  output+=$line$'\n'
  if [[ $line =~ \(([0-9]+)%\) && -n ${pids[$victim]:-} ]] && ((BASH_REMATCH[1] >= 25)); then
    kill -KILL "${pids[$victim]}"
    wait "${pids[$victim]}" 2>/dev/null || true # before the shell remarks on it
    unset "pids[$victim]"
    note "kill -KILL server $victim"
  fi
done < <("$bin/shardctl" scrub --pace "$pace" --progress lines 2>&1 || echo "exit status $?")
expect "the answer is partial" "exit status 1" "$(grep -o 'exit status .*' <<<"$output")"
expect "unknown are server $victim and those below it, nobody else" "$victim $subtree" "$(servers unknown)"
expect "everybody else executed and is in the answer" "$survivors" "$(servers merged)"

chapter "Gossip notices, and the others go on"
await_members dead 1
expect "server 1 has heard that server $victim is dead" "$victim" "$(field dead)"
ctl df
expect "a question to all names the dead and sends nothing" 3 $status
ctl df --living
expect "a question to the living leaves out server $victim alone" "$victim" "$(servers absent)"

chapter "Server $victim comes back"
start_server "$victim"
await_server "$victim"
await_members alive "$nodes"
ctl df
expect "all servers executed" "all $nodes executed" "$(field servers)"

chapter "A file of $install_mib MiB for all servers, piece by piece; server $victim is killed while it comes"
head -c "${install_mib}M" /dev/urandom >"$home/reference.bin"
received() { # ID: the bytes of the file that have come to a server
  local size
  size=$(stat -c %s "$home/node-$1/incoming/"* 2>/dev/null) || size=0
  echo "${size%%$'\n'*}"
}
note "\$ shardctl install $home/reference.bin --progress lines"
"$bin/shardctl" install "$home/reference.bin" --progress lines >"$home/installed" 2>"$home/progress" &
installing=$!
until (($(received "$victim") > install_mib << 18)); do # a quarter
  kill -0 "$installing" 2>/dev/null || fail "the installation did not run: $(cat "$home/installed")"
  sleep 0.01
done
kill -KILL "${pids[$victim]}"
wait "${pids[$victim]}" 2>/dev/null || true
unset "pids[$victim]"
note "kill -KILL server $victim"
status=0
wait "$installing" || status=$?
cat "$home/progress"
output=$(cat "$home/installed")
printf '%s\n' "$output"
expect "the answer is partial" 1 $status
expect "server $victim alone is lost; those below it were asked once more" "$victim" "$(servers unknown)"
expect "all others have the file on their disks" "$(xargs -n1 <<<"$survivors $subtree" | sort -n | xargs)" "$(servers merged)"
for id in "${!pids[@]}"; do
  cmp "$home/reference.bin" "$home/node-$id/installed/reference.bin" || fail "server $id has another file"
  [[ -z $(ls -A "$home/node-$id/incoming") ]] || fail "server $id has kept a half of the file"
done
note "compared, byte by byte. The most memory that one of the servers has had, server 1 aside, which maps the file:"
for id in "${!pids[@]}"; do ((id == 1)) || sed -n 's/^VmHWM: *//p' "/proc/${pids[$id]}/status"; done | sort -n | tail -1

chapter "Server $victim comes back without the file, and gets it"
[[ -n $(ls -A "$home/node-$victim/incoming") ]] || fail "server $victim has nothing of the file"
start_server "$victim"
await_server "$victim"
expect "what it had of the file is gone" "" "$(ls -A "$home/node-$victim/incoming")"
await_members alive "$nodes"
ctl install "$home/reference.bin"
expect "all servers executed" "all $nodes executed" "$(field servers)"
cmp "$home/reference.bin" "$home/node-$victim/installed/reference.bin" || fail "server $victim has another file"

chapter "Stop"
ctl stop --all
expect "all stopped by themselves" "$nodes servers stopped" "$(head -1 <<<"$output")"
for id in "${!pids[@]}"; do
  wait "${pids[$id]}" || fail "server $id ended with an error: $(tail -1 "$home/node-$id.log")"
  unset "pids[$id]"
done
chapter "Plan A and plan B: a ring of servers is cut, revoked, shrunk, and goes on"
note "\$ plan_b_servers"
"$bin/plan_b_servers" || fail "the survivors of the ring did not finish"
note "\$ plan_b_servers --without-revoke --deadline-ms 3000"
"$bin/plan_b_servers" --without-revoke --deadline-ms 3000 || fail "nobody waited, although nobody was told"

printf '\n%sDone in %s s.%s\n' "$bold" "$SECONDS" "$off"
