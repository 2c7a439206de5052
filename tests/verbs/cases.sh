#!/usr/bin/env bash
# Runs in the machine that vm.py boots: the cases that run over any transport, over soft-RoCE devices, on both engines; what needs real
# devices, processes and cables; gossip; and shard servers.
# No receiver may ever have been without a place for what arrived, which the counters of the devices say.
# usage: cases.sh FOLDER_OF_PROGRAMS
set -uo pipefail
bin=$1
failed=0

devices=()
for folder in /sys/class/infiniband/rxe*; do
  device=${folder##*/}
  devices+=("$device=10.0.0.${device#rxe}")
done
SCOLL_TEST_RXE=$(IFS=, && echo "${devices[*]}")
export SCOLL_TEST_RXE
ibv_devinfo >/dev/null 2>&1 # so that the first case need not wait for the libraries

# What senders were told. The counter send_rnr_err says nothing: a soft-RoCE device also counts responses to READs there that it could not
# send at once.
not_ready() { cat /sys/class/infiniband/rxe*/ports/1/hw_counters/{rcvd_rnr_err,retry_rnr_exceeded_err} | awk '{ n += $1 } END { print n }'; }
sent() { cat /sys/class/infiniband/rxe*/ports/1/hw_counters/sent_pkts | awk '{ n += $1 } END { print n }'; }

run() { # NAME COMMAND ARGUMENTS
  local start=$SECONDS before status=0
  before=$(sent)
  "${@:2}" || status=$?
  printf '%-28s %4d s, %8d packets, receiver not ready: %s, status %d\n' "$1" $((SECONDS - start)) $(($(sent) - before)) "$(not_ready)" "$status" |
    tee -a /tmp/summary
  ((status == 0 && $(not_ready) == 0 && $(sent) > before)) || failed=1
}

# The cases with the tag `reactor` are those that run in any world, in these files.
files=(session session_life notice client hostile piece_order piece_end transfer transfer_bound bulk_wire bulk_copy bulk_recall)
cases=$(printf '[#%s_test][reactor],' "${files[@]}")
run transport "$bin/tests_transport" "-#" "${cases%,}"
run "deaths, cables" "$bin/tests_transport" "[rxe]"
run gossip "$bin/tests_gossip" "[rxe]"
run "gossip, daemons" tests/verbs/gossip.sh "$bin"
run collective "$bin/tests_collective" "[world]~[slow]"
run "shard servers" tests/verbs/shard_servers.sh "$bin"
run "shard servers in trouble" tests/verbs/troubled_servers.sh "$bin"
SCOLL_TEST_RXE_WINDOWS=8 run "transport, by windows" "$bin/tests_transport" "-#" "[#transfer_test][reactor],[#bulk_copy_test][reactor],[#bulk_recall_test][reactor]"
SCOLL_REACTOR_BACKEND=poll run "transport, by poll" "$bin/tests_transport" "-#" "[#session_test][reactor],[#transfer_test][reactor]"

echo
cat /tmp/summary
exit "$failed"
