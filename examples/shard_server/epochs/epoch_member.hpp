#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "epoch_messages.hpp"
#include "epoch_store.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/task.hpp"

namespace shard {

/// One server's part in the decisions about epochs. It answers a step when what the step has changed is on
/// the disk, and knows nothing of the others (docs/decisions/0050). Use it on one thread.
class epoch_member {
 public:
  /// Reads the state. Errors: those of `epoch_store::load`.
  static scoll::task<scoll::result<std::unique_ptr<epoch_member>>> open(std::unique_ptr<epoch_store> store);

  const epoch_state& state() const noexcept { return state_; }
  /// The state as an answer to others.
  epoch_reply knows() const;

  /// One of the latest epochs at which this server has stood since its start; null if it does not remember
  /// that, or has never stood there.
  const committed_epoch* passed(std::uint64_t epoch) const noexcept;

  /// Carries out a step. Errors: `stale` (this server has promised a later attempt, or stands at a later
  /// epoch than the sender knows), `invalid_argument` (a note that is too long), and those of the disk; then
  /// the step has no effect that anybody may count on.
  scoll::task<scoll::result<epoch_reply>> handle(const epoch_request& request);

  /// True if this server has to ask the others what is decided: it has just started, it was told `news`, or
  /// it has voted for an epoch of which it has not heard the end.
  bool must_ask() const noexcept { return asked_ != news_ || state_.vote.has_value(); }
  /// The servers that can be reached are not the same as before: one of them may have decided something and
  /// told nobody.
  void news() noexcept {
    ++news_;
    attention_.set();
  }
  /// Counts the news.
  std::uint64_t heard() const noexcept { return news_; }
  /// The others have been asked, with success, after so many news.
  void asked(std::uint64_t heard) noexcept { asked_ = heard; }
  /// Set when `must_ask` may have become true. The one who waits for it resets it.
  scoll::event& attention() noexcept { return attention_; }

 private:
  epoch_member(std::unique_ptr<epoch_store> store, epoch_state state)
      : store_(std::move(store)), state_(std::move(state)) {}
  scoll::result<epoch_state> after(const epoch_request& request) const;
  void move_to(epoch_state next);

  std::unique_ptr<epoch_store> store_;
  epoch_state state_;  // as it is on the disk
  std::deque<committed_epoch> passed_;
  scoll::semaphore changing_{1};
  std::uint64_t news_ = 1;  // that this server has started
  std::uint64_t asked_ = 0;
  scoll::event attention_{true};
};

}  // namespace shard
