#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "epoch_member.hpp"
#include "epoch_voters.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"

namespace shard {

/// Decides epochs together with the other servers, and finds out what they have decided. Any number of
/// servers may do so at once: a decision is on the disks of a majority, and docs/decisions/0050 tells why
/// there are never two. It does one thing at a time; further calls wait.
class epoch_coordinator {
 public:
  /// The life of a node is its incarnation, which must grow with every start.
  epoch_coordinator(epoch_member& own, epoch_voters& all, scoll::node_id node, std::uint64_t life)
      : own_(own), all_(all), node_(node), life_(life), random_(node ^ life) {}

  /// Moves all servers to the next epoch. The result is decided: a quorum has it on its disks, and it stays
  /// whatever happens from then on. This server is there; the others go there with the next `settle`, for
  /// which the member has `news`. It tries until it is stopped. Errors: `undecided` (it may have been decided,
  /// or still be; all servers will see it in the same way), `invalid_argument` (the note is too long), and the
  /// reason of the last attempt if there will never be such an epoch.
  scoll::task<scoll::result<committed_epoch>> commit(std::string note, scoll::stop_token stop);

  /// Asks what is decided, goes there, and tells all servers. A vote that is open is brought to its end when
  /// it is found for the second time; the first time, its coordinator may still be at work. After success the
  /// member has asked. Errors: `busy` (a vote was found open: repeat this after a while), `incomplete`
  /// (servers that live may be behind), those of `epoch_voters` and of the disk.
  scoll::task<scoll::status> settle(scoll::stop_token stop);

  /// True if an epoch is decided of which servers have to be told.
  bool has_news() const noexcept { return untold_.has_value(); }
  /// A pause before the next attempt: random, so that one of two servers that disturb each other comes
  /// through, and longer after failures.
  scoll::nanoseconds pause(std::uint32_t failures) noexcept;

 private:
  /// What an attempt is for. Without a content, it brings a vote to its end that somebody else has begun.
  struct purpose {
    std::optional<epoch_content> content;
    std::uint64_t offered = 0;               ///< the epoch as which servers may have voted for the content
    std::optional<committed_epoch> reached;  ///< the epoch that has the content
  };
  scoll::task<scoll::status> try_until_reached(purpose& mine, scoll::stop_token stop);
  scoll::task<scoll::status> attempt(purpose& mine, scoll::stop_token stop);
  scoll::task<scoll::result<epoch_reply>> prepare(ballot& under, scoll::stop_token stop);
  scoll::task<scoll::status> decide(purpose& mine, const epoch_request& proposal, scoll::stop_token stop);
  scoll::status learn_of_the_past(purpose& mine, const committed_epoch& latest) const;
  scoll::task<scoll::status> look(scoll::stop_token stop);
  scoll::task<scoll::status> tell(scoll::stop_token stop);

  epoch_member& own_;
  epoch_voters& all_;
  scoll::node_id node_;
  std::uint64_t life_;
  scoll::random_generator random_;
  std::uint64_t round_ = 0;     // of the latest attempt of this life
  std::uint64_t requests_ = 0;  // of this life
  std::optional<epoch_vote> found_open_;
  std::optional<committed_epoch> untold_;  // decided, and perhaps not known to all that live
  scoll::semaphore working_{1};
};

/// Settles whenever the member has to ask, until it is stopped. `patience` is the time that a vote may be
/// open before somebody looks into it.
scoll::task<void> keep_settled(epoch_member& own, epoch_coordinator& by, scoll::nanoseconds patience,
                               scoll::stop_token stop);

}  // namespace shard
