#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/tree/any_tree.hpp"
#include "transport/wire/reader.hpp"
#include "transport/wire/writer.hpp"

namespace scoll::detail {

/// The stamps of one member, in ns of its own clock since it took the request. It travels in answers
/// (docs/wire.md).
struct trace_record {
  /// The stamp of something that has not happened.
  static constexpr std::uint64_t never = UINT64_MAX;
  /// A record with a later stamp is malformed.
  static constexpr std::uint64_t latest = std::uint64_t{1} << 61U;

  struct exchange {
    std::uint64_t sent = never;
    std::uint64_t answered = never;
    friend bool operator==(const exchange&, const exchange&) = default;
  };

  std::uint32_t member = 0;  ///< its relative rank
  std::uint64_t answered = 0;
  std::uint64_t prepared = never;
  std::uint64_t begun = never;
  std::uint64_t ended = never;
  std::vector<exchange> children;  ///< in the order in which it sends to them
  friend bool operator==(const trace_record&, const trace_record&) = default;
};

void put_record(wire::writer& out, const trace_record& record);
/// Reads a record. False if there is none whose stamps follow one another as those of a member do.
bool take_record(wire::reader& in, trace_record& record);

/// A trace as it lies in an answer: the number of dropped members, then records, of which each but the first
/// comes after that of its parent.
struct trace_block {
  static constexpr std::size_t head_bytes = 4;

  std::uint32_t dropped = 0;
  std::span<const std::byte> records;
  std::vector<std::uint32_t> ends;  ///< where each record ends
};

/// Writes the head of a block.
void put_block_head(std::span<std::byte, trace_block::head_bytes> into, std::uint32_t dropped) noexcept;
/// Reads the trace in the answer of member `top` of a tree of so many members. Error: `malformed`, if it is
/// longer than `trace_limit`, or names a member twice, one before its parent, or more than the subtree has.
result<trace_block> read_block(std::span<const std::byte> bytes, const any_tree& tree, std::uint32_t members,
                               std::uint32_t top);

}  // namespace scoll::detail
