#include "transport/sim/sim_datagram.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "scoll/coro/error_format.hpp"
#include "transport/sim/wire_time.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::testing {
namespace {

constexpr std::uint32_t per_million = 1'000'000;
constexpr std::size_t packet_limit = std::size_t{1} << 18;
// The bytes that a datagram costs in a socket's queue beside its content.
constexpr std::size_t queue_overhead = 256;
constexpr std::uint64_t most_latencies_held_back = 8;
constexpr std::string_view sim_address_form = "expected host:3";

std::size_t cost(std::size_t size) noexcept {
  return size + queue_overhead;
}

/// Big-endian, so that addresses are ordered like their hosts.
transport::datagram_address to_datagram(std::uint32_t host) noexcept {
  std::byte bytes[sizeof host];
  for (std::size_t i = 0; i < sizeof host; ++i) bytes[i] = static_cast<std::byte>(host >> (24 - 8 * i));
  return transport::datagram_address::of(bytes);
}

std::optional<std::uint32_t> to_host(const transport::datagram_address& address) noexcept {
  if (address.bytes().size() != sizeof(std::uint32_t)) return std::nullopt;
  std::uint32_t host = 0;
  for (const std::byte b : address.bytes()) host = (host << 8) | std::to_integer<std::uint32_t>(b);
  return host;
}

}  // namespace

sim_datagrams::packet::packet(sim_datagrams& network) noexcept
    : timer_node([](timer_node& node) noexcept {
        auto& p = static_cast<packet&>(node);
        p.network_.arrive(p);
      }),
      network_(network) {}

sim_datagrams::sim_datagrams(sim_network& network)
    : network_(network), ports_(network.hosts()), pulled_until_(network.hosts()) {}

sim_datagrams::~sim_datagrams() {
  for (const sim_datagram_port* port : ports_)
    SCOLL_ASSERT(port == nullptr, "simulated datagrams died before their ports");
  for (packet& p : packets_) {
    if (p.armed()) world().disarm(p);
  }
}

bool sim_datagrams::happens(std::uint32_t ppm) noexcept {
  return ppm != 0 && world().random().chance(ppm, per_million);
}

sim_datagrams::packet* sim_datagrams::take() {
  if (!idle_.empty()) return &idle_.pop_front();
  return packets_.size() < packet_limit ? &packets_.emplace_back(*this) : nullptr;
}

/// Returns the time at which the host's wire will have taken the datagram.
nanoseconds sim_datagrams::send(std::uint32_t from, std::uint32_t to, std::span<const std::byte> bytes) {
  const bool known = to < network_.hosts();
  const sim_path& way = path(from, to);
  const sim_link_model& model = way.model;
  nanoseconds& sending_until = network_.sending_until_[from];
  const nanoseconds departs = std::max(world().now(), sending_until) + model.overhead;
  const std::uint64_t narrowing = world().now() < way.narrow_until ? way.narrowing : 1;
  const nanoseconds departed = departs + byte_time(bytes.size(), model.ps_per_byte * narrowing);
  sending_until = departed + std::max<nanoseconds>(model.gap - model.overhead, nanoseconds(0));
  if (!known) {
    lose(from, to, bytes.size(), sim_loss::nobody);
    return departed;
  }
  const bool twice = happens(way.duplicate_ppm);
  launch(way, from, to, bytes, departed);
  if (twice) launch(way, from, to, bytes, departed);
  return departed;
}

bool sim_datagrams::blocked(std::uint32_t from, std::uint32_t to) const noexcept {
  return std::max({path(from, to).blocked_until, pulled_until_[from], pulled_until_[to]}) > world().now();
}

