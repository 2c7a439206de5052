#include "scoll/collective/measure_bulk.hpp"

#include <algorithm>
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
constexpr std::int64_t further_pieces = large_piece / small_piece - 1;

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
      : both_(std::move(both)), how_(how), object_(large_piece, std::byte{0x5a}) {}

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
    co_await ask(0, 0);
    const sample nothing = co_await ask(0, 0);
    const sample one_small = co_await ask(small_piece, small_piece);
    const sample in_pieces = co_await ask(large_piece, small_piece);
    co_await ask(0, 0);
    const sample one_large = co_await ask(large_piece, large_piece);
    if (!failed_ && counts) {
      empty_.add(nothing);
      small_.add(one_small);
      pieces_.add(in_pieces);
      large_.add(one_large);
    }
    co_return failed_ ? status(failed_) : status();
  }

  /// Sends so many bytes, none if 0. After a failure it does nothing.
  task<sample> ask(std::uint32_t bytes, std::uint32_t piece_bytes) {
    sample s;
    if (failed_) co_return s;
    bcast_options options;
    options.deadline = how_.until;
    options.dead = dead_members::refuse;
    if (bytes != 0) {
      options.bulk = std::span<const std::byte>(object_).first(bytes);
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
      const std::uint64_t work_ps = at_least_zero((large_.work() - empty_.work()) * 1000 / large_piece);
      found.host_ps = how_.processors == 0 ? 0 : work_ps / how_.processors;
    }
    return found;
  }

  group<link_probe> both_;
  bulk_measurement how_;
  std::vector<std::byte> object_;
  series empty_, small_, pieces_, large_;
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
