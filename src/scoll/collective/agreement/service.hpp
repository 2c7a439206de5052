#pragma once

#include <string_view>

#include "scoll/collective/agreement/messages.hpp"
#include "scoll/collective/context.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/ids.hpp"

namespace scoll::detail {

/// The library's service 3: proposers of agreements ask the members of a group. It belongs to no group, and
/// every group that was created can use it.
class agreement_service {
 public:
  static constexpr service_id id{3};
  static constexpr std::string_view name = "agreement";
  static constexpr std::size_t reply_capacity = 16384;
  using request = agreement_request;
  using reply = agreement_reply;

  explicit agreement_service(engine::agreements& owner) noexcept : owner_(&owner) {}

  task<result<reply>> execute(const request& r, bcast_context& c);
  static void merge(reply& into, const reply& from) noexcept;
  void finish(reply& r, bcast_context& c) noexcept;

 private:
  engine::agreements* owner_;
};

}  // namespace scoll::detail
