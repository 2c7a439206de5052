#pragma once

#include "../services/maintenance.hpp"
#include "answer_json.hpp"
#include "collectives.hpp"
#include "command.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"

namespace shard {

/// Serves the commands "maintenance" and "leader".
class maintenance_commands {
 public:
  maintenance_commands(scoll::node& self, collectives& all, maintenance_desk& desk) noexcept
      : self_(self), all_(all), desk_(desk) {}

  /// Begins a maintenance, ends the one that this server has begun, or shows what is under way.
  scoll::task<json> run(const command& c, scoll::stop_token stop);
  /// Lets the servers agree on a leader. Without `c.again` this is the leader that they have agreed on
  /// before, as long as it is not dead.
  scoll::task<json> lead(const command& c, scoll::stop_token stop);

 private:
  scoll::task<json> begin(const command& c, scoll::stop_token stop);
  scoll::task<json> end(const command& c, scoll::stop_token stop);
  json show() const;
  json described(const answer<maintenance::reply>& answered) const;
  std::uint64_t next_term(bool again) const;
  bool is_dead(scoll::node_id node) const;

  scoll::node& self_;
  collectives& all_;
  maintenance_desk& desk_;
};

}  // namespace shard
