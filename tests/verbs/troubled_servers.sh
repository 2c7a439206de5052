#!/usr/bin/env bash
# Runs in the machine that vm.py boots: four shard servers take files by RDMA while the network loses 2 % of what it carries and delays the
# rest by 5 ms; while one of them stands still, which is slow and no loss; and while one is killed, which costs its part alone.
# usage: troubled_servers.sh FOLDER_OF_PROGRAMS
set -euo pipefail
bin=$1
. "$(dirname "$0")/cluster.sh"

network() { # ARGUMENTS OF tc
  local device
  for device in /sys/class/infiniband/rxe*; do tc qdisc "$1" dev "eth${device##*rxe}" root netem "${@:2}"; done
}

install() { # NAME
  "$bin/shardctl" --timeout 240 --progress none install "$home/$1" >"$folder/$1.said" 2>&1
}

# Begins to install a file, and returns when the devices have read something of it.
begin_install() { # NAME
  local before
  before=$(read_by_devices 1 2 3 4)
  install "$1" &
  installing=$!
  for _ in {1..200}; do
    (($(read_by_devices 1 2) <= before)) || return 0
    kill -0 "$installing" 2>/dev/null || return 0
    sleep 0.02
  done
  fail "nothing of $1 was read"
}

for name in lossy slow dead; do head -c 4M /dev/urandom >"$home/$name"; done
start_servers verbs

network add delay 5ms loss 2%
install lossy || fail "not all have the file of the network with losses: $(cat "$folder/lossy.said")"
for id in 1 2 3 4; do has_file $id lossy; done
network del
echo "a network that loses 2 %: $(grep executed "$folder/lossy.said")"

begin_install slow
kill -STOP "${servers[3]}"
sleep 1
kill -CONT "${servers[3]}"
wait "$installing" || fail "a server that stood still for 1 s was lost: $(cat "$folder/slow.said")"
for id in 1 2 3 4; do has_file $id slow; done
echo "a server that stood still: $(grep executed "$folder/slow.said")"

begin_install dead
kill -KILL "${servers[4]}"
wait "${servers[4]}" 2>/dev/null || true
unset "servers[4]"
wait "$installing" && status=0 || status=$?
for id in 1 2 3; do has_file $id dead; done
grep -q '3 of 4 executed\|all 4 executed' "$folder/dead.said" || fail "others were lost with a server that was killed: $(cat "$folder/dead.said")"
echo "a server that was killed: status $status, $(grep executed "$folder/dead.said")"
stop_servers
