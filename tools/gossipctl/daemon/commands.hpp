#pragma once

#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/control_socket.hpp"

namespace gossipctl {

class daemon;

/// Serves one connection to the control socket: one line with a command, which is a JSON object such as
/// {"command": "explain", "who": 3}, and its answer, {"ok": true, "value": ...} or {"ok": false, "error":
/// "..."}. `watch` keeps answering until either side ends it: one line for each change, and one with the
/// status every second.
scoll::task<void> serve(daemon& of, scoll::transport::control_connection& client, scoll::stop_token stop);

}  // namespace gossipctl
