#include "transport/sim/verbs/fake_datagrams.hpp"

#include <algorithm>
#include <cstring>

#include "transport/sim/verbs/fake_context.hpp"
#include "transport/sim/wire_time.hpp"
#include "transport/verbs/datagrams/global_header.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::testing {

using transport::verbs::completion;
using transport::verbs::datagram_request;
using transport::verbs::global_header_bytes;

namespace {

constexpr std::uint32_t whole_ppm = 1'000'000;
constexpr std::uint64_t most_latencies_late = 8;

bool happens(sim_world& world, std::uint32_t ppm) noexcept {
  return ppm != 0 && world.random().chance(ppm, whole_ppm);
}

/// How long a datagram is on its way.
nanoseconds travel_time(sim_world& world, const sim_path& way) noexcept {
  nanoseconds time = way.model.latency;
  if (way.model.jitter.count() != 0)
    time += nanoseconds(static_cast<std::int64_t>(
        world.random().below(static_cast<std::uint64_t>(way.model.jitter.count()) + 1)));
  if (world.now() < way.slow_until) time += way.extra;
  if (happens(world, way.spike_ppm)) time += way.spike;
  if (happens(world, way.reorder_ppm))
    time += static_cast<std::int64_t>(1 + world.random().below(most_latencies_late)) * way.model.latency;
  return time;
}

/// Writes what a device writes in front of a datagram: without a meaning are the first 20 bytes, which here
/// look like a header of IPv6, as they may.
void write_header(std::byte* to, std::uint32_t from_host, std::uint32_t to_host) noexcept {
  constexpr std::array<std::uint8_t, 12> begin{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0};
  constexpr std::size_t v4_at = 20, checksum_at = 10, address_bytes = 4;
  std::memset(to, 0x66, v4_at);
  std::byte* const header = to + v4_at;
  std::memcpy(header, begin.data(), begin.size());
  std::memcpy(header + begin.size(), fake_gid(from_host).data() + 12, address_bytes);
  std::memcpy(header + begin.size() + address_bytes, fake_gid(to_host).data() + 12, address_bytes);
  const std::uint16_t checksum = transport::verbs::header_checksum({header, global_header_bytes - v4_at});
  header[checksum_at] = static_cast<std::byte>(checksum >> 8U);
  header[checksum_at + 1] = static_cast<std::byte>(checksum & 0xffU);
}

}  // namespace

// ---- on the way

fake_datagrams::~fake_datagrams() {
  for (packet& p : packets_) {
    if (p.timer.armed()) fabric_.world().disarm(p.timer);
  }
}

void fake_datagrams::add(fake_datagram_pair& pair) {
  pair.number = fabric_.next_number();
  pairs_[pair.number] = &pair;
}

fake_datagrams::packet& fake_datagrams::take() {
  return idle_.empty() ? packets_.emplace_back(*this) : idle_.pop_front();
}

/// A datagram that is longer than the MTU is lost, and completes at its sender with success, as on real devices.
void fake_datagrams::send(const fake_datagram_pair& from, const datagram_request& what,
                          std::span<const std::byte> bytes) {
  const std::uint32_t from_host = from.device().host();
  const std::uint32_t to_host = static_cast<const fake_address_handle*>(what.to)->host;
  const sim_path& way = fabric_.way(from_host, to_host);
  if (bytes.size() > fabric_.mtu) {
    ++fabric_.statistics.datagrams_too_long;
    return;
  }
  const unsigned copies = happens(fabric_.world(), way.duplicate_ppm) ? 2 : 1;
  for (unsigned i = 0; i < copies; ++i) {
    if (happens(fabric_.world(), way.loss_ppm) || !fabric_.passes(from_host, to_host)) continue;
    packet& p = take();
    p.from_host = from_host;
    p.from_pair = from.number;
    p.to_host = to_host;
    p.to_pair = what.queue_pair;
    p.queue_key = what.queue_key;
    p.bytes.assign(bytes.begin(), bytes.end());
    fabric_.world().arm(p.timer, fabric_.world().now() + travel_time(fabric_.world(), way));
  }
}

void fake_datagrams::arrive(packet& p) noexcept {
  const auto found = pairs_.find(p.to_pair);
  const bool there = found != pairs_.end() && found->second->device().host() == p.to_host;
  if (there && fabric_.passes(p.from_host, p.to_host))
    found->second->receive(p.from_host, p.from_pair, p.queue_key, p.bytes);
  idle_.push_back(p);
}

// ---- queue pairs

fake_datagram_pair::fake_datagram_pair(fake_context& device,
                                       const transport::verbs::datagram_pair_request& what)
    : device_(device),
      completions_(static_cast<fake_completion_queue&>(*what.completions)),
      receives_(static_cast<fake_receive_queue&>(*what.receives)),
      most_sends_(what.sends),
      queue_key_(what.queue_key) {
  device.fabric().datagrams().add(*this);
  inline_bytes = std::min(what.inline_bytes, most_inline);
}

