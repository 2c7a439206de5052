#pragma once

#include <cstddef>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/intrusive_list.hpp"

namespace scoll {

namespace detail {
class client_call;
}

/// A limit on calls in flight, shared by the calls that name it in `ship_options::limit`. A call that finds
/// no free slot waits; slots are granted first come, first served. Waiting counts against the call's
/// deadline, and the call's stop token ends it. The limit belongs to one executor and must outlive its calls.
///
/// The limit knows calls, not callers: a thousand calls of one caller are served before later calls of
/// others. Callers that must not wait for each other need separate limits.
///
/// A handler must not wait for a slot that the call it serves holds: give calls from outside and calls from
/// handlers separate limits.
class call_limit {
 public:
  explicit call_limit(std::size_t places) noexcept : free_(places) {}
  ~call_limit() {
    SCOLL_ASSERT(waiting_.empty(), "a call limit was destroyed while calls were waiting for it");
  }
  call_limit(const call_limit&) = delete;
  call_limit& operator=(const call_limit&) = delete;

  std::size_t free() const noexcept { return free_; }
  bool has_waiters() const noexcept { return !waiting_.empty(); }

 private:
  friend class detail::client_call;

  /// Returns true if there was a free slot. Otherwise the call is queued and will be told.
  bool enter(detail::client_call& call) noexcept;
  void leave() noexcept;

  std::size_t free_;
  bool serving_ = false;
  intrusive_list<detail::client_call, call_limit> waiting_;
};

}  // namespace scoll
