#pragma once

#include <cstdint>
#include <string>

#include "scoll/coro/random.hpp"
#include "transport/io/datagram.hpp"

namespace gossipctl {

/// A port that drops a share of the messages sent through it, as a seeded random generator decides: for tests
/// on networks without loss. Everything else is forwarded to the port beneath.
class lossy_port final : public scoll::transport::datagram_port {
 public:
  using datagram_address = scoll::transport::datagram_address;

  /// `share` is 0 to 1. `beneath` must outlive this port.
  lossy_port(scoll::transport::datagram_port& beneath, double share, std::uint64_t seed)
      : beneath_(beneath), per_million_(static_cast<std::uint64_t>(share * million)), random_(seed) {}

  std::uint64_t lost() const noexcept { return lost_; }

  scoll::status bind(const std::string& address,
                     scoll::transport::datagram_events& events) noexcept override {
    return beneath_.bind(address, events);
  }
  std::string bound_address() const override { return beneath_.bound_address(); }
  scoll::result<datagram_address> parse(std::string_view text) const override { return beneath_.parse(text); }
  std::string print(const datagram_address& address) const override { return beneath_.print(address); }
  std::size_t max_datagram_bytes() const noexcept override { return beneath_.max_datagram_bytes(); }
  scoll::status send(const datagram_address& to, std::span<const std::byte> bytes) noexcept override {
    if (per_million_ != 0 && random_.chance(per_million_, million)) {
      ++lost_;
      return {};
    }
    return beneath_.send(to, bytes);
  }
  void close() noexcept override { beneath_.close(); }
  bool open() const noexcept override { return beneath_.open(); }
  scoll::transport::datagram_statistics statistics() const noexcept override { return beneath_.statistics(); }

 private:
  static constexpr std::uint64_t million = 1'000'000;

  scoll::transport::datagram_port& beneath_;
  std::uint64_t per_million_;
  scoll::random_generator random_;
  std::uint64_t lost_ = 0;
};

}  // namespace gossipctl
