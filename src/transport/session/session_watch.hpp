#pragma once

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

/// Looks at the sessions of an endpoint that await something, every `limits::watch_interval` as long as there
/// are any. They count their times in looks: when this process does not run, nobody looks, so its own pauses
/// are not taken for those of its peers.
class session_watch {
 public:
  explicit session_watch(executor& ex) noexcept : executor_(ex) {}
  ~session_watch();
  session_watch(const session_watch&) = delete;
  session_watch& operator=(const session_watch&) = delete;

  /// Looks at the session until it says that it awaits nothing.
  void add(session& one) noexcept;

 private:
  void on_time() noexcept;

  executor& executor_;
  intrusive_list<session, watched> sessions_;
  time_point next_{};
  member_timer<&session_watch::on_time> timer_{*this};
};

}  // namespace scoll::transport
