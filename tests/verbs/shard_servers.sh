#!/usr/bin/env bash
# Runs in the machine that vm.py boots: four shard servers answer a question and take a file, all by RDMA, and then with bulk data alone by
# RDMA. The devices must have read the file, and the servers must say so.
# usage: shard_servers.sh FOLDER_OF_PROGRAMS
set -euo pipefail
bin=$1
. "$(dirname "$0")/cluster.sh"

"$bin/scoll-info" devices
head -c 2M /dev/urandom >"$home/file"
for transport in verbs tcp+verbs; do
  start_servers "$transport"
  "$bin/shardctl" --timeout 120 df | tee "$folder/df"
  grep -q 'all 4 executed' "$folder/df" || fail "not all have answered by $transport"
  "$bin/shardctl" --timeout 240 --progress none install "$home/file" | tee "$folder/install"
  grep -q 'all 4 executed' "$folder/install" || fail "not all have the file by $transport"
  for id in 1 2 3 4; do has_file $id file; done
  read=$(read_by_devices 1 2 3 4)
  # Beside TCP, the first pieces go by TCP until a connection by RDMA is up.
  if [[ $transport == verbs ]]; then least=$((3 * 2097152)); else least=1048576; fi
  ((read >= least)) || fail "only $read bytes were read by devices by $transport"
  stop_servers
  echo "four shard servers by $transport: $read bytes were read by devices"
done
