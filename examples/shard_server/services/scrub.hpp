#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../store/object_store.hpp"
#include "ids.hpp"
#include "progress.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

struct damaged_object {
  std::string name;
  std::string fault;  ///< for a person
};

/// Reads every object of every server and compares it with the hash that was computed when it was put. All
/// damaged objects are counted; the lists are cut to fit a reply.
struct scrub {
  static constexpr scoll::service_id id = ids::scrub;
  static constexpr std::uint16_t version = 1;
  static constexpr std::string_view name = "scrub";
  static constexpr std::size_t reply_capacity = scoll::max_reply_bytes;
  struct request {
    std::uint64_t run = 0;       ///< for `progress`
    scoll::group_id group;       ///< the group that this is sent to, so that any member can revoke it
    scoll::nanoseconds pace{0};  ///< least time per object, so that a scrub leaves disk time to others
  };
  struct reply {
    scoll::sum<std::uint64_t> objects;
    scoll::sum<std::uint64_t> bytes;
    scoll::sum<std::uint64_t> damaged;
    scoll::concatenation<std::vector<damaged_object>> list;
  };

  object_store* store;
  progress_board* board;

  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call);
};

}  // namespace shard
