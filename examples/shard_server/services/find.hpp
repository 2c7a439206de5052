#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../store/object_store.hpp"
#include "ids.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

/// Finds the names that match a pattern, grouped by the server that holds them. A pattern with * ? or [ is a
/// glob over the whole name, in which * also matches slashes; any other pattern may match anywhere in the
/// name. All matches are counted; the lists are cut to fit a reply.
struct find {
  static constexpr scoll::service_id id = ids::find;
  static constexpr std::string_view name = "find";
  static constexpr std::size_t reply_capacity = scoll::max_reply_bytes;
  struct request {
    std::string pattern;
  };
  struct reply {
    scoll::sum<std::uint64_t> matches;
    scoll::concatenation<std::vector<std::string>> names;
  };

  object_store* store;

  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call);
};

}  // namespace shard
