#pragma once

#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/control_socket.hpp"

namespace gossipctl {

class daemon;

/// One connection to the control socket: one line with a command, a JSON object such as
/// {"command": "explain", "who": 3}, and its answer, {"ok": true, "value": ...} or {"ok": false, "error":
/// "..."}. `watch` goes on answering, a line for each change and one with the status every second, until
/// either side ends it.
scoll::task<void> serve(daemon& of, scoll::transport::control_connection& client, scoll::stop_token stop);

}  // namespace gossipctl
