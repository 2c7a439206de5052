# Sourced by scripts that run in the machine that vm.py boots: clusters of four shard servers, each with a device of its own. The
# caller has set `bin`, the folder of the programs.
home=$(mktemp -d)
declare -A servers=() # process by id
export SCOLL_VERBS_RECEIVE_SLOTS=256 SCOLL_VERBS_SEND_SLABS=64 SCOLL_VERBS_READ_SLABS=4 SCOLL_NODE_RTT_ESTIMATE=500ms
export SCOLL_LINK_RECONNECT_GRACE=20s SCOLL_VERBS_CONNECT_LIMIT=15s

fail() {
  echo "FAILED: $*" >&2
  tail -n 3 "$home"/*/node-*.log >&2 || true
  exit 1
}

end_all() {
  local id
  for id in "${!servers[@]}"; do kill -KILL "${servers[$id]}" 2>/dev/null || true; done
  rm -rf "$home"
}
trap end_all EXIT

# Their addresses in their network, separated by commas.
hosts_of_devices() {
  local devices
  devices=$("$bin/scoll-info" devices) || fail "no device can be used: $devices"
  awk '$2 == "RoCEv2" && $1 ~ /^[0-9.]+$/ { print $1 }' <<<"$devices" | paste -sd, -
}

# Sets `folder`, and returns when all of them answer.
start_servers() { # TRANSPORT
  local id
  folder=$home/$1
  "$bin/shardctl" init --nodes 4 --dir "$folder" --transport "$1" --hosts "$(hosts_of_devices)" >/dev/null
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
}

has_file() { # ID NAME
  cmp "$home/$2" "$folder/node-$1/installed/$2" || fail "server $1 has another $2"
}

# What devices have read, in bytes, over the servers that are given.
read_by_devices() { # ID ...
  local id read=0
  for id in "$@"; do
    "$bin/scoll-info" --node "$folder/info-$id" metrics >"$folder/metrics-$id"
    read=$((read + $(awk '/^scoll_read_bytes/ { n += $2 } END { print n + 0 }' "$folder/metrics-$id")))
  done
  echo "$read"
}

stop_servers() {
  local id
  "$bin/shardctl" stop --all >/dev/null || true # who is dead cannot answer
  for id in "${!servers[@]}"; do wait "${servers[$id]}" || fail "server $id ended with an error"; done
  servers=()
}
