#pragma once

#include <cstddef>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error.hpp"

namespace scoll::detail {

/// The memory of a node for parts of replies, as `node_options::reply_memory` says. A broadcast whose members
/// may answer in parts sets some aside for its children before it forwards the request, so that a part which
/// arrives always finds room.
class reply_memory {
 public:
  explicit reply_memory(std::size_t limit) noexcept : limit_(limit) {}

  std::size_t used() const noexcept { return used_; }
  std::size_t limit() const noexcept { return limit_; }
  /// `busy` if so much is not left.
  error why_full(std::size_t bytes) const;
  void take(std::size_t bytes) noexcept {
    SCOLL_ASSERT(bytes <= limit_ - used_, "more is set aside for parts of replies than there is");
    used_ += bytes;
  }
  void give_back(std::size_t bytes) noexcept { used_ -= bytes; }

 private:
  std::size_t limit_;
  std::size_t used_ = 0;
};

}  // namespace scoll::detail
