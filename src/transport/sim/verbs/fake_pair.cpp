#include "transport/sim/verbs/fake_pair.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "transport/sim/verbs/fake_context.hpp"
#include "transport/sim/wire_time.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::testing {

using transport::verbs::completion;
using transport::verbs::read_request;
using transport::verbs::send_request;
using transport::verbs::window_request;

namespace {

constexpr std::int64_t timeout_unit_ns = 4096;
constexpr std::uint8_t for_ever = 7;
constexpr nanoseconds not_ready_pause = std::chrono::microseconds(640);

}  // namespace

fake_pair::fake_pair(fake_context& device, const transport::verbs::queue_pair_request& what)
    : device_(device),
      completions_(static_cast<fake_completion_queue&>(*what.completions)),
      receives_(static_cast<fake_receive_queue*>(what.receives)),
      most_sends_(what.sends),
      serves_reads_(what.serves_reads),
      windows_(*this, what.windows) {
  number = fabric().add(*this);
  inline_bytes = std::min(what.inline_bytes, most_inline);
}

fake_pair::~fake_pair() {
  if (timer_.armed()) fabric().world().disarm(timer_);
  fabric().remove(number);
}

fake_fabric& fake_pair::fabric() const noexcept {
  return device_.fabric();
}

std::uint32_t fake_pair::host() const noexcept {
  return device_.host();
}

nanoseconds fake_pair::retry_period() const noexcept {
  return nanoseconds(timeout_unit_ns << path_.timeout);
}

status fake_pair::connect(const transport::verbs::path_request& path) {
  if (device_.failed()) return error(errc::io_error, "the device has failed");
  const std::uint32_t peer = host_of_gid(path.remote, fabric().host_count());
  if (state_ != state::init || peer == fabric().host_count()) {
    ++fabric().statistics.illegal_calls;
    return error(errc::invalid_argument,
                 "a queue pair is connected once, from INIT, to an address that exists");
  }
  path_ = path;
  peer_host_ = peer;
  state_ = state::ready;
  return {};
}

// ---- posting

/// A send that the device takes is copied if it is inline, and otherwise read when it arrives.
bool fake_pair::accept(const send_request& r) noexcept {
  if (fabric().refuses_next_send(device_.host())) return false;
  const bool possible = state_ != state::init && receives_ != nullptr && sends_.size() < most_sends_ &&
                        (!r.inlined || r.size <= inline_bytes);
  if (!possible) ++fabric().statistics.illegal_calls;
  return possible;
}

std::size_t fake_pair::post(std::span<const send_request> sends) noexcept {
  if (device_.failed()) return 0;
  std::size_t posted_count = 0;
  const nanoseconds now = fabric().world().now();
  for (const send_request& r : sends) {
    if (!accept(r)) break;
    ++posted_count;
    if (state_ == state::error) {
      complete(r.tag, result_of::flushed);
      continue;
    }
    const sim_link_model& model = fabric().way(device_.host(), peer_host_).model;
    last_arrival_ = std::max(last_arrival_, now + model.latency) + byte_time(r.size, model.ps_per_byte);
    posted p;
    p.request = r;
    p.arrives = last_arrival_;
    if (r.inlined && r.size != 0) std::memcpy(p.inlined.data(), r.data, r.size);
    sends_.push_back(p);
  }
  wake();
  return posted_count;
}

/// READs beyond the depth of the path would stall all that is posted behind them.
std::size_t fake_pair::post(std::span<const read_request> reads) noexcept {
  if (device_.failed()) return 0;
  std::size_t posted_count = 0;
  for (const read_request& r : reads) {
    if (fabric().refuses_next_send(device_.host())) break;
    if (state_ == state::init || receives_ != nullptr || reads_.under_way() >= most_sends_ || r.size == 0) {
      ++fabric().statistics.illegal_calls;
      break;
    }
    ++posted_count;
    if (state_ == state::error) {
      complete(r.tag, result_of::flushed);
      continue;
    }
    if (reads_.under_way() >= path_.reads_out) ++fabric().statistics.stalled_reads;
    reads_.post(r);
  }
  return posted_count;
}

std::size_t fake_pair::post(std::span<const window_request> windows) noexcept {
  if (device_.failed()) return 0;
  std::size_t posted_count = 0;
  for (const window_request& w : windows) {
    if (fabric().refuses_next_send(device_.host())) break;
    if (state_ == state::init || reads_.under_way() + windows_.under_way() >= most_sends_) {
      ++fabric().statistics.illegal_calls;
      break;
    }
    ++posted_count;
    if (state_ == state::error) {
      complete(w.tag, result_of::flushed);
    } else {
      windows_.post(w, reads_.under_way());
    }
  }
  return posted_count;
}

void fake_pair::wake() noexcept {
  if (sends_.empty()) return;
  nanoseconds at = nanoseconds::max();
  if (delivered_ != 0) at = sends_.front().acknowledged;
  if (delivered_ < sends_.size()) at = std::min(at, sends_[delivered_].arrives);
  if (timer_.armed()) fabric().world().disarm(timer_);
  fabric().world().arm(timer_, std::max(at, fabric().world().now()));
}

// ---- the wire

