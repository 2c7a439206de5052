#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "tests/transport/session/nodes.hpp"

namespace network {

/// Makes one call after the other, without records.
struct ping_pong final : exchange {
  ping_pong(node& caller, node_id callee, std::uint64_t rounds) noexcept
      : exchange(&heard), from(caller), to(callee), left(rounds) {}
  void start() {
    message& m = from.ep->acquire_message();
    std::memcpy(m.head_space().data(), &a, sizeof a);
    m.set_head_bytes(sizeof a);
    m.copy_payload(payload, wire::checksum(payload));
    REQUIRE(from.to(to).request(*this, traffic_class::call, m, max_payload_bytes).has_value());
  }
  static void heard(exchange& e, reply_event& event) noexcept {
    auto& self = static_cast<ping_pong&>(e);
    self.failed += !event.outcome;
    if (--self.left != 0) self.start();
  }
  node& from;
  node_id to;
  std::uint64_t left;
  ask a{0, 8, 1};
  std::array<std::byte, 64> payload = [] {
    std::array<std::byte, 64> p{};
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = pattern(0, i);
    return p;
  }();
  int failed = 0;
};

}  // namespace network