void sim_datagrams::launch(const sim_path& way, std::uint32_t from, std::uint32_t to,
                           std::span<const std::byte> bytes, nanoseconds departed) {
  if (blocked(from, to)) return lose(from, to, bytes.size(), sim_loss::partition);
  if (happens(way.loss_ppm)) return lose(from, to, bytes.size(), sim_loss::chance);
  packet* const p = take();
  if (p == nullptr) return lose(from, to, bytes.size(), sim_loss::no_room);
  p->from = from;
  p->to = to;
  p->bytes.assign(bytes.begin(), bytes.end());
  alter(way, *p);
  network_.bytes_carried_ += bytes.size();
  world().arm(*p, departed + delay(way));
}

nanoseconds sim_datagrams::delay(const sim_path& way) noexcept {
  const auto jitter = static_cast<std::uint64_t>(way.model.jitter.count());
  nanoseconds time =
      way.model.latency + nanoseconds(static_cast<std::int64_t>(world().random().below(jitter + 1)));
  if (world().now() < way.slow_until) time += way.extra;
  if (happens(way.spike_ppm)) time += way.spike;
  if (happens(way.reorder_ppm)) {
    const std::uint64_t latencies = 1 + world().random().below(most_latencies_held_back);
    time += way.model.latency * static_cast<std::int64_t>(latencies);
  }
  return time;
}

void sim_datagrams::alter(const sim_path& way, packet& p) noexcept {
  if (p.bytes.empty() || !happens(way.corrupt_ppm)) return;
  const std::uint64_t position = world().random().below(p.bytes.size());
  const std::uint64_t flipped = 1 + world().random().below(255);
  p.bytes[position] ^= static_cast<std::byte>(flipped);
}

void sim_datagrams::arrive(packet& p) noexcept {
  if (blocked(p.from, p.to)) {
    lose(p.from, p.to, p.bytes.size(), sim_loss::partition);
  } else if (ports_[p.to] == nullptr) {
    lose(p.from, p.to, p.bytes.size(), sim_loss::nobody);
  } else {
    return ports_[p.to]->enqueue(p);
  }
  give_back(p);
}

void sim_datagrams::lose(std::uint32_t from, std::uint32_t to, std::size_t size, sim_loss why) noexcept {
  world().record(sim_trace::lost, from % world().hosts(), (std::uint64_t{to} << 32) | size,
                 static_cast<std::uint64_t>(why));
}

sim_datagram_port::sim_datagram_port(sim_datagrams& network, sim_executor& home,
                                     sim_datagram_options options) noexcept
    : sim_datagram_port(network, home, home.host(), options) {}

sim_datagram_port::sim_datagram_port(sim_datagrams& network, sim_executor& home, std::uint32_t address,
                                     sim_datagram_options options) noexcept
    : timer_node([](timer_node& node) noexcept { static_cast<sim_datagram_port&>(node).drain(); }),
      network_(network),
      home_(home),
      address_(address),
      options_(options) {}

sim_datagram_port::~sim_datagram_port() {
  SCOLL_ASSERT(!open(), "a datagram port died before it was closed");
}

status sim_datagram_port::bind(const std::string& address, transport::datagram_events& events) noexcept {
  if (open()) return error(errc::already_exists, "this port is already bound");
  if (options_.max_bytes < 1 || options_.max_bytes > transport::datagram_bytes_limit ||
      options_.receive_buffers < 1 || options_.send_buffers < 1)
    return error(errc::invalid_argument, "simulated datagrams: an option is out of range");
  const std::string own = sim_network::address_of(address_);
  if (address != own) return make_error(errc::invalid_argument, "{} is not the address of {}", address, own);
  if (network_.ports_[address_] != nullptr) return make_error(errc::already_exists, "{} is taken", address);
  if (!buffers_) {
    buffers_.emplace(options_.max_bytes, options_.receive_buffers);
    departures_.resize(options_.send_buffers);
    buffers_->on_refill(
        [](void* self) noexcept {
          auto& port = *static_cast<sim_datagram_port*>(self);
          if (!port.queue_.empty() && !port.armed())
            port.network_.world().arm(port, port.network_.world().now());
        },
        this);
  }
  if (!crashed_) network_.ports_[address_] = this;
  events_ = &events;
  return {};
}

