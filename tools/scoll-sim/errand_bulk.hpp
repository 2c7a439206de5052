#pragma once

#include <cstdint>
#include <deque>

#include "errand_memory.hpp"
#include "scoll/bulk/bulk.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/ship/remote_function.hpp"

namespace scoll::sim {

struct life;

/// What the handler of a haul does with the caller's memory.
enum class haul_way : std::uint8_t { pull, push, stream };

/// What is wrong with the descriptor that a haul carries.
enum class haul_twist : std::uint8_t {
  none,
  outdated,   ///< the exposure has ended, and another has taken its place in the table
  widened,    ///< it claims an access that was not granted
  stretched,  ///< it claims more bytes than there are
  bygone,     ///< it is of an earlier life of its node
  invented,   ///< it names a region that never was
};
/// What a transfer with such a descriptor ends with.
errc refusal_of(haul_twist twist) noexcept;

/// The particulars of a haul. Times of 0: none.
struct haul_shape {
  haul_way way = haul_way::pull;
  haul_twist twist = haul_twist::none;
  bool wide = false;            ///< exposed for more than the way needs
  bool verify = false;          ///< with a checksum for every chunk
  bool ends_by_handle = false;  ///< the exposure ends with its handle, not by `unexpose`
  std::uint64_t bytes = 0;      ///< exposed
  std::uint64_t offset = 0;     ///< of the part that is transferred
  std::uint64_t length = 0;     ///< of that
  std::uint64_t pieces = 1;     ///< of the exposed memory
  std::uint64_t local_pieces = 1;
  std::uint32_t chunk = 0;
  std::uint32_t depth = 0;
  std::uint32_t chunks_read = 0;         ///< of a stream that is given up then; 0: all
  std::uint64_t withdrawn_after_us = 0;  ///< the exposure ends in the middle of it all
  std::uint64_t kept_for_us = 0;         ///< for a notification, whose handler nobody waits for
  std::uint64_t deadline_us = 0;         ///< of the transfer
};
/// All of it follows from one number and the size of the memory.
haul_shape shape_of(std::uint64_t drawn, std::uint64_t bytes);

/// The argument of a call that carries a descriptor. One that is shipped on has a number of its own.
struct haul {
  std::uint64_t number = 0;
  std::uint64_t behaviour = 0;
  std::uint64_t of = 0;  ///< number of the first call
  std::uint32_t work_us = 0;
  region_descriptor memory;
};

/// Its result: a digest of what was transferred.
struct receipt {
  std::uint64_t of = 0;
  std::uint64_t digest = 0;
};

inline constexpr remote_function<haul, receipt> run_haul{"sim.haul"};

/// A pull, a push or a stream, and what came of it.
struct transfer_record {
  const life* at = nullptr;
  lent_bytes local;
  bool began_late = false;  ///< the exposure had ended
  bool done = false;
  bool ended_by_crash = false;
  status outcome;
  bool may_have_written = false;
  std::uint64_t digest = 0;   ///< of what was transferred
  std::uint64_t strange = 0;  ///< bytes in the local memory that nobody sent there
  std::uint64_t missing = 0;  ///< bytes that did not arrive
  // in the world's time
  nanoseconds began{0};
  nanoseconds ended{0};
  nanoseconds stopped{0};  ///< its stop token fired; 0: it did not
  nanoseconds took{0};     ///< by its host's clock
};

/// The memory of one haul, from its exposure on.
struct haul_record {
  std::uint64_t number = 0;
  haul_shape shape;
  const life* from = nullptr;
  lent_bytes memory;
  memory_region exposed;
  lent_bytes successor;  ///< exposed in its place, if the descriptor is outdated
  memory_region successor_exposed;
  bool is_withdrawn = false;
  nanoseconds withdrawn_at{0};
  bool foreign_digest = false;  ///< the receipt is of something else
  // in the memory, when it was withdrawn
  std::uint64_t strange = 0;  ///< bytes that nobody sent there
  std::uint64_t pushed = 0;   ///< bytes of a push
  std::uint64_t missing = 0;  ///< bytes of a push that had succeeded and was not there
  std::deque<transfer_record> transfers;

  bool is_withdrawn_before(nanoseconds when) const noexcept { return is_withdrawn && withdrawn_at <= when; }
  /// What is transferred from or to that offset of the memory.
  std::byte expected(std::uint64_t offset) const noexcept {
    return cargo(shape.way == haul_way::push ? number + pushed_cargo : number, offset);
  }
  static constexpr std::uint64_t pushed_cargo = 2'000'000;  ///< added to a haul's number
};

}  // namespace scoll::sim
