#pragma once

#include <cstdint>
#include <memory>

#include "scoll/coro/error.hpp"

namespace scoll::detail {

struct group_state;
class operation;
class subset;
using subset_ptr = std::shared_ptr<const subset>;

/// The members that a broadcast is for: a group, or some of its members.
struct addressees {
  std::shared_ptr<group_state> group;
  subset_ptr subset = nullptr;  ///< null: all members
  bool living = false;          ///< `subset` holds the members that this node sees alive
  error invalid{};              ///< why there is no such subset

  std::uint32_t size() const noexcept;
};

/// A new operation, or the reason why there is none.
struct begun {
  operation* op = nullptr;
  error reason;
};

}  // namespace scoll::detail
