#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "../store/object_name.hpp"
#include "../store/object_store.hpp"
#include "ids.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

struct large_object {
  std::uint64_t size = 0;
  std::string name;
  std::uint64_t node = 0;
  friend auto operator<=>(const large_object&, const large_object&) = default;
};

/// The largest objects of the cluster.
struct top {
  static constexpr scoll::service_id id = ids::top;
  static constexpr std::string_view name = "top";
  static constexpr std::size_t most = 32;
  static constexpr std::size_t reply_capacity = most * (max_name_bytes + 20) + 4;
  struct request {};
  using reply = scoll::top_k<large_object, most>;

  object_store* store;

  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call);
};

}  // namespace shard