std::string sim_datagram_port::bound_address() const {
  return open() ? sim_network::address_of(address_) : std::string();
}

result<transport::datagram_address> sim_datagram_port::parse(std::string_view text) const {
  constexpr std::string_view prefix = "host:";
  std::uint32_t host = 0;
  const char* const end = text.data() + text.size();
  if (text.starts_with(prefix)) {
    const auto parsed = std::from_chars(text.data() + prefix.size(), end, host);
    if (parsed.ec == std::errc{} && parsed.ptr == end) return to_datagram(host);
  }
  return make_error(errc::invalid_argument, "address '{:.44}': {}", text, sim_address_form);
}

std::string sim_datagram_port::print(const transport::datagram_address& address) const {
  const auto host = to_host(address);
  return host ? sim_network::address_of(*host) : "(no address)";
}

status sim_datagram_port::send(const transport::datagram_address& to,
                               std::span<const std::byte> bytes) noexcept {
  if (!open()) return error(errc::closed, "the datagram port is not bound");
  if (bytes.size() > options_.max_bytes)
    return make_error(errc::too_large, "a datagram of {} bytes, the limit is {}", bytes.size(),
                      options_.max_bytes);
  const auto host = to_host(to);
  if (!host) return error(errc::invalid_argument, "not the address of a simulated host");
  if (!crashed_) {
    nanoseconds& departure = departures_[next_departure_];
    if (departure > network_.world().now()) {
      ++statistics_.busy;
      return make_error(errc::busy, "all datagram buffers are on their way out: send_buffers is {}",
                        options_.send_buffers);
    }
    next_departure_ = (next_departure_ + 1) % departures_.size();
    departure = network_.send(address_, *host, bytes);
  }
  ++statistics_.sent;
  statistics_.sent_bytes += bytes.size();
  return {};
}

void sim_datagram_port::enqueue(sim_datagrams::packet& p) noexcept {
  if (!queue_.empty() && queued_bytes_ + cost(p.bytes.size()) > options_.socket_bytes) {
    ++statistics_.dropped;
    network_.lose(p.from, p.to, p.bytes.size(), sim_loss::no_room);
    return network_.give_back(p);
  }
  queue_.push_back(p);
  queued_bytes_ += cost(p.bytes.size());
  if (!armed()) drain();
}

/// Delivers what the host has time and memory for. The rest waits.
void sim_datagram_port::drain() noexcept {
  while (!queue_.empty()) {
    if (home_.available_at() > network_.world().now())
      return network_.world().arm(*this, home_.available_at());
    const transport::buffer_ref buffer = buffers_->try_acquire();
    if (!buffer) return;
    deliver(queue_.pop_front(), buffer);
  }
}

void sim_datagram_port::deliver(sim_datagrams::packet& p, const transport::buffer_ref& buffer) noexcept {
  const std::size_t size = p.bytes.size();
  const std::uint32_t from = p.from;
  if (size != 0) std::memcpy(buffer.data(), p.bytes.data(), size);
  queued_bytes_ -= cost(size);
  network_.give_back(p);
  const transport::buffer_view bytes{buffer, {buffer.data(), size}};
  network_.world().record(sim_trace::datagram, home_.host(), (std::uint64_t{from} << 32) | size,
                          wire::checksum(bytes.bytes));
  ++statistics_.received;
  statistics_.received_bytes += size;
  home_.occupy(network_.path(from, address_).model.overhead);
  home_.enter([&]() noexcept { events_->on_datagram(to_datagram(from), bytes); });
}

void sim_datagram_port::leave() noexcept {
  if (network_.ports_[address_] == this) network_.ports_[address_] = nullptr;
  while (!queue_.empty()) network_.give_back(queue_.pop_front());
  queued_bytes_ = 0;
  if (armed()) network_.world().disarm(*this);
}

void sim_datagram_port::close() noexcept {
  leave();
  events_ = nullptr;
}

void sim_datagram_port::crash() noexcept {
  leave();
  crashed_ = true;
}

}  // namespace scoll::testing
