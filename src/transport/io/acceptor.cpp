#include "transport/io/acceptor.hpp"

#include <cerrno>
#include <utility>

namespace scoll::transport {

void acceptor::accepted(io_completion& done, const event& e) noexcept {
  auto& self = static_cast<acceptor&>(done);
  if (e.result >= 0) {
    unique_fd fd(e.result);
    if (!self.closed_) self.arrived_.push_back(std::move(fd));
  } else {
    self.failure_ = e.result;
  }
  self.wake();
  if (!e.more && self.closing_ != nullptr) {
    close_awaiter& closing = *std::exchange(self.closing_, nullptr);
    closing.executor_->schedule(closing.waiter_);
  }
}

void acceptor::wake() noexcept {
  if (next_ == nullptr) return;
  next_awaiter& waiting = *std::exchange(next_, nullptr);
  waiting.on_stop_.disconnect();
  waiting.executor_->schedule(waiting.waiter_);
}

acceptor::next_awaiter acceptor::next(stop_token stop) noexcept {
  return next_awaiter(*this, stop);
}
acceptor::close_awaiter acceptor::close() noexcept {
  return close_awaiter(*this);
}

void acceptor::next_awaiter::await_suspend(std::coroutine_handle<> handle) noexcept {
  SCOLL_ASSERT(owner_.next_ == nullptr, "an acceptor serves one coroutine at a time");
  waiter_.set(handle);
  executor_ = &executor::current();
  owner_.next_ = this;
  if (!owner_.pending()) owner_.loop_.accept_multishot(owner_.listener_, owner_);
  on_stop_.connect(stop_);
}

result<unique_fd> acceptor::next_awaiter::await_resume() noexcept {
  if (!owner_.arrived_.empty()) {
    unique_fd fd = std::move(owner_.arrived_.front());
    owner_.arrived_.pop_front();
    return fd;
  }
  if (owner_.closed_) return errc::closed;
  if (owner_.failure_ != 0) return error::system(-std::exchange(owner_.failure_, 0), "accept");
  return {errc::cancelled};
}

bool acceptor::close_awaiter::await_ready() noexcept {
  owner_.closed_ = true;
  owner_.arrived_.clear();
  owner_.wake();
  owner_.loop_.cancel(owner_);
  return !owner_.pending();
}

void acceptor::close_awaiter::await_suspend(std::coroutine_handle<> handle) noexcept {
  waiter_.set(handle);
  executor_ = &executor::current();
  owner_.closing_ = this;
}

}  // namespace scoll::transport
