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
#include "scoll/tree/zoned.hpp"

namespace scoll {

/// Describes the host of a node to nodes that measure their links to it.
struct host_facts {
  /// A number that is equal on nodes which share processors; it has no other meaning.
  std::uint64_t host = 0;
  /// The number of processors; 0 if the node has one for itself.
  std::uint32_t processors = 0;

  /// Gives a number for the current boot of this machine, and the number of processors that this process may
  /// run on. It ignores a container's CPU quota.
  static host_facts here();
};

/// Lets other nodes measure their links to this one, and this node measure its own, by broadcasts that do
/// nothing (service 2). Every node in a group whose tree is chosen by measuring must serve it. Errors:
/// `already_exists`.
result<service_handle> serve_link_probe(node& self, const host_facts& facts = host_facts::here());

/// Names a class of peers that are reached alike: those whose address begins with `address_prefix`.
struct link_class_rule {
  /// The name of the class for people, such as "rack 7".
  std::string name;
  /// The beginning of the address that `add_peer` was given, such as "10.7.".
  std::string address_prefix;
};

struct measure_options {
  /// The request size in bytes to predict for, up to 4,096.
  std::size_t request_bytes = 64;
  /// The time for measuring; what has been measured by then is used.
  nanoseconds budget = std::chrono::milliseconds(300);
  /// The time limit of the whole operation.
  time_limit deadline = std::chrono::seconds(5);
  /// Rules for classes; the first that fits a peer counts. Other peers fall into two classes, "same host" and
  /// "network"; where `places` names zones, also "same zone".
  std::vector<link_class_rule> classes{};
  /// The places of this node and then of the peers; empty: unknown.
  std::vector<member_place> places{};
  /// Measures the costs of bulk data too: `link_class::bulk`. It sends about 4 MiB to one peer of each class,
  /// and up to 13 MiB while a quarter of the class's time lasts.
  bool bulk = true;
};

/// The samples behind the figures of a class.
struct link_figures {
  std::uint32_t members = 0;
  /// The number of members that were asked together, to measure the cost of a further peer.
  std::uint32_t at_once = 0;
  /// The number of broadcasts to one member alone.
  std::uint32_t samples = 0;
  /// The median round trip of those broadcasts.
  nanoseconds round_trip{0};
};

/// The links as they were just measured.
struct measured_links {
  /// Member 0 is this node; the peers follow in their order.
  link_map map;
  /// One entry for each of `map.classes`.
  std::vector<link_figures> by_class;
  nanoseconds took{0};
};

/// Measures the cost of messages between this node and the peers, for `choose_tree`. It runs null broadcasts
/// through groups of its own: to each of a few peers alone, and to up to 64 of a class at once. Processor
/// times come from the threads of both sides (`executor::processor_time`). Latency is the rest of a round
/// trip. The cost of a further peer is the slope between one peer and many. All figures are medians. A gap
/// beyond the time of a send is only seen where replies come further apart than their merging explains.
///
/// The costs of bulk data come from broadcasts of up to 1 MiB to one peer of each class. A class whose bulk
/// data cannot be measured has none, and that is no error.
///
/// Takes at most `budget` and a few round trips to every peer. Errors: what keeps peers from answering,
/// naming them (a peer that is dead, or does not serve the probe); `unknown_service` (this node does not
/// serve the probe); `busy` (this node is measuring already); `invalid_argument` (no peers, or places of
/// another number of members); `duplicate_target`; `deadline_exceeded`.
task<result<measured_links>> measure_links(node& self, std::vector<node_id> peers,
                                           measure_options options = {});

}  // namespace scoll
