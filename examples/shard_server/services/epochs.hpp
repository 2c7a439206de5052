#pragma once

#include <cstddef>
#include <string_view>

#include "../cluster/cluster_file.hpp"
#include "../epochs/epoch_member.hpp"
#include "../epochs/epoch_messages.hpp"
#include "ids.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

/// The steps by which all servers move from one epoch to the next. Their group is out of band: it must be
/// there although servers are dead, so no message creates it, and it is as large as the cluster file says.
/// A server whose file names others takes no part (`membership_changed`), so all count the same quorum.
struct epochs {
  static constexpr scoll::service_id id = ids::epochs;
  static constexpr std::string_view name = "epochs";
  static constexpr std::size_t reply_capacity = 2048;
  static constexpr std::uint64_t everybody = 1;  ///< the only group
  using request = epoch_request;
  using reply = epoch_reply;

  const cluster_config* config;
  epoch_member* member;

  scoll::result<scoll::membership_ptr> members(std::uint64_t group) const {
    if (group != everybody) return scoll::error(scoll::errc::not_found, "there is one group of epochs: 1");
    return scoll::membership::make(config->targets());
  }
  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context&) {
    return member->handle(asked);
  }
};

}  // namespace shard
