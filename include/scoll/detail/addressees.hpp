#pragma once

#include <cstdint>
#include <memory>

#include "scoll/coro/error.hpp"

namespace scoll::detail {

struct group_state;
class operation;
class subset;
using subset_ptr = std::shared_ptr<const subset>;

/// Whom a broadcast is for: a group, or some of its members.
struct addressees {
  std::shared_ptr<group_state> group;
  subset_ptr subset = nullptr;  ///< null: all
  bool living = false;          ///< `subset` are those who are alive as this node sees it
  error invalid{};              ///< why there is no such subset

  std::uint32_t size() const noexcept;
};

/// A new operation, or why there is none.
struct begun {
  operation* op = nullptr;
  error reason;
};

}  // namespace scoll::detail
