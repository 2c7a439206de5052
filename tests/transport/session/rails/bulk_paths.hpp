#pragma once

#include "tests/transport/memory/transfers.hpp"

/// Which of two transports bulk data go by.
namespace transfers {

inline constexpr path_key by_net{0, 0};
inline constexpr path_key by_fast{1, 1};

inline path_key bulk_path(two& p) {
  return p.left->to(2).path_of(traffic_class::bulk);
}

/// Pulls of a MiB, and calls, until the bulk of both nodes goes by that path.
inline bool bulk_goes_by(two& p, const region_descriptor& from, path_key wanted, nanoseconds within) {
  fenced into(mebibyte);
  const time_point until = p.w.ex().now() + within;
  while (p.w.ex().now() < until) {
    REQUIRE(p.pull(from, 0, into.memory()).has_value());
    calls_go_on(p, 1);
    if (bulk_path(p) == wanted && p.right->to(1).path_of(traffic_class::bulk) == wanted) return true;
  }
  return false;
}

inline void check_nothing_was_lost(two& p) {
  for (const node* n : {p.left.get(), p.right.get()}) {
    CHECK(n->in.losses.empty());
    const endpoint_statistics& counts = n->ep->statistics();
    CHECK(counts.sessions_lost + counts.links_broken + counts.bulk_lost == 0);
  }
}

}  // namespace transfers
