#pragma once

#include <cstdint>
#include <memory>

#include "scoll/collective/aggregate.hpp"
#include "scoll/collective/measure_links.hpp"
#include "scoll/collective/service.hpp"

namespace scoll::detail {

/// Timestamps that a node takes of its own broadcast: when requests have left, and when replies come.
struct probe_watch {
  bool measuring = false;  ///< true while a measurement runs
  bool timed = false;      ///< true while the present broadcast is timed
  nanoseconds sent_processor_time{0};
  std::uint32_t replies = 0;
  nanoseconds first_processor_time{0};
  time_point first{};
  time_point last{};
};

/// The service that measuring broadcasts are sent to. Its `execute` tells the node's host and how long its
/// processor has worked. Bulk data passes through and is dropped.
struct link_probe {
  static constexpr service_id id{2};
  static constexpr std::string_view name = "link_probe";
  static constexpr std::uint32_t bulk_window = 8;
  struct request {
    bool timed = false;  ///< true if replies must have `processor_ns`
    wire::borrowed_bytes filler;
  };
  /// The sum over all members but the root. Facts are only read where one member is asked.
  struct reply {
    sum<std::uint64_t> processor_ns;
    sum<std::uint64_t> host;
    sum<std::uint32_t> processors;
  };

  host_facts facts;
  std::shared_ptr<probe_watch> watch = std::make_shared<probe_watch>();

  static status on_bulk(const bulk_chunk&, bcast_context&) { return {}; }
  reply execute(const request& asked, bcast_context& c) const;
  void on_reply(const arrival<reply>&, bcast_context& c) const;
};

}  // namespace scoll::detail
