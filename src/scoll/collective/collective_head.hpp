#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "scoll/ids.hpp"
#include "scoll/tree/flat.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll::detail {

/// The purpose of a collective request.
enum class collective_kind : std::uint8_t {
  broadcast = 0,
  create = 1,   ///< the payload is the creation; the service is the one the group is for
  forget = 2,   ///< members drop the group
  sweep = 3,    ///< a member asks which of the groups that it holds have ended (counters in ranges)
  end = 4,      ///< a member asks the creator to end the group
  members = 5,  ///< a node asks a member for the list of members
  bulk = 6,     ///< a member asks another one for the memory with its bulk data of a broadcast
};

/// The head of every collective request; it follows the exchange's envelope (docs/wire.md).
struct collective_head {
  std::uint8_t kind = 0;
  std::uint8_t tree_kind = 0;
  std::uint16_t service_version = 0;
  std::uint32_t service = 0;
  std::array<std::uint32_t, 3> tree_params{};
  std::uint32_t root_rank = 0;
  group_id group;
  operation_id operation;
  /// Operations of this root and group with lower counters have ended.
  std::uint64_t watermark = 0;
  /// The time that the receiver has to answer; 0: the cascading bounds apply.
  std::uint64_t remaining_ns = 0;
  /// The part of that time that each level keeps.
  std::uint32_t margin_us = 0;
  /// The round trip that the root allows for one level.
  std::uint32_t rtt_us = 0;
  /// The time that the root allows a member to work.
  std::uint64_t processing_ns = 0;
  /// The flags below.
  std::uint16_t flags = 0;
  /// The size of the subset's ranks in front of the request; 0: it is for all members.
  std::uint16_t subset_bytes = 0;
  /// The size of the group's creation in front of the subset; 0: there is none.
  std::uint16_t creation_bytes = 0;
  /// The XXH3 of the subset's bytes; 0 without a subset.
  std::uint64_t subset_digest = 0;

  /// The subset holds the members that the root sees alive.
  static constexpr std::uint16_t living = 1;
  /// A member that sees a different set of live members does not take part.
  static constexpr std::uint16_t same_view = 2;
  /// The last broadcast of its root to the group. The creator's ends the group.
  static constexpr std::uint16_t last = 4;
  /// The creation of a delayed group rides along.
  static constexpr std::uint16_t creation_rides = 8;
  /// The creation names the members by a descriptor of memory at the sender.
  static constexpr std::uint16_t creation_is_descriptor = 16;
  /// Members keep what they have done, for further rounds with a higher attempt.
  static constexpr std::uint16_t retain = 32;
  /// Members that are settled otherwise than merged are told at once, in a part of the reply.
  static constexpr std::uint16_t tell_losses = 64;
  /// Members are told of as soon as they are settled, in parts of the reply, and their values with them.
  static constexpr std::uint16_t tell_all = 128;
  /// Answers have the stamps of the members for a trace.
  static constexpr std::uint16_t trace = 256;
  /// Behind the subset, a tag for each member says which life of it may execute.
  static constexpr std::uint16_t lives = 512;
  /// A `bulk_head` follows this head.
  static constexpr std::uint16_t bulk_follows = 1024;
  /// In a request for bulk data: the sender takes none.
  static constexpr std::uint16_t declines_bulk = 2048;
  /// A `broadcast_caller` follows the other heads.
  static constexpr std::uint16_t caller_follows = 4096;
  /// Members reply with streams of items, in parts of the reply.
  static constexpr std::uint16_t streams = 8192;
  /// In a further round: the root asks everybody itself, and not over the group's tree.
  static constexpr std::uint16_t direct = 16384;
  /// The flags that this version knows; a request with any other one is malformed.
  static constexpr std::uint16_t known_flags =
      living | same_view | last | creation_rides | creation_is_descriptor | retain | tell_losses | tell_all |
      trace | lives | bulk_follows | declines_bulk | caller_follows | streams | direct;

