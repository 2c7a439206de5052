#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scoll/collective/agreement/answers.hpp"
#include "scoll/collective/agreement/ballot.hpp"
#include "scoll/coro/assert.hpp"

namespace scoll::detail {

/// One member's memory of one instance: its own value, and its votes. It reads no clock and sends nothing.
class agreement_acceptor {
 public:
  /// This member has called with a value. A later call changes nothing, because the first value may have
  /// been merged already.
  void call(std::span<const std::byte> value);
  bool called() const noexcept { return own_.has_value(); }
  /// The value of the first call.
  const std::vector<std::byte>& own() const noexcept { return *own_; }

  /// A proposer asks for a promise to accept nothing under a lower ballot. Returns false if a higher ballot
  /// has been promised; the proposer is told that one.
  bool promise(const ballot& b);
  const ballot& promised() const noexcept { return promised_; }

  /// True once a promise can be answered: there is a value, or a vote that says more than the value.
  bool can_answer() const noexcept { return called() || !accepted_.at.none() || decided_; }

  /// A proposer asks for a vote. Returns false if a higher ballot has been promised.
  bool accept(const ballot& b, const proposal& p);
  /// The last proposal that this member has voted for; none if its ballot is.
  const accepted_proposal& accepted() const noexcept { return accepted_; }

  /// The answers of this member, which has the rank `self`, under ballot `b`: to a collect, whose proposer
  /// holds the values of `held` already, and to a request for a vote.
  agreement_answers answer_collect(const ballot& b, std::uint32_t self, const rank_set& held) const;
  agreement_answers answer_accept(const ballot& b, std::uint32_t self) const;

  /// The outcome is known.
  void decide(const proposal& p);
  bool decided() const noexcept { return decided_; }
  /// The decided proposal, once there is one.
  const proposal& decision() const noexcept {
    SCOLL_ASSERT(decided_, "there is no decision yet");
    return accepted_.what;
  }

  /// Appends all that tells this state from others, for checks that visit every state.
  void describe_to(std::vector<std::uint64_t>& out) const;

 private:
  std::optional<std::vector<std::byte>> own_;
  ballot promised_;
  accepted_proposal accepted_;  // or decided, whichever way this member has heard of it
  bool decided_ = false;
};

}  // namespace scoll::detail
