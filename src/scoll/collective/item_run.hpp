#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/wire/limits.hpp"
#include "transport/wire/reader.hpp"
#include "transport/wire/varint.hpp"
#include "transport/wire/writer.hpp"

namespace scoll::detail {

/// Some items of one member, one after the other, as they lie in a part of a reply. Whoever passes them on does
/// not decode them.
struct item_run {
  std::uint32_t relative = 0;        ///< the member, by relative rank
  std::uint64_t first = 0;           ///< the items that it has put before these
  std::uint32_t count = 0;           ///< may be 0 in its last run
  bool last = false;                 ///< the member has put all its items
  std::span<const std::byte> items;  ///< each after its length

  /// Takes the next item out of the run, which was read by `take_run`.
  std::span<const std::byte> take_item() noexcept;
};

/// The bytes of the length before each item, and the most of the head of a run.
inline constexpr std::size_t item_length_bytes = wire::length_size;
inline constexpr std::size_t most_run_head_bytes = 3 * wire::max_varint_size;

/// Writes the head of a run; the items follow it.
void put_run_head(wire::writer& out, const item_run& run) noexcept;
/// Reads a run, which must consist of whole items. The reader tells if it does not.
item_run take_run(wire::reader& in) noexcept;

}  // namespace scoll::detail
