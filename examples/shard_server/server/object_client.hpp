#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../services/object_io.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time_limit.hpp"
#include "scoll/node.hpp"

namespace shard {

/// A connection to the owner of one object: a group of two that lasts as long as the object is being moved,
/// or no group if this server is the owner. It must be closed.
class object_client {
 public:
  object_client(scoll::node& self, object_desk& own, scoll::node_id owner, scoll::time_limit deadline)
      : self_(self), own_(own), owner_(owner), deadline_(deadline) {}

  scoll::node_id owner() const noexcept { return owner_; }

  scoll::task<scoll::status> connect();
  /// The function fills in `request.owner`. Errors: the owner's own, or the reason why the owner was not
  /// reached.
  scoll::task<scoll::result<object_reply>> ask(object_request& request, scoll::stop_token stop);
  scoll::task<void> close();

 private:
  scoll::node& self_;
  object_desk& own_;
  scoll::node_id owner_;
  scoll::time_limit deadline_;
  scoll::group<object_io> group_;
};

}  // namespace shard
