#pragma once

#include "../services/clients.hpp"
#include "answer_json.hpp"
#include "collectives.hpp"
#include "command.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"

namespace shard {

/// Serves the commands "evict", "admit" and "clients". Every server that lives is to carry them out, also if
/// others die meanwhile: those that are below a dead one in the tree are asked by another way.
class client_commands {
 public:
  client_commands(scoll::node& self, collectives& all) noexcept : self_(self), all_(all) {}

  scoll::task<json> run(const command& c, scoll::stop_token stop);

 private:
  scoll::task<answer<clients::reply>> ask(const clients::request& request, const command& c,
                                          scoll::stop_token stop);

  scoll::node& self_;
  collectives& all_;
};

}  // namespace shard
