#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>

#include "tests/transport/session/call.hpp"
#include "tests/transport/tcp/proxy.hpp"

namespace network {

/// Nodes 1 and 2; 1 connects through a proxy, and 2 does not connect.
struct proxied {
  proxied(const endpoint_options& from, const endpoint_options& to)
      : w(tcp_world::family::v4), a(w, from), b(w, to), between(b.ep->listen_address()) {
    REQUIRE(a.ep->add_peer(b.id, between.address()).has_value());
    REQUIRE(b.ep->add_peer(a.id, "127.0.0.1:1").has_value());
  }
  bool until(const std::function<bool()>& done, nanoseconds limit = 20s) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      between.turn();
      w.run_once(50us);
    }
    return true;
  }
  bool calls(call& c, std::uint64_t number, traffic_class klass = traffic_class::call, std::size_t size = 8) {
    REQUIRE(c.start(a, b.id, number, size, klass, 8).has_value());
    return until([&] { return c.ends == 1; });
  }
  std::uint64_t not_authentic() const {
    return std::min(a.ep->statistics().not_authentic, b.ep->statistics().not_authentic);
  }

  tcp_world w;
  node a, b;
  proxy between;
};

}  // namespace network
