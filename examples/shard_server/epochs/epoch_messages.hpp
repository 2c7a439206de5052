#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "epoch_state.hpp"
#include "scoll/collective/aggregate.hpp"

namespace shard {

enum class epoch_step : std::uint8_t {
  look,     ///< tell what is known; nothing is written
  prepare,  ///< take part in this attempt, and in no earlier one
  decide,   ///< vote for `content` as the epoch after `known`
  commit,   ///< go to the epoch `known`, which is decided
};
constexpr bool wire_valid(const epoch_step& step) noexcept {
  return step <= epoch_step::commit;
}

/// A step of the protocol, for all servers.
struct epoch_request {
  epoch_step step = epoch_step::look;
  ballot under;           ///< of `prepare` and `decide`
  committed_epoch known;  ///< the latest epoch that the sender knows to be decided; the receiver goes there
  epoch_content content;  ///< of `decide`
};

/// What the servers know that have done a step, together.
struct epoch_reply {
  scoll::sum<std::uint32_t> servers;
  scoll::minimum<std::uint64_t> lowest;  ///< the epoch of the server that is behind most
  committed_epoch latest;
  std::optional<epoch_vote> vote;  ///< that of the latest epoch, and of the highest ballot for it
  ballot promised;                 ///< the highest

  void merge(const epoch_reply& from) noexcept {
    servers.merge(from.servers);
    lowest.merge(from.lowest);
    if (from.latest.epoch > latest.epoch) latest = from.latest;
    const auto place = [](const epoch_vote& v) { return std::pair(v.epoch, v.under); };
    if (from.vote && (!vote || place(*from.vote) > place(*vote))) vote = from.vote;
    if (from.promised > promised) promised = from.promised;
  }
  /// The vote that may have decided the epoch after the latest one. There is none if that epoch is not decided.
  const epoch_vote* open_vote() const noexcept {
    return vote && vote->epoch == latest.epoch + 1 ? &*vote : nullptr;
  }
};

}  // namespace shard
