#pragma once

#include <cstdint>

#include "../epochs/epoch_coordinator.hpp"
#include "answer_json.hpp"
#include "command.hpp"
#include "epoch_group.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"

namespace shard {

/// The epochs of the cluster as one server serves them: the commands "commit" and "epoch", and what it does
/// by itself so that all servers come to stand at the same epoch.
class epoch_desk {
 public:
  epoch_desk(scoll::node& self, epoch_member& member, std::uint32_t servers)
      : self_(self),
        member_(member),
        everybody_(self, servers),
        coordinator_(member, everybody_, self.id(), self.incarnation()) {}

  /// Asks the others whenever this server has to, until it is stopped.
  scoll::task<void> run(scoll::stop_token stop) {
    return keep_settled(member_, coordinator_, patience, stop);
  }

  scoll::task<json> commit(const command& c, scoll::stop_token stop);
  scoll::task<json> show(const command& c, scoll::stop_token stop);
  /// Adds what this server knows to its status.
  void add_to(json& status) const;

 private:
  static constexpr scoll::nanoseconds patience = std::chrono::milliseconds(300);

  scoll::node& self_;
  epoch_member& member_;
  epoch_group everybody_;
  epoch_coordinator coordinator_;
};

}  // namespace shard
