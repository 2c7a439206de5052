#pragma once

#include "ids.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

/// The smallest possible service: an answer shows that the member is there.
struct presence {
  static constexpr scoll::service_id id = ids::presence;
  static constexpr std::string_view name = "presence";
  struct request {};
  void execute(const request&, scoll::bcast_context&) noexcept {}
};

}  // namespace shard
