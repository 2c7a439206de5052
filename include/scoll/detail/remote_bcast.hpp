#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scoll/collective/options.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/served_function.hpp"
#include "scoll/ids.hpp"
#include "scoll/ship/options.hpp"
#include "scoll/ship/remote_function.hpp"
#include "transport/memory/region_descriptor.hpp"

namespace scoll {
class node;
}

namespace scoll::detail {

class engine;
class shipper;

/// The order to a member of a group to broadcast for the caller.
struct remote_bcast_order {
  group_id group;
  service_id service{};
  std::uint16_t service_version = 0;
  /// `dead_members` and one; 0: as the member is set.
  std::uint8_t dead = 0;
  nanoseconds processing_bound{0};
  /// The encoded request.
  std::vector<std::byte> request;
  /// The caller's bulk data, which the member pulls.
  std::optional<transport::region_descriptor> bulk;
};

/// What became of it.
struct remote_bcast_answer {
  error why;
  /// The encoded merged reply.
  std::optional<std::vector<std::byte>> reply;
  outcome account;
};

inline constexpr remote_function<remote_bcast_order, remote_bcast_answer> remote_bcast{"scoll.bcast"};

/// The function by which members serve such orders.
std::shared_ptr<served_function> make_remote_bcast(engine& at, shipper& by);

/// A broadcast by a member, as the caller sees it.
struct member_bcast {
  remote_bcast_answer answer;
  bool may_have_executed = false;
};

/// Has the member at `address` broadcast. `bulk` must stay valid until the await has ended.
task<member_bcast> broadcast_by_member(node& from, std::string address, result<remote_bcast_order> order,
                                       bulk_view bulk, ship_options options);

}  // namespace scoll::detail
