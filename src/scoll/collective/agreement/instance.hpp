#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "scoll/collective/agreement/acceptor.hpp"
#include "scoll/collective/agreement/instance_table.hpp"
#include "scoll/collective/agreement/messages.hpp"
#include "scoll/collective/agreement/proposer.hpp"
#include "scoll/coro/error.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::detail {

/// One instance on one node: its votes, its callers, and what it has heard of proposers.
class agreement_instance {
 public:
  agreement_instance(agreement_space its_space, std::uint64_t its_number, quorum_rule its_rule) noexcept
      : space(its_space), number(its_number), rule(its_rule) {}

  bool decided() const noexcept { return votes.decided(); }
  /// No vote may be given any more: the instance has left its table without an outcome.
  void close() noexcept {
    end({errc::stale, "an agreement whose number is more than 64 higher has begun: take a higher number"});
    closed = true;
  }

  /// Resumes all that wait for a change of this object.
  void changed() noexcept {
    change_.set();
    change_.reset();
  }
  auto change(stop_token stop) noexcept { return change_.wait(stop); }

  /// Ends the present callers with this error.
  void end(const error& why) noexcept {
    failure = why;
    changed();
  }
  /// True if somebody waits for an outcome.
  bool wanted() const noexcept { return callers != 0 && !decided() && !failure; }

  const agreement_space space;
  const std::uint64_t number;
  const quorum_rule rule;
  agreement_acceptor votes;
  merge_values merge = nullptr;  ///< of the type of the value; null until this member has called
  bool closed = false;
  error failure;

  std::uint32_t callers = 0;
  time_point called_at{};
  time_point until{};   ///< when the last of the callers waits no longer
  bool driven = false;  ///< a coroutine proposes when it is this node's turn

  std::uint32_t collects_waiting = 0;  ///< collects whose answer waits for a call of this member
  std::optional<time_point> heard_at;  ///< when a proposer was heard last
  std::uint32_t heard_from = 0;        ///< its rank
  std::optional<time_point> lost_at;   ///< when a proposer was lost, if none has been heard since
  std::optional<agreement_proposer> proposer;
  std::vector<std::uint64_t> taken;  ///< this node's counters for groups that a shrink may create
  bool told = false;                 ///< all members that the outcome is for have heard it

 private:
  event change_;
};

/// The agreements of one group on one node.
struct group_agreements {
  instance_table<agreement_instance> agree;
  std::shared_ptr<agreement_instance> shrink;
};

}  // namespace scoll::detail
