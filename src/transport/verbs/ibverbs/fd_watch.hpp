#pragma once

#include <poll.h>

#include <utility>

#include "transport/io/reactor.hpp"

namespace scoll::transport::verbs {

/// Waits until a descriptor is readable, once for each call of `wait`.
class fd_watch final : private io_completion {
 public:
  using function = void (*)(void* object) noexcept;

  fd_watch(reactor& home, function readable, function stopped, void* object) noexcept
      : io_completion(&complete), home_(home), readable_(readable), stopped_(stopped), object_(object) {}
  ~fd_watch() = default;

  bool idle() const noexcept { return !pending(); }
  void wait(int fd) noexcept {
    wanted_ = true;
    if (!pending()) home_.poll(fd, POLLIN, *this);
  }
  /// `stopped` is called in a later step if the watch is not idle.
  void stop() noexcept {
    wanted_ = false;
    if (pending()) home_.cancel(*this);
  }

 private:
  static void complete(io_completion& self, const event&) noexcept {
    auto& w = static_cast<fd_watch&>(self);
    const bool wanted = std::exchange(w.wanted_, false);
    (wanted ? w.readable_ : w.stopped_)(w.object_);
  }

  reactor& home_;
  function readable_;
  function stopped_;
  void* object_;
  bool wanted_ = false;
};

}  // namespace scoll::transport::verbs
