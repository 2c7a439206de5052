#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace shard {

/// Orders the attempts to decide an epoch. No two attempts have the same ballot: a node never has a life
/// twice, because its incarnation is on its disk, and a life never takes a round twice.
struct ballot {
  std::uint64_t round = 0;  ///< 0: no attempt
  std::uint64_t node = 0;
  std::uint64_t life = 0;  ///< the incarnation of the node
  friend auto operator<=>(const ballot&, const ballot&) = default;
};

/// The content of an epoch: who has asked for it, and why. The first three members name one request, wherever
/// it turns up again.
struct epoch_content {
  std::uint64_t node = 0;
  std::uint64_t life = 0;
  std::uint64_t number = 0;  ///< of the requests of that life
  std::string note;
  friend bool operator==(const epoch_content&, const epoch_content&) = default;
};

/// The longest note of an epoch, in bytes.
inline constexpr std::size_t longest_epoch_note = 200;

/// An epoch that is decided: it will never have another content.
struct committed_epoch {
  std::uint64_t epoch = 0;  ///< 0: before the first one
  epoch_content content;
  friend bool operator==(const committed_epoch&, const committed_epoch&) = default;
};

/// A vote for the content of an epoch. The epoch is decided when a quorum of the servers has this vote on
/// their disks.
struct epoch_vote {
  std::uint64_t epoch = 0;
  ballot under;
  epoch_content content;
  friend bool operator==(const epoch_vote&, const epoch_vote&) = default;
};

/// What a server must not forget.
struct epoch_state {
  ballot promised;                 ///< the server does not vote in an earlier attempt
  committed_epoch committed;       ///< the epoch at which the server stands
  std::optional<epoch_vote> vote;  ///< for the epoch that follows
  friend bool operator==(const epoch_state&, const epoch_state&) = default;
};

}  // namespace shard
