#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "transport/session/link.hpp"

namespace scoll::testing {

/// Writes the bytes of a batch into `into`, in the place of what is there.
inline void copy_batch(std::span<const transport::frame_parts> frames, std::vector<std::byte>& into) {
  into.clear();
  for (const transport::frame_parts& f : frames) {
    f.each_piece(
        [&](std::span<const std::byte> piece) { into.insert(into.end(), piece.begin(), piece.end()); });
  }
}

}  // namespace scoll::testing
