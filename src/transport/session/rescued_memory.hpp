#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "transport/session/lent_memory.hpp"

namespace scoll::transport {

/// Copies lent memory that is recalled, so that the rest of a batch can still be sent from `copy`. The range
/// then begins at offset 0 of the copy. Returns false if the process has no memory for it; then the range is
/// empty.
inline bool rescue_lent(lent_range& range, std::unique_ptr<std::byte[]>& copy) noexcept {
  if (range.size == 0) return true;
  copy.reset(new (std::nothrow) std::byte[range.size]);
  if (copy == nullptr) {
    range = {};
    return false;
  }
  range.memory->copy_out(range.offset, {copy.get(), range.size});
  range.offset = 0;
  return true;
}

}  // namespace scoll::transport
