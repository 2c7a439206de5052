#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "../store/object_store.hpp"
#include "ids.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

/// The slots that the cluster's objects are sorted into. They are the entities of the group's membership, so
/// a server learns its slots from the group and from nowhere else. A server counts how full they are.
struct layout {
  static constexpr scoll::service_id id = ids::layout;
  static constexpr std::string_view name = "layout";
  struct request {};
  struct reply {
    scoll::sum<std::uint64_t> slots;
    scoll::sum<std::uint64_t> objects;
    scoll::sum<std::uint64_t> used;         ///< slots with at least one object
    scoll::maximum<std::uint64_t> fullest;  ///< objects in one slot
  };

  object_store* store;

  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call);
};

/// Deals `slots` slots to the servers in turn: slot i is an entity of the server of rank i modulo the number
/// of servers.
std::vector<scoll::target> with_slots(std::vector<scoll::target> servers, std::uint64_t slots);

}  // namespace shard
