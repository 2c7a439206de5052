#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scoll/coro/result.hpp"

namespace scoll::transport {

/// Features of io_uring that `reactor_options::disable` can hold back.
namespace reactor_disable {
inline constexpr std::uint32_t defer_taskrun = 1;
inline constexpr std::uint32_t single_issuer = 2;        ///< implies `defer_taskrun`
inline constexpr std::uint32_t cooperative_taskrun = 4;  ///< implies both above: a ring without any flag
inline constexpr std::uint32_t multishot_receive = 8;    ///< implies `multishot_receive_message`
inline constexpr std::uint32_t multishot_accept = 16;
inline constexpr std::uint32_t provided_buffer_ring = 32;  ///< implies `multishot_receive`
inline constexpr std::uint32_t registered_ring_fd = 64;
inline constexpr std::uint32_t multishot_receive_message = 128;
}  // namespace reactor_disable

/// What a reactor runs on. `automatic` is io_uring, and poll (epoll and threads) where that is not available.
enum class reactor_backend : std::uint8_t { automatic, io_uring, poll };

std::string_view to_string(reactor_backend backend) noexcept;
/// By that name; nothing if there is none.
std::optional<reactor_backend> parse_backend(std::string_view name) noexcept;

/// Bounds and choices of a reactor. All have sane defaults; `validate` says what is wrong with a set, and
/// `create` refuses the same with `invalid_argument`.
struct reactor_options {
  std::uint32_t submission_entries = 256;   ///< power of two, 8..32768
  std::uint32_t completion_entries = 4096;  ///< power of two, >= 2x submissions
  std::uint32_t receive_buffers =
      64;  ///< provided to the kernel at most, as they are needed; power of two, 2..32768
  std::uint32_t receive_buffer_bytes = 16384;  ///< 256..16 MiB
  std::uint32_t receive_buffer_limit =
      2048;  ///< lent out and provided together: bounds receive memory; <= 65536
  /// A backend named here is used, or `create` fails. `automatic` leaves it to SCOLL_REACTOR_BACKEND, and to
  /// what works.
  reactor_backend backend = reactor_backend::automatic;
  bool announce = true;       ///< say on stderr, once per process, which fallbacks were taken
  std::uint32_t disable = 0;  ///< bits of `reactor_disable`: for tests, and for working around kernels

  status validate() const;
};

/// What the kernel offered at start. With poll all flags are false.
struct reactor_features {
  std::string backend;  ///< "io_uring" or "poll"
  std::string kernel;   ///< uname release
  bool defer_taskrun = false;
  bool single_issuer = false;
  bool multishot_receive = false;
  bool multishot_receive_message = false;  ///< of datagrams
  bool multishot_accept = false;
  bool provided_buffer_ring = false;
  bool registered_ring_fd = false;
  std::string notes;  ///< fallbacks taken, one per line
};

/// Counters for those who measure: they only grow.
struct reactor_statistics {
  std::uint64_t turns = 0;
  std::uint64_t enters = 0;       ///< system calls made by the reactor itself, on its thread
  std::uint64_t submissions = 0;  ///< operations handed to the kernel
  std::uint64_t completions = 0;
  std::uint64_t receive_starved = 0;  ///< times a receive ended for want of buffers
};

}  // namespace scoll::transport
