#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "../store/object_store.hpp"
#include "ids.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

/// Lists all names that begin with a text, however many they are: every server streams its own, in their order,
/// in pages, and none keeps more of them than the few pages that are on their way.
struct ls {
  static constexpr scoll::service_id id = ids::ls;
  static constexpr std::string_view name = "ls";
  static constexpr std::size_t page_bytes = 16384;
  struct request {
    std::string prefix;
  };
  using page = std::vector<std::string>;
  using reply = scoll::parts<page>;

  object_store* store;

  scoll::task<scoll::status> execute(const request& asked, scoll::bcast_context& call,
                                     scoll::part_sink<page>& out);
};

}  // namespace shard
