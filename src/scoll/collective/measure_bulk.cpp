#include "scoll/collective/measure_bulk.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "scoll/bulk/pieces.hpp"
#include "scoll/collective/bcast.hpp"
#include "scoll/collective/engine.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::detail {
namespace {

// In the first round, connections are made and memory is touched; it does not count.
constexpr std::uint32_t least_rounds = 2, most_rounds = 6;
constexpr std::uint32_t large_piece = most_bulk_piece_bytes, small_piece = least_bulk_piece_bytes;
constexpr std::uint32_t middle_piece = large_piece / 4;
constexpr std::int64_t further_pieces = large_piece / small_piece - 1;
// What processors do for a byte is seen when they do nothing else for a while. The same memory is sent as often.
constexpr std::size_t times_in_stream = 16;
constexpr std::int64_t stream_bytes = std::int64_t{times_in_stream} * large_piece;

/// The times of one broadcast, or what it takes more than another one, in ns.
struct sample {
  std::int64_t took = 0;
  std::int64_t own = 0;   // this node's processor time
  std::int64_t peer = 0;  // the peer's, since it executed the broadcast before this one
};

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The samples of one kind of broadcast.
class series {
 public:
  void add(const sample& s) { all_.push_back(s); }
  std::int64_t took() const { return middle(&sample::took); }
  /// The processor time of both sides.
  std::int64_t work() const { return middle(&sample::own) + middle(&sample::peer); }

 private:
  std::int64_t middle(std::int64_t sample::* which) const {
    std::vector<std::int64_t> values;
    values.reserve(all_.size());
    for (const sample& s : all_) values.push_back(s.*which);
    return median(std::move(values));
  }
  std::vector<sample> all_;
};

std::uint64_t at_least_zero(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value));
}

class measurement {
 public:
  measurement(group<link_probe> both, const bulk_measurement& how)
      : both_(std::move(both)), how_(how), object_(large_piece, std::byte{0x5a}) {
    stream_.fill(object_);
  }

  task<result<bulk_costs>> run() {
    for (std::uint32_t round = 0; round < most_rounds; ++round) {
      if (round >= least_rounds && now() >= how_.ends) break;
      const status ran = co_await run_round(round != 0);
      if (!ran) co_return ran.error();
    }
    co_return costs();
  }

 private:
  executor& home() const { return both_.get_engine().get_executor(); }
  time_point now() const { return home().now(); }

  task<status> run_round(bool counts) {
    // The peer's time is counted from one broadcast to the next, so each that counts comes after an empty one.
    co_await ask({}, 0);
    const sample nothing = co_await ask({}, 0);
    const sample one_small = co_await ask(std::span(object_).first(small_piece), small_piece);
    const sample in_pieces = co_await ask(object_, small_piece);
    co_await ask({}, 0);
    const sample one_large = co_await ask(object_, large_piece);
    if (!failed_ && counts) {
      empty_.add(nothing);
      small_.add(one_small);
      pieces_.add(in_pieces);
      large_.add(one_large);
    }
    if (works_here()) co_await run_streams(counts);
    co_return failed_ ? status(failed_) : status();
  }

  /// True if both nodes share a host whose processors are known.
  bool works_here() const { return how_.same_host && how_.processors != 0; }

  task<void> run_streams(bool counts) {
    const bulk_view all(std::span<const std::span<const std::byte>>{stream_});
    co_await ask({}, 0);
    const sample in_large = co_await ask(all, large_piece);
    co_await ask({}, 0);
    const sample in_middle = co_await ask(all, middle_piece);
    if (failed_ || !counts) co_return;
    large_stream_.add(in_large);
    middle_stream_.add(in_middle);
  }

  /// Sends these bytes, if there are any. After a failure it does nothing.
  task<sample> ask(bulk_view bytes, std::uint32_t piece_bytes) {
    sample s;
    if (failed_) co_return s;
    bcast_options options;
    options.deadline = how_.until;
    options.dead = dead_members::refuse;
    if (bytes.given()) {
      options.bulk = bytes;
      options.bulk_plan = bulk_plan::chain();
      options.bulk_piece_bytes = piece_bytes;
    }
    const link_probe::request asked{true, {}};
    const time_point began = now();
    const nanoseconds worked = home().processor_time();
    const auto answer = co_await bcast(both_, asked, options);
    s.own = (home().processor_time() - worked).count();
    s.took = (now() - began).count();
    if (!answer.ok()) {
      failed_ = answer.error();
      co_return s;
    }
    const auto peer = static_cast<std::int64_t>(answer->processor_ns.value);
    s.peer = peer - peer_before_;
    peer_before_ = peer;
    co_return s;
  }

  /// The time in which this processor hashes a byte, in ps.
  std::int64_t hash_ps() const {
    std::int64_t least = INT64_MAX;
    for (int i = 0; i < 3; ++i) {
      const nanoseconds began = home().processor_time();
      static_cast<void>(wire::checksum(object_));
      least = std::min<std::int64_t>(least, (home().processor_time() - began).count());
    }
    return least * 1000 / large_piece;
  }

  bulk_costs costs() const {
    const std::int64_t byte_ps = (large_.took() - small_.took()) * 1000 / (large_piece - small_piece);
    const std::int64_t small_ns = std::max<std::int64_t>(0, byte_ps) * small_piece / 1000;
    const std::int64_t piece_ns =
        std::max<std::int64_t>(0, (pieces_.took() - small_.took()) / further_pieces - small_ns);
    bulk_costs found;
    found.hash_ps = at_least_zero(hash_ps());
    // Both sides hash each byte.
    found.link_ps = at_least_zero(byte_ps - 2 * static_cast<std::int64_t>(found.hash_ps));
    found.piece_ns = at_least_zero(piece_ns);
    // The order goes one way, and the piece the other.
    found.hop_ns = at_least_zero((small_.took() - empty_.took() - small_ns - piece_ns) / 2);
    found.host_ps = found.link_ps;
    if (how_.same_host) {
      found.host_ps = works_here() ? work_ps(large_stream_) : 0;
      found.host_small_ps = works_here() ? work_ps(middle_stream_) : 0;
    }
    return found;
  }

  /// The time of this host for a byte of such a stream, if all of its processors work.
  std::uint64_t work_ps(const series& of_streams) const {
    return at_least_zero((of_streams.work() - empty_.work()) * 1000 / stream_bytes) / how_.processors;
  }

  group<link_probe> both_;
  bulk_measurement how_;
  std::vector<std::byte> object_;
  std::array<std::span<const std::byte>, times_in_stream> stream_;
  series empty_, small_, pieces_, large_, large_stream_, middle_stream_;
  std::int64_t peer_before_ = 0;
  error failed_;
};

}  // namespace

task<result<bulk_costs>> measure_bulk(group<link_probe> both, bulk_measurement how) {
  measurement all(std::move(both), how);
  result<bulk_costs> found = co_await all.run();
  co_return found;
}

}  // namespace scoll::detail
