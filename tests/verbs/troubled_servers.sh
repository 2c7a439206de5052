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

# Begins to install a file, and returns when the last server has begun to write it. Asking it would take too long here.
begin_install() { # NAME
  install "$1" &
  installing=$!
  for _ in {1..500}; do
    if compgen -G "$folder/node-4/*/$1.*" >/dev/null; then return 0; fi
    sleep 0.02
  done
  fail "nothing of $1 has come"
}

head -c 4M /dev/urandom >"$home/lossy"
for name in slow dead; do head -c 16M /dev/urandom >"$home/$name"; done # some seconds
start_servers verbs

network add delay 5ms loss 2%
install lossy || fail "not all have the file of the network with losses: $(cat "$folder/lossy.said")"
for id in 1 2 3 4; do has_file $id lossy; done
network del
echo "a network that loses 2 %: $(grep executed "$folder/lossy.said")"

begin_install slow
kill -STOP "${servers[3]}"
sleep 1
kill -0 "$installing" || fail "the file was there before the server stood still"
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
((status != 0)) || fail "nobody noticed that a server was killed"
grep -qE '^ +(unknown|not reached) +1 +node 4: ' "$folder/dead.said" || fail "who was killed is not named: $(cat "$folder/dead.said")"
grep -q 'the others keep the file' "$folder/dead.said" || fail "the others were lost, too: $(cat "$folder/dead.said")"
echo "a server that was killed: $(grep -E '^ +(unknown|not reached)' "$folder/dead.said")"
stop_servers