void fake_pair::work() noexcept {
  const nanoseconds now = fabric().world().now();
  while (delivered_ < sends_.size() && sends_[delivered_].arrives <= now) {
    if (!deliver(sends_[delivered_])) break;
  }
  while (delivered_ != 0 && sends_.front().acknowledged <= now) {
    posted& first = sends_.front();
    if (!fabric().passes(peer_host_, device_.host())) {
      first.acknowledged = now + retry_period();
      if (++first.attempts > path_.retry_count) return fail(result_of::retries_exceeded);
      break;
    }
    if (first.request.signalled) complete(first.request.tag, result_of::success);
    sends_.pop_front();
    --delivered_;
  }
  wake();
}

bool fake_pair::answers(const fake_pair* peer) const noexcept {
  return peer != nullptr && peer->state_ == state::ready && peer->device_.host() == peer_host_ &&
         peer->path_.remote_queue_pair == number && peer->path_.remote_packet == path_.own_packet &&
         path_.remote_packet == peer->path_.own_packet;
}

fake_pair* fake_pair::peer() const noexcept {
  fake_pair* const other = fabric().find(path_.remote_queue_pair);
  return answers(other) ? other : nullptr;
}

fake_pair* fake_pair::connected_peer() const noexcept {
  return fabric().passes(device_.host(), peer_host_) ? peer() : nullptr;
}

const std::byte* fake_pair::find(std::uint32_t key, std::uint64_t address, std::size_t size) const noexcept {
  if (!serves_reads_) return nullptr;
  const std::byte* const by_window = windows_.find(key, address, size);
  return by_window != nullptr ? by_window : device_.find_for_peers(key, address, size);
}

void fake_pair::refuse_reads() noexcept {
  fail(result_of::failed);
  device_.tell({.kind = transport::verbs::device_event::what::queue_pair_failed, .queue_pair = number});
}

/// Returns false if the next one has to wait, or the queue pair has failed.
bool fake_pair::deliver(posted& next) noexcept {
  fake_pair* const peer = connected_peer();
  if (peer == nullptr) return try_again(next, retry_period(), path_.retry_count, result_of::retries_exceeded);
  if (peer->receives_ == nullptr || peer->receives_->places.empty()) {
    ++fabric().statistics.receivers_not_ready;
    const unsigned most = path_.rnr_retry == for_ever ? UINT_MAX : path_.rnr_retry;
    return try_again(next, not_ready_pause, most, result_of::receiver_not_ready);
  }
  const auto place = peer->receives_->places.front();
  const std::byte* const from = bytes_of(next);
  const bool fits =
      next.request.size <= place.size && peer->device_.holds(place.local_key, place.data, place.size);
  if (next.request.size != 0 && (from == nullptr || !fits)) {
    ++fabric().statistics.protection_errors;
    fail(result_of::failed);
    return false;
  }
  peer->receives_->places.pop_front();
  if (next.request.size != 0) std::memcpy(place.data, from, next.request.size);
  fabric().world().record(sim_trace::delivery, peer_host_,
                          (std::uint64_t{device_.host()} << 32U) | next.request.size,
                          wire::checksum({place.data, next.request.size}));
  completion arrived;
  arrived.tag = place.tag;
  arrived.queue_pair = peer->number;
  arrived.has_immediate = true;
  arrived.immediate = next.request.immediate;
  arrived.bytes = next.request.size;
  peer->device_.complete(peer->completions_, arrived);
  next.attempts = 0;
  next.acknowledged = fabric().world().now() + fabric().way(peer_host_, device_.host()).model.latency;
  ++delivered_;
  fabric().delivered(device_.host(), peer_host_);
  return true;
}

/// Everything behind it waits, too. Always returns false.
bool fake_pair::try_again(posted& what, nanoseconds period, unsigned most, result_of otherwise) noexcept {
  if (what.attempts++ >= most) {
    fail(otherwise);
    return false;
  }
  what.arrives = fabric().world().now() + period;
  last_arrival_ = std::max(last_arrival_, what.arrives);
  for (std::size_t i = delivered_; i < sends_.size(); ++i)
    sends_[i].arrives = std::max(sends_[i].arrives, what.arrives);
  return false;
}

/// Null if the memory may not be read.
const std::byte* fake_pair::bytes_of(const posted& what) const noexcept {
  if (what.request.inlined) return what.inlined.data();
  const bool held = device_.holds(what.request.local_key, what.request.data, what.request.size);
  return held ? what.request.data : nullptr;
}

// ---- completions

void fake_pair::complete(std::uint64_t tag, result_of outcome) noexcept {
  completion done;
  done.tag = tag;
  done.queue_pair = number;
  done.outcome = outcome;
  device_.complete(completions_, done);
}

/// The oldest request fails with the reason, all others are flushed, signalled or not.
void fake_pair::fail(result_of outcome) noexcept {
  state_ = state::error;
  delivered_ = 0;
  for (; !sends_.empty(); sends_.pop_front())
    complete(sends_.front().request.tag, std::exchange(outcome, result_of::flushed));
  if (timer_.armed()) fabric().world().disarm(timer_);
  reads_.fail(outcome);
  windows_.fail();
}

}  // namespace scoll::testing
