#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>

#include "tests/transport/session/call.hpp"

namespace network {

/// Nodes 1 and 2, which also answer requests of class bulk by themselves.
struct pair : linked_nodes {
  explicit pair(world& on, const std::function<void(endpoint_options&)>& tune = {}) : linked_nodes(on, tune) {
    left->take_bulk();
    right->take_bulk();
  }
  bool settle(std::deque<call>& calls) {
    return w.until(
        [&] { return std::all_of(calls.begin(), calls.end(), [](call& c) { return c.ends == 1; }); });
  }
  bool quiet() {
    return w.until([&] { return left->ep->messages_in_use() == 0 && right->ep->messages_in_use() == 0; });
  }
};

inline void check_credit_is_back(pair& p) {
  for (std::size_t c = 0; c < class_count; ++c) {
    const auto klass = static_cast<traffic_class>(c);
    CHECK(p.left->to(2).credit(klass) == p.right->ep->options().window[c]);
    CHECK(p.right->to(1).credit(klass) == p.left->ep->options().window[c]);
  }
}

}  // namespace network
