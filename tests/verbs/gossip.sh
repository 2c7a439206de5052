#!/usr/bin/env bash
# Runs in the machine that vm.py boots: four daemons of gossipctl gossip over RDMA, sealed. One is killed and started again, with
# another queue pair: the others must call it rebooted, once, and tell of nothing else but that it was dead before, because it listens
# for longer than their threshold when it starts.
# usage: gossip.sh FOLDER_OF_PROGRAMS
set -euo pipefail
bin=$1
home=$(mktemp -d)
export GOSSIPCTL_CONFIG=$home/gossip.toml
second=verbs://10.0.0.2:7400
fail() {
  echo "FAILED: $*" >&2
  tail -n 5 "$home"/*/log "$home"/watch-* >&2 || true
  "$bin/gossipctl" stop --all >/dev/null 2>&1 || true
  exit 1
}
all_alive() { "$bin/gossipctl" --self 0 members >/dev/null && "$bin/gossipctl" --self 3 members >/dev/null; }

"$bin/gossipctl" init --participants 'verbs://10.0.0.[1-4]:7400' --interval-ms 500 --rtt-ms 100 --with-key --directory "$home"
"$bin/gossipctl" --wait 60 start --all || fail "not all have started"
for _ in {1..200}; do
  if all_alive; then break; fi
  sleep 0.2
done
all_alive || fail "not all are alive: $("$bin/gossipctl" --self 0 members)"
for i in 0 2 3; do "$bin/gossipctl" --self $i watch >"$home/watch-$i" & done
sleep 1
kill -KILL "$("$bin/gossipctl" --self 1 --json status | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')"
"$bin/gossipctl" --wait 60 --self 1 start || fail "the second one has not started again"
for _ in {1..300}; do
  if (($(grep -l rebooted "$home"/watch-* | wc -l) == 3)); then break; fi
  sleep 0.2
done
sleep 5
for i in 0 2 3; do
  told=$(awk '{ print $3, $4 }' "$home/watch-$i" | paste -sd,)
  [[ $told == "rebooted $second" || $told == "dead $second,rebooted $second" ]] || fail "participant $i tells: $told"
done
"$bin/gossipctl" --self 2 members
"$bin/gossipctl" stop --all >/dev/null
wait
rm -rf "$home"
