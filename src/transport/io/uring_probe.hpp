#pragma once

#include <liburing.h>

#include <string>
#include <string_view>

#include "transport/io/reactor.hpp"

namespace scoll::transport {

/// An io_uring instance, set up with everything that the kernel offers. It ends with this object.
class uring {
 public:
  uring() noexcept = default;
  ~uring() {
    if (open_) io_uring_queue_exit(&ring_);
  }
  uring(const uring&) = delete;
  uring& operator=(const uring&) = delete;

  /// Creates the ring on this thread, step by step with fewer flags on older kernels, and fills in
  /// `features`.
  status open(const reactor_options& options, reactor_features& features);

  io_uring* get() noexcept { return &ring_; }
  bool skips_success_events() const noexcept { return (ring_.features & IORING_FEAT_CQE_SKIP) != 0; }

 private:
  io_uring ring_{};
  bool open_ = false;
};

/// Says why io_uring_setup failed, and what to do about it.
error setup_failure(int errno_value, std::string_view kernel);

/// Checks that the ring knows every operation that the reactor uses.
status check_operations(io_uring& ring, std::string_view kernel);

/// Tests whether the kernel knows multishot accept: tries one on `other_fd`, which is no socket, and a kernel
/// that knows it complains of that.
bool probe_multishot_accept(io_uring& ring, int other_fd) noexcept;

/// Tests multishot receives of messages in the same way.
bool probe_multishot_receive_message(io_uring& ring, int other_fd) noexcept;

/// Adds a line to the notes of fallbacks.
void note_fallback(reactor_features& features, std::string_view note);

/// Prints the notes on stderr, the first time in this process that there are any.
void announce_fallbacks(const reactor_features& features) noexcept;

}  // namespace scoll::transport
