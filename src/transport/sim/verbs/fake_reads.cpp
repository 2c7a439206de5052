#include "transport/sim/verbs/fake_reads.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/sim/verbs/fake_context.hpp"
#include "transport/sim/verbs/fake_pair.hpp"
#include "transport/sim/wire_time.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::testing {
namespace {

constexpr std::uint32_t piece_bytes = 4096;
constexpr nanoseconds least_pause{100};

}  // namespace

fake_reads::~fake_reads() {
  if (!late_bytes_.empty() && pair_.device().holds(late_.local_key, late_.into, late_bytes_.size()))
    std::memcpy(late_.into, late_bytes_.data(), late_bytes_.size());
  if (timer_.armed()) pair_.fabric().world().disarm(timer_);
}

void fake_reads::post(const transport::verbs::read_request& what) noexcept {
  fake_fabric& fabric = pair_.fabric();
  fake_verbs_statistics& seen = fabric.statistics;
  posted_.push_back(what);
  seen.most_reads = std::max<std::uint64_t>(seen.most_reads, posted_.size());
  seen.largest_read = std::max<std::uint64_t>(seen.largest_read, what.size);
  if (timer_.armed()) return;
  const nanoseconds there = fabric.way(pair_.host(), pair_.peer_host()).model.latency;
  fabric.world().arm(timer_, fabric.world().now() + 2 * there);
}

/// Moves a piece of the first READ.
void fake_reads::move() noexcept {
  if (posted_.empty()) return;
  fake_fabric& fabric = pair_.fabric();
  const transport::verbs::read_request& first = posted_.front();
  fake_pair* const peer = pair_.connected_peer();
  if (peer == nullptr || !fabric.passes(pair_.peer_host(), pair_.host())) return try_again();
  attempts_ = 0;
  const std::uint32_t size = std::min(piece_bytes, first.size - moved_);
  const std::byte* const from = peer->find(first.remote_key, first.remote_address + moved_, size);
  if (from == nullptr) {
    ++fabric.statistics.access_errors;
    peer->refuse_reads();
    return pair_.fail(result_of::access_denied);
  }
  if (!pair_.device().holds(first.local_key, first.into + moved_, size)) {
    ++fabric.statistics.protection_errors;
    return pair_.fail(result_of::failed);
  }
  std::memcpy(first.into + moved_, from, size);
  moved_ += size;
  fabric.statistics.read_bytes += size;
  if (moved_ == first.size) {
    fabric.world().record(sim_trace::delivery, pair_.host(),
                          (std::uint64_t{pair_.peer_host()} << 32U) | first.size,
                          wire::checksum({first.into, first.size}));
    ++fabric.statistics.reads;
    pair_.complete(first.tag, result_of::success);
    posted_.pop_front();
    moved_ = 0;
    pair_.read_complete();
  }
  const nanoseconds wire = byte_time(size, fabric.way(pair_.peer_host(), pair_.host()).model.ps_per_byte);
  if (!posted_.empty()) fabric.world().arm(timer_, fabric.world().now() + std::max(wire, least_pause));
}

/// The READ is sent again from its beginning.
void fake_reads::try_again() noexcept {
  if (attempts_++ >= pair_.retries()) return pair_.fail(result_of::retries_exceeded);
  moved_ = 0;
  pair_.fabric().world().arm(timer_, pair_.fabric().world().now() + pair_.retry_period());
}

void fake_reads::keep_response() noexcept {
  if (posted_.empty() || !late_bytes_.empty()) return;
  late_ = posted_.front();
  const fake_pair* const peer = pair_.peer();
  const std::uint32_t size = std::min(piece_bytes, late_.size);
  const std::byte* const from =
      peer == nullptr ? nullptr : peer->find(late_.remote_key, late_.remote_address, size);
  if (from != nullptr) late_bytes_.assign(from, from + size);
}

void fake_reads::fail(result_of outcome) noexcept {
  keep_response();
  moved_ = 0;
  for (; !posted_.empty(); posted_.pop_front())
    pair_.complete(posted_.front().tag, std::exchange(outcome, result_of::flushed));
  if (timer_.armed()) pair_.fabric().world().disarm(timer_);
}

}  // namespace scoll::testing
