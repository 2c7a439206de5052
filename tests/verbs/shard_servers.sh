#!/usr/bin/env bash
# Runs in the machine that vm.py boots: four shard servers answer a question and take a file, all by RDMA, and then with bulk data alone by
# RDMA. The devices must have read the file, and the servers must say so.
# usage: shard_servers.sh FOLDER_OF_PROGRAMS
set -euo pipefail
bin=$1
home=$(mktemp -d)
declare -A servers=()
fail() {
  echo "FAILED: $*" >&2
  tail -n 3 "$home"/*/node-*.log >&2 || true
  exit 1
}
stop_all() {
  for id in "${!servers[@]}"; do kill -KILL "${servers[$id]}" 2>/dev/null || true; done
}
trap stop_all EXIT
export SCOLL_VERBS_RECEIVE_SLOTS=256 SCOLL_VERBS_SEND_SLABS=64 SCOLL_VERBS_READ_SLABS=4 SCOLL_NODE_RTT_ESTIMATE=500ms
export SCOLL_LINK_RECONNECT_GRACE=20s SCOLL_VERBS_CONNECT_LIMIT=15s

devices=$("$bin/scoll-info" devices) || fail "no device can be used: $devices"
echo "$devices"
hosts=$(awk '$2 == "RoCEv2" && $1 ~ /^[0-9.]+$/ { print $1 }' <<<"$devices" | paste -sd, -)
head -c 2M /dev/urandom >"$home/file"

for transport in verbs tcp+verbs; do
  folder=$home/$transport
  "$bin/shardctl" init --nodes 4 --dir "$folder" --transport "$transport" --hosts "$hosts" >/dev/null
  export SHARD_CLUSTER=$folder/cluster.toml SCOLL_NODE_CONTROL="$folder/info-{node}"
  for id in 1 2 3 4; do
    "$bin/shard_server" --cluster "$SHARD_CLUSTER" --node $id --data "$folder/node-$id" --log "$folder/node-$id.log" &
    servers[$id]=$!
  done
  for id in 1 2 3 4; do
    for _ in {1..300}; do
      if "$bin/shardctl" --node $id status >/dev/null 2>&1; then break; fi
      kill -0 "${servers[$id]}" 2>/dev/null || fail "server $id did not start"
      sleep 0.1
    done
  done
  "$bin/shardctl" --timeout 120 df | tee "$folder/df"
  grep -q 'all 4 executed' "$folder/df" || fail "not all have answered by $transport"
  "$bin/shardctl" --timeout 240 --progress none install "$home/file" | tee "$folder/install"
  grep -q 'all 4 executed' "$folder/install" || fail "not all have the file by $transport"
  read=0
  for id in 1 2 3 4; do
    cmp "$home/file" "$folder/node-$id/installed/file" || fail "server $id has another file"
    "$bin/scoll-info" --node "$folder/info-$id" metrics >"$folder/metrics-$id"
    read=$((read + $(awk '/^scoll_read_bytes/ { n += $2 } END { print n + 0 }' "$folder/metrics-$id")))
  done
  # Beside TCP, the first pieces go by TCP until a connection by RDMA is up.
  if [[ $transport == verbs ]]; then least=$((3 * 2097152)); else least=1048576; fi
  ((read >= least)) || fail "only $read bytes were read by devices by $transport"
  "$bin/shardctl" stop --all >/dev/null
  for id in "${!servers[@]}"; do wait "${servers[$id]}" || fail "server $id ended with an error"; done
  servers=()
  echo "four shard servers by $transport: $read bytes were read by devices"
done
rm -rf "$home"
