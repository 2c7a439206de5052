#pragma once

#include <cstdint>

#include "scoll/bulk/costs.hpp"
#include "scoll/collective/group.hpp"
#include "scoll/collective/link_probe.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::detail {

/// How the cost of bulk data is measured.
struct bulk_measurement {
  time_point ends{};             ///< no further round begins then
  deadline until;                ///< of each broadcast
  bool same_host = false;        ///< the peer shares this node's host
  std::uint32_t processors = 0;  ///< of this host; 0: every node has one for itself
};

/// Measures the cost of bulk data by broadcasts to a group of this node, its root, and one peer: without bulk
/// data, with one piece of 64 KiB, with 1 MiB in 16 such pieces, and with 1 MiB in one piece; on one host also
/// with 16 MiB in pieces of 1 MiB and of 256 KiB. It takes the medians over a few rounds of these. Errors: those
/// of broadcasts.
task<result<bulk_costs>> measure_bulk(group<link_probe> both, bulk_measurement how);

}  // namespace scoll::detail
