#pragma once

#include <cstdint>
#include <deque>

#include "scoll/bulk/bulk.hpp"
#include "scoll/bulk/registered.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/ship/remote_function.hpp"
#include "tools/scoll-sim/calls/errand_memory.hpp"

namespace scoll::sim {

struct life;

/// The operation of a haul's handler on the caller's memory.
enum class haul_way : std::uint8_t { pull, push, stream };

/// The mistake in the descriptor that a haul carries.
enum class haul_twist : std::uint8_t {
  none,
  outdated,   ///< the exposure has ended, and another one has taken its slot in the table
  widened,    ///< it claims an access that was not granted
  stretched,  ///< it claims more bytes than there are
  bygone,     ///< it belongs to an earlier life of its node
  invented,   ///< it names a region that never existed
};
/// The error with which a transfer with such a descriptor ends.
errc refusal_of(haul_twist twist) noexcept;

/// The particulars of a haul. A time of 0 means none.
struct haul_shape {
  haul_way way = haul_way::pull;
  haul_twist twist = haul_twist::none;
  bool wide = false;            ///< exposed with more access than the transfer needs
  bool verify = false;          ///< with a checksum for every chunk
  bool ends_by_handle = false;  ///< the exposure ends with its handle, not by `unexpose`
  std::uint64_t bytes = 0;      ///< exposed
  std::uint64_t offset = 0;     ///< start of the transferred part
  std::uint64_t length = 0;     ///< length of the transferred part
  std::uint64_t pieces = 1;     ///< number of pieces of the exposed memory
  std::uint64_t local_pieces = 1;
  std::uint32_t chunk = 0;
  std::uint32_t depth = 0;
  std::uint32_t chunks_read = 0;         ///< a stream is given up after this many; 0: it reads all
  std::uint64_t withdrawn_after_us = 0;  ///< the exposure ends while the transfer runs
  std::uint64_t kept_for_us = 0;         ///< for a notification, whose handler has no waiting caller
  std::uint64_t deadline_us = 0;         ///< of the transfer
  bool registered = false;               ///< the exposed memory, where hardware reads
  bool local_registered = false;         ///< the local memory likewise
  std::uint64_t chunk_work_us = 40;      ///< the time that the reader of a stream takes for each chunk
};
/// Derives all particulars from one number and the size of the memory.
haul_shape shape_of(std::uint64_t drawn, std::uint64_t bytes);

/// The argument of a call that carries a descriptor. A call that is shipped on has a number of its own.
struct haul {
  std::uint64_t number = 0;
  std::uint64_t behaviour = 0;
  std::uint64_t of = 0;  ///< the number of the first call
  std::uint32_t work_us = 0;
  region_descriptor memory;
};

/// The result of the call: a digest of the transferred bytes.
struct receipt {
  std::uint64_t of = 0;
  std::uint64_t digest = 0;
};

inline constexpr remote_function<haul, receipt> run_haul{"sim.haul"};

/// The record of a pull, a push or a stream, with its result.
struct transfer_record {
  const life* at = nullptr;
  lent_bytes local;
  registered_memory hardware;  ///< of the local memory, if it is registered
  bool began_late = false;     ///< it began after the exposure had ended
  bool done = false;
  bool ended_by_crash = false;
  status outcome;
  bool may_have_written = false;
  std::uint64_t digest = 0;   ///< the digest of the transferred bytes
  std::uint64_t strange = 0;  ///< bytes in the local memory that no node sent there
  std::uint64_t missing = 0;  ///< bytes that did not arrive
  // Times in the world's time:
  nanoseconds began{0};
  nanoseconds ended{0};
  nanoseconds stopped{0};  ///< its stop token fired; 0: it did not
  nanoseconds took{0};     ///< by its host's clock
};

/// The memory of one haul from its exposure on.
struct haul_record {
  std::uint64_t number = 0;
  haul_shape shape;
  const life* from = nullptr;
  lent_bytes memory;
  registered_memory hardware;  ///< of this memory, if it is registered
  memory_region exposed;
  lent_bytes successor;  ///< exposed in its place, if the descriptor is outdated
  memory_region successor_exposed;
  bool is_ending = false;  ///< the exposure has begun to end
  bool is_withdrawn = false;
  nanoseconds withdrawn_at{0};  ///< when it began to end
  nanoseconds withdrawal{0};    ///< how long that took
  bool foreign_digest = false;  ///< the receipt has the digest of other bytes
  // State of the memory when it was withdrawn:
  std::uint64_t strange = 0;  ///< bytes that no node sent there
  std::uint64_t pushed = 0;   ///< bytes of a push
  std::uint64_t missing = 0;  ///< bytes of a successful push that were not there
  std::deque<transfer_record> transfers;

  bool is_withdrawn_before(nanoseconds when) const noexcept { return is_ending && withdrawn_at <= when; }
  /// Returns the byte that is transferred from or to that offset of the memory.
  std::byte expected(std::uint64_t offset) const noexcept {
    return cargo(shape.way == haul_way::push ? number + pushed_cargo : number, offset);
  }
  static constexpr std::uint64_t pushed_cargo = 2'000'000;  ///< added to a haul's number
};

}  // namespace scoll::sim
