#pragma once

#include <optional>
#include <vector>

#include "scoll/collective/membership.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/collective/trace.hpp"
#include "scoll/coro/result.hpp"

namespace shard {

/// A server that was left out because it did not answer a roll call.
struct absent_node {
  scoll::node_id node = 0;
  scoll::error why;
};

/// The result of a broadcast, whatever the service.
struct answer_account {
  scoll::status ended;
  scoll::outcome outcome;
  scoll::membership_ptr members;  ///< the members that the ranks of `outcome` refer to
  std::vector<absent_node> absent;
  scoll::collective_trace trace;  ///< empty if the question was asked without
};

template <class Reply>
struct answer {
  answer_account account;
  std::optional<Reply> value;
};

}  // namespace shard