  /// The size of what lies in front of the request in the payload, without the tags of lives.
  std::size_t bytes_before_request() const noexcept { return std::size_t{creation_bytes} + subset_bytes; }
  /// True if members may tell of each other in parts of their answers.
  bool answers_in_parts() const noexcept { return (flags & (tell_losses | tell_all)) != 0; }
  /// True if replies may come in several messages, for which members set memory aside.
  bool may_come_in_parts() const noexcept { return (flags & (tell_losses | tell_all | streams)) != 0; }
  bool tells_of_all() const noexcept { return (flags & tell_all) != 0; }
  bool is_traced() const noexcept { return (flags & trace) != 0; }
  bool streams_items() const noexcept { return (flags & streams) != 0; }
  /// True if members keep what they have done.
  bool keeps_parts() const noexcept { return (flags & retain) != 0; }
  /// The tree of the group, and the one that the request goes over.
  tree_spec group_tree() const noexcept { return {tree_kind, tree_params}; }
  tree_spec tree() const noexcept { return (flags & direct) != 0 ? tree_spec(flat{}) : group_tree(); }
  /// True if it says which lives of its members may execute.
  bool names_lives() const noexcept { return (flags & lives) != 0; }
  /// True if the flags are known and go together, and it is no further round of what is not kept.
  bool has_valid_flags() const noexcept {
    if ((flags & direct) != 0 && operation.attempt == 0) return false;
    constexpr std::uint16_t of_broadcasts = retain | tell_losses | tell_all | trace | streams;
    constexpr std::uint16_t not_kept = tell_all | last;
    if ((flags & ~known_flags) != 0 || ((flags & of_broadcasts) != 0 && !is_broadcast())) return false;
    if (streams_items() && (answers_in_parts() || is_traced())) return false;
    return keeps_parts() ? (flags & tell_losses) != 0 && (flags & not_kept) == 0
                         : operation.attempt == 0 && !names_lives();
  }
  bool is_broadcast() const noexcept {
    return static_cast<collective_kind>(kind) == collective_kind::broadcast;
  }
  /// True if the group ends where this operation has ended.
  bool ends_group() const noexcept {
    const bool by_creator = operation.root == group.creator && operation.incarnation == group.incarnation;
    return static_cast<collective_kind>(kind) == collective_kind::forget ||
           ((flags & last) != 0 && by_creator);
  }
};

/// The head of every collective reply.
struct collective_reply_head {
  /// Not the answer yet: `processing_ns` is the new bound.
  static constexpr std::uint8_t extension = 1;
  /// All members of the subtree that no part has settled executed and are merged; no account follows.
  static constexpr std::uint8_t clean = 2;
  /// A part of the answer, which settles some members of the subtree for good. More follows.
  static constexpr std::uint8_t parts_follow = 4;
  /// The answer is early because the group is revoked; the account has the reason.
  static constexpr std::uint8_t revoked = 16;
  /// A part with runs of items of streams, as many as `values` says, and nothing else.
  static constexpr std::uint8_t items = 32;
  /// The flags that this version knows; a reply with any other one is malformed.
  static constexpr std::uint8_t known_flags = extension | clean | parts_follow | revoked | items;

  std::uint8_t flags = 0;
  std::uint8_t reserved = 0;
  /// The number of encoded replies that follow the account, each after its u32 length.
  std::uint16_t values = 0;
  std::uint32_t account_bytes = 0;
  std::uint64_t processing_ns = 0;
  /// The number of members in the subtree that see a different set of live members than the root.
  std::uint32_t dissenters = 0;
  /// The rank of one of them.
  std::uint32_t dissenter = 0;
  /// The size of the trace at the end of the payload; 0: there is none.
  std::uint32_t trace_bytes = 0;
};

/// The size of the length before each value of a reply.
inline constexpr std::size_t value_length_bytes = 4;

}  // namespace scoll::detail
