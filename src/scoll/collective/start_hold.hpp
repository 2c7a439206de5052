#pragma once

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"

namespace scoll::detail {

/// Keeps the collectives of this node from starting while its gossip only listens. It holds nothing until
/// `hold` is called.
class start_hold {
 public:
  bool open() const noexcept { return decided_.is_set() && !refused_; }

  /// True if an owner decides when the hold begins and ends. There is at most one.
  bool taken() const noexcept { return taken_; }
  void take() noexcept { taken_ = true; }
  void leave() noexcept {
    taken_ = false;
    release();
  }

  void hold() noexcept {
    decided_.reset();
    refused_ = {};
  }
  /// Lets waiting and later operations start.
  void release() noexcept {
    refused_ = {};
    decided_.set();
  }
  /// Ends waiting operations with `why`, and later ones too, until `release` or `hold`.
  void refuse(const error& why) noexcept {
    refused_ = why;
    decided_.set();
  }

  /// Waits until the start is allowed. Errors: the reason given to `refuse`; `deadline_exceeded`,
  /// `cancelled`.
  task<status> pass(deadline until, stop_token stop) {
    deadline_stop limit(until, stop);
    while (!decided_.is_set()) {
      const status waited = co_await decided_.wait(limit.token());
      if (!waited && !decided_.is_set())
        co_return error(limit.reason(),
                        "nothing was sent, because the gossip of this node does not take part yet");
    }
    co_return refused_ ? status(refused_) : status();
  }

 private:
  event decided_{true};
  error refused_;
  bool taken_ = false;
};

}  // namespace scoll::detail
