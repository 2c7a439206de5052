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
inline constexpr std::uint32_t cooperative_taskrun = 4;  ///< implies both above: the ring has no flag at all
inline constexpr std::uint32_t multishot_receive = 8;    ///< implies `multishot_receive_message`
inline constexpr std::uint32_t multishot_accept = 16;
inline constexpr std::uint32_t provided_buffer_ring = 32;  ///< implies `multishot_receive`
inline constexpr std::uint32_t registered_ring_fd = 64;
inline constexpr std::uint32_t multishot_receive_message = 128;
}  // namespace reactor_disable

/// The kernel interface a reactor uses. `automatic` means io_uring, and poll (epoll and threads) where
/// io_uring is not available.
enum class reactor_backend : std::uint8_t { automatic, io_uring, poll };

std::string_view to_string(reactor_backend backend) noexcept;
/// Finds a backend by name; empty if there is none of that name.
std::optional<reactor_backend> parse_backend(std::string_view name) noexcept;

/// Bounds and choices of a reactor. All have sensible defaults. `validate` says what is wrong with a set of
/// options; `reactor::create` refuses the same sets with `invalid_argument`.
struct reactor_options {
  /// Entries of the submission queue: a power of two, 8 to 32768.
  std::uint32_t submission_entries = 256;
  /// Entries of the completion queue: a power of two, at least twice `submission_entries`.
  std::uint32_t completion_entries = 4096;
  /// The most receive buffers that the kernel holds at once; they are created as they are needed. A power of
  /// two, 2 to 32768.
  std::uint32_t receive_buffers = 64;
  /// Bytes of one receive buffer, 256 to 16 MiB.
  std::uint32_t receive_buffer_bytes = 16384;
  /// The most receive buffers in all, lent out or held by the kernel; it bounds receive memory. At most
  /// 65536.
  std::uint32_t receive_buffer_limit = 2048;
  /// The backend. If one is named here, `create` uses it or fails. `automatic` leaves the choice to
  /// SCOLL_REACTOR_BACKEND, and then to what works.
  reactor_backend backend = reactor_backend::automatic;
  /// Say on stderr, once per process, which fallbacks were taken.
  bool announce = true;
  /// Bits of `reactor_disable`, for tests and for working around kernels.
  std::uint32_t disable = 0;

  status validate() const;
};

/// The features that the kernel offered at start. With the poll backend all flags are false.
struct reactor_features {
  /// "io_uring" or "poll".
  std::string backend;
  /// The kernel's release, as uname(2) says it.
  std::string kernel;
  bool defer_taskrun = false;
  bool single_issuer = false;
  bool multishot_receive = false;
  /// Multishot receive of datagrams.
  bool multishot_receive_message = false;
  bool multishot_accept = false;
  bool provided_buffer_ring = false;
  bool registered_ring_fd = false;
  /// The fallbacks taken, one per line.
  std::string notes;
};

/// Counters for measurements; they only grow.
struct reactor_statistics {
  std::uint64_t turns = 0;
  /// System calls that the reactor itself made, on its thread.
  std::uint64_t enters = 0;
  /// Operations handed to the kernel.
  std::uint64_t submissions = 0;
  std::uint64_t completions = 0;
  /// How often a receive ended for want of buffers.
  std::uint64_t receive_starved = 0;
};

}  // namespace scoll::transport
