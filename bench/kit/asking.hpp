#pragma once

#include <coroutine>

#include "transport/session/session.hpp"

namespace bench {

/// Sends a request on construction; `co_await` gives the status of the reply. Throws if this side refuses the
/// request.
class asking final : public scoll::transport::exchange {
 public:
  asking(scoll::transport::session& to, scoll::transport::traffic_class klass, scoll::transport::message& m,
         std::uint32_t reply_capacity)
      : exchange(&replied) {
    to.request(*this, klass, m, reply_capacity).value();
  }
  ~asking() = default;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) noexcept { handle_ = handle; }
  scoll::status await_resume() const noexcept { return outcome_; }

 private:
  static void replied(exchange& self, scoll::transport::reply_event& event) noexcept {
    auto& mine = static_cast<asking&>(self);
    mine.outcome_ = event.outcome;
    mine.handle_.resume();
  }

  std::coroutine_handle<> handle_;
  scoll::status outcome_;
};

}  // namespace bench
