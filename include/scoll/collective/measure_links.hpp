#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/time_limit.hpp"
#include "scoll/node.hpp"
#include "scoll/tree/link_map.hpp"

namespace scoll {

/// Where a node runs, as it tells those who measure.
struct host_facts {
  std::uint64_t host = 0;        ///< the same for nodes that share its processors, of no meaning else
  std::uint32_t processors = 0;  ///< 0: it has one for itself

  /// This boot of this machine, and the processors that this process may run on. What a container's quota
  /// leaves of them is not looked at.
  static host_facts here();
};

/// Lets other nodes measure their links to this one, and this one its own: by broadcasts that do nothing
/// (service 2). Part of every node that is to be in a group whose tree is chosen by measuring. Errors:
/// `already_exists`.
result<service_handle> serve_link_probe(node& self, const host_facts& facts = host_facts::here());

/// Peers that are known to be reached alike: those whose address begins so.
struct link_class_rule {
  std::string name;            ///< for people: "rack 7"
  std::string address_prefix;  ///< of what `add_peer` was told: "10.7."
};

struct measure_options {
  std::size_t request_bytes = 64;                       ///< of what is to be predicted; up to 4,096
  nanoseconds budget = std::chrono::milliseconds(300);  ///< for timing; what is known then counts
  time_limit deadline = std::chrono::seconds(5);        ///< for all of it
  /// The first that fits counts. For the others there are two classes, "same host" and "network".
  std::vector<link_class_rule> classes{};
};

/// How the figures of a class came about.
struct link_figures {
  std::uint32_t members = 0;
  std::uint32_t at_once = 0;  ///< of them asked together, for what a further one costs
  std::uint32_t samples = 0;  ///< broadcasts to one alone
  nanoseconds round_trip{0};  ///< the median of those
};

/// Links as they were measured just now.
struct measured_links {
  link_map map;                        ///< this node is member 0, then the peers in their order
  std::vector<link_figures> by_class;  ///< as `map.classes`
  nanoseconds took{0};
};

/// Measures what messages between this node and the peers cost, for `choose_tree`, by null broadcasts through
/// groups of its own: to each of a few peers alone, and to up to 64 of a class at once. Processor times come
/// from the threads of both sides (`executor::processor_time`); latency is what a round trip takes beyond
/// them; what a further peer costs is the slope between one and many; medians throughout. A gap beyond the
/// time of a send is seen only where replies come further apart than their merging explains.
///
/// Takes at most `budget` and a few round trips to every peer. Errors: what keeps peers from answering,
/// naming them (one that is dead, or does not serve the probe); `unknown_service` (this node does not);
/// `busy` (it measures already); `invalid_argument` (no peers); `duplicate_target`; `deadline_exceeded`.
task<result<measured_links>> measure_links(node& self, std::vector<node_id> peers,
                                           measure_options options = {});

}  // namespace scoll