fake_datagram_pair::~fake_datagram_pair() {
  fail_all();
  device_.fabric().datagrams().remove(number);
}

bool fake_datagram_pair::accept(const datagram_request& r) noexcept {
  if (device_.fabric().refuses_next_send(device_.host())) return false;
  const bool possible =
      sends_.size() < most_sends_ && device_.has(r.to) && (!r.inlined || r.size <= inline_bytes);
  if (!possible) ++device_.fabric().statistics.illegal_calls;
  return possible;
}

std::size_t fake_datagram_pair::post(std::span<const datagram_request> sends) noexcept {
  if (device_.failed()) return 0;
  std::size_t posted_count = 0;
  const nanoseconds now = device_.fabric().world().now();
  for (const datagram_request& r : sends) {
    if (!accept(r)) break;
    ++posted_count;
    auto& to = static_cast<fake_address_handle&>(*r.to);
    ++to.sends;
    posted p;
    p.request = r;
    const sim_link_model& model = device_.fabric().way(device_.host(), to.host).model;
    last_departure_ = std::max(last_departure_, now + model.overhead) + byte_time(r.size, model.ps_per_byte);
    p.departs = last_departure_;
    if (r.inlined && r.size != 0) std::memcpy(p.inlined.data(), r.data, r.size);
    if (failed_) {
      complete(p, completion::result::flushed);
    } else {
      sends_.push_back(p);
    }
  }
  if (!sends_.empty() && !timer_.armed()) device_.fabric().world().arm(timer_, sends_.front().departs);
  return posted_count;
}

/// A send that is not inline is read when it leaves.
void fake_datagram_pair::work() noexcept {
  const nanoseconds now = device_.fabric().world().now();
  while (!sends_.empty() && sends_.front().departs <= now) {
    if (!depart(sends_.front())) return;
    complete(sends_.front(), completion::result::success);
    sends_.pop_front();
  }
  if (!sends_.empty()) device_.fabric().world().arm(timer_, sends_.front().departs);
}

bool fake_datagram_pair::depart(const posted& next) noexcept {
  const datagram_request& r = next.request;
  const std::byte* const from = r.inlined ? next.inlined.data() : r.data;
  if (!r.inlined && !device_.holds(r.local_key, r.data, r.size)) {
    ++device_.fabric().statistics.protection_errors;
    fail_all();
    return false;
  }
  device_.fabric().datagrams().send(*this, r, {from, r.size});
  return true;
}

void fake_datagram_pair::complete(const posted& ended, completion::result outcome) noexcept {
  --static_cast<fake_address_handle&>(*ended.request.to).sends;
  completion done;
  done.tag = ended.request.tag;
  done.queue_pair = number;
  done.outcome = outcome;
  device_.complete(completions_, done);
}

void fake_datagram_pair::fail_all() noexcept {
  failed_ = true;
  completion::result outcome = completion::result::failed;
  for (; !sends_.empty(); sends_.pop_front()) {
    complete(sends_.front(), outcome);
    outcome = completion::result::flushed;
  }
  if (timer_.armed()) device_.fabric().world().disarm(timer_);
}

void fake_datagram_pair::receive(std::uint32_t from_host, std::uint32_t from_pair, std::uint32_t key,
                                 std::span<const std::byte> bytes) noexcept {
  fake_verbs_statistics& counts = device_.fabric().statistics;
  if (device_.failed() || failed_) return;
  if (key != queue_key_) {
    ++counts.wrong_queue_keys;
    return;
  }
  if (receives_.places.empty()) {
    ++counts.datagrams_without_place;
    return;
  }
  const auto place = receives_.places.front();
  const std::size_t needed = global_header_bytes + bytes.size();
  if (needed > place.size || !device_.holds(place.local_key, place.data, place.size)) {
    ++counts.protection_errors;
    return;
  }
  receives_.places.pop_front();
  write_header(place.data, from_host, device_.host());
  if (!bytes.empty()) std::memcpy(place.data + global_header_bytes, bytes.data(), bytes.size());
  device_.fabric().world().record(sim_trace::datagram, device_.host(),
                                  (std::uint64_t{from_host} << 32U) | bytes.size(), wire::checksum(bytes));
  completion done;
  done.tag = place.tag;
  done.queue_pair = number;
  done.bytes = static_cast<std::uint32_t>(needed);
  done.source_pair = from_pair;
  done.has_global_header = true;
  device_.complete(completions_, done);
  ++counts.datagrams;
}

}  // namespace scoll::testing
