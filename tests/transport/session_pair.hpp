#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include "network.hpp"

namespace network {

/// Nodes 1 and 2, which know each other.
struct pair {
  explicit pair(world& on, const std::function<void(endpoint_options&)>& tune = {}) : w(on) {
    endpoint_options a = options_of(1);
    endpoint_options b = options_of(2);
    if (tune) {
      tune(a);
      tune(b);
    }
    left = std::make_unique<node>(w, a);
    right = std::make_unique<node>(w, b);
    introduce(*left, *right);
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

  world& w;
  std::unique_ptr<node> left;
  std::unique_ptr<node> right;
};

inline void check_credit_is_back(pair& p) {
  for (std::size_t c = 0; c < class_count; ++c) {
    const auto klass = static_cast<traffic_class>(c);
    CHECK(p.left->to(2).credit(klass) == p.right->ep->options().window[c]);
    CHECK(p.right->to(1).credit(klass) == p.left->ep->options().window[c]);
  }
}

}  // namespace network
