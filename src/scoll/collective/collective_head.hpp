#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "scoll/ids.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll::detail {

/// What a collective request is for.
enum class collective_kind : std::uint8_t {
  broadcast = 0,
  create = 1,  ///< the payload is the membership; the service is the one the group is for
  forget = 2,  ///< members drop the group
  query = 3,   ///< a member asks the creator whether a group it has never seen used still exists
};

/// The head of every collective request, after the exchange's envelope (docs/wire.md).
struct collective_head {
  std::uint8_t kind = 0;
  std::uint8_t tree_kind = 0;
  std::uint16_t service_version = 0;
  std::uint32_t service = 0;
  std::array<std::uint32_t, 3> tree_params{};
  std::uint32_t root_rank = 0;
  group_id group;
  operation_id operation;
  std::uint64_t watermark = 0;      ///< operations of this root and group below it have ended
  std::uint64_t remaining_ns = 0;   ///< time the receiver has to answer; 0: the cascading bounds apply
  std::uint64_t margin_ns = 0;      ///< what each level keeps of it
  std::uint64_t rtt_ns = 0;         ///< round trip that the root allows for one level
  std::uint64_t processing_ns = 0;  ///< time that the root allows a member to work
  std::uint16_t subset_bytes = 0;   ///< in front of the request: which ranks it is for; 0: all
  std::uint8_t view = 0;            ///< of the subset: flags below

  static constexpr std::uint8_t living = 1;     ///< those who are alive as the root sees it
  static constexpr std::uint8_t same_view = 2;  ///< who sees others alive takes no part
};

/// The head of every collective reply.
struct collective_reply_head {
  static constexpr std::uint8_t extension = 1;  ///< not an answer yet: `processing_ns` is the new bound
  static constexpr std::uint8_t clean = 2;  ///< all of the subtree executed and merged: no account follows

  std::uint8_t flags = 0;
  std::uint8_t reserved = 0;
  std::uint16_t values = 0;  ///< encoded replies that follow the account, each after its u32 length
  std::uint32_t account_bytes = 0;
  std::uint64_t processing_ns = 0;
  std::uint32_t dissenters = 0;  ///< members of the subtree who see others alive than the root
  std::uint32_t dissenter = 0;   ///< the rank of one of them
};

/// Before each value of a reply.
inline constexpr std::size_t value_length_bytes = 4;

}  // namespace scoll::detail
