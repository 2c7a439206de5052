#pragma once

#include <fmt/format.h>
#include <netinet/in.h>

#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "gossip/participant.hpp"
#include "scoll/coro/scope.hpp"
#include "transport/io/udp_port.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace bench::gossip {

constexpr std::size_t first_port = 10'000;
constexpr scoll::nanoseconds gossip_interval = std::chrono::milliseconds(200);

/// What carries the datagrams of participants, who are known by their number.
class wire {
 public:
  /// The port that reads and prints addresses.
  virtual scoll::transport::udp_port& socket() noexcept = 0;
  virtual void join(std::size_t number, scoll::transport::datagram_events* events) = 0;
  virtual scoll::status send(std::size_t from, std::size_t to, std::span<const std::byte> bytes) noexcept = 0;

 protected:
  wire() = default;
  ~wire() = default;
};

inline std::string address_text(std::size_t number) {
  return fmt::format("127.0.0.1:{}", first_port + number);
}
/// The addresses differ only in their ports.
inline std::size_t number_of(const scoll::transport::datagram_address& address) noexcept {
  const auto bytes = address.bytes().subspan(offsetof(sockaddr_in, sin_port));
  return (std::to_integer<std::size_t>(bytes[0]) << 8U | std::to_integer<std::size_t>(bytes[1])) - first_port;
}

/// The port of one participant on a wire.
class wire_port final : public scoll::transport::datagram_port {
 public:
  explicit wire_port(wire& of) : wire_(of) {}

  scoll::status bind(const std::string& address,
                     scoll::transport::datagram_events& events) noexcept override {
    name_ = address;
    number_ = number_of(parse(address).value());
    wire_.join(number_, &events);
    return {};
  }
  std::string bound_address() const override { return name_; }
  scoll::result<scoll::transport::datagram_address> parse(std::string_view text) const override {
    return wire_.socket().parse(text);
  }
  std::string print(const scoll::transport::datagram_address& address) const override {
    return wire_.socket().print(address);
  }
  std::size_t max_datagram_bytes() const noexcept override { return wire_.socket().max_datagram_bytes(); }
  scoll::status send(const scoll::transport::datagram_address& to,
                     std::span<const std::byte> bytes) noexcept override {
    return wire_.send(number_, number_of(to), bytes);
  }
  void close() noexcept override {
    wire_.join(number_, nullptr);
    name_.clear();
  }
  bool open() const noexcept override { return !name_.empty(); }
  scoll::transport::datagram_statistics statistics() const noexcept override { return {}; }

 private:
  wire& wire_;
  std::string name_;
  std::size_t number_ = 0;
};

/// Some of `nodes` participants, in virtual time, on one wire.
class numbered_participants {
 public:
  numbered_participants(std::uint32_t nodes, wire& over) : over_(over), shared_(of_so_many(nodes)) {}

  void start(std::uint32_t number) {
    scoll::gossip::options chosen;
    chosen.incarnation = 1;
    chosen.seed = number + 1;
    chosen.stealth = false;
    ports_.emplace_back(over_);
    members_.emplace_back(time_, ports_.back(), shared_, shared_->address(number), chosen);
    work_.spawn(take_part(members_.back()));
  }
  void request_stop() noexcept { work_.request_stop(); }
  bool have_stopped() { return work_.try_join(); }

  std::uint32_t nodes() const noexcept { return shared_->size(); }
  scoll::testing::virtual_executor& time() noexcept { return time_; }
  /// Calls `turn` until that many intervals have passed; it has to run a step of the time.
  template <class Turn>
  void pass(std::uint32_t intervals, Turn&& turn) {
    const scoll::time_point end = time_.now() + intervals * gossip_interval;
    while (time_.now() < end) turn();
  }

  static std::size_t room_for(std::uint32_t nodes) {
    return std::min<std::size_t>(scoll::transport::datagram_bytes_limit, 2048 + std::size_t{2} * nodes);
  }

 private:
  static scoll::gossip::configuration_ptr of_so_many(std::uint32_t nodes) {
    std::vector<std::string> addresses;
    while (addresses.size() != nodes) addresses.push_back(address_text(addresses.size()));
    return scoll::gossip::configuration::make(std::move(addresses), gossip_interval).value();
  }
  scoll::task<void> take_part(scoll::gossip::participant& p) {
    const auto ended = co_await scoll::gossip::run(p, work_.token());
    if (!ended) throw std::runtime_error("a participant ended: " + std::string(ended.error().text()));
  }

  wire& over_;
  scoll::gossip::configuration_ptr shared_;
  scoll::testing::virtual_executor time_;
  std::deque<wire_port> ports_;
  std::deque<scoll::gossip::participant> members_;
  scoll::scope work_{time_};
};

}  // namespace bench::gossip
