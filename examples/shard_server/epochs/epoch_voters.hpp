#pragma once

#include "epoch_messages.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"

namespace shard {

/// All servers, as the one sees them that asks. A request must stay valid until the await ends.
class epoch_voters {
 public:
  virtual ~epoch_voters() = default;

  /// Has all servers carry out a step. It ends as soon as a quorum has done it, with what these know; the
  /// others go on. Any two quorums have a server in common. An error means that it is not known who has done
  /// it.
  virtual scoll::task<scoll::result<epoch_reply>> ask(const epoch_request& request,
                                                      scoll::stop_token stop) = 0;
  /// Has all servers carry out a step, and waits for all of them that are not held dead. Error: `incomplete`.
  virtual scoll::task<scoll::status> tell(const epoch_request& request, scoll::stop_token stop) = 0;
};

}  // namespace shard
