#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "transport/io/buffer.hpp"

namespace scoll::detail {

/// A part of a reply with runs of items, on its way to the root.
struct item_part {
  static constexpr std::uint32_t own = std::numeric_limits<std::uint32_t>::max();

  transport::buffer_view payload;
  std::uint64_t checksum = 0;
  std::uint16_t runs = 0;
  std::uint32_t child = own;         ///< the index of the child that it came from
  std::vector<std::uint32_t> ended;  ///< the members whose last item is in it, by relative rank
};

}  // namespace scoll::detail
