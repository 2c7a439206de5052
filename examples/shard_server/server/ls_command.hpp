#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "../services/ls.hpp"
#include "answer.hpp"
#include "collectives.hpp"
#include "command.hpp"
#include "scoll/collective/gather.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"
#include "transport/io/control_socket.hpp"

namespace shard {

/// Lists names for a client. It writes each page of them as a line, {"node": 3, "names": [...]}, as soon as the
/// client has taken the one before, and gives the answer without them.
class ls_command {
 public:
  ls_command(scoll::node& self, collectives& all, scoll::transport::control_connection& client,
             const command& c, scoll::stop_token stop)
      : self_(self), all_(all), client_(client), command_(c), stop_(stop) {}

  scoll::task<nlohmann::json> run();

 private:
  scoll::task<answer_account> list(scoll::group<ls> group);
  scoll::task<scoll::status> write(scoll::node_id from, const ls::page& names);

  scoll::node& self_;
  collectives& all_;
  scoll::transport::control_connection& client_;
  const command& command_;
  scoll::stop_token stop_;
  std::uint64_t names_ = 0;
};

}  // namespace shard
