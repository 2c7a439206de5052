#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scoll/collective/bulk_data.hpp"
#include "scoll/collective/context.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/coro/result.hpp"
#include "tools/scoll-sim/calls/errand_memory.hpp"
#include "tools/scoll-sim/cluster/bulk_strangers.hpp"
#include "tools/scoll-sim/plan/events.hpp"
#include "transport/memory/region_descriptor.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

/// The bulk data of the broadcasts in one run: what the roots send, and the places of the members.
class freights {
 public:
  /// What has gone wrong with the bulk data of one broadcast.
  struct findings {
    std::uint32_t altered_chunks = 0;    ///< chunks that differ from what was sent
    std::uint32_t early_executions = 0;  ///< members that executed without all bytes
    std::uint32_t untold = 0;            ///< members that did not execute and were not told
    std::uint32_t mistold = 0;           ///< members that executed and were told that they will not
    std::uint32_t touched = 0;           ///< places that were written after they had come back
    std::uint32_t risen = 0;             ///< orders that went up
  };
  /// The memory that a member lets others read.
  struct exposure {
    transport::region_descriptor from;
    bool withdrawn = false;  ///< it is the member's own again
  };
  struct freight {
    events::freight about;
    std::vector<std::byte> contents;
    lent_bytes lent;  ///< the root's, which has strange bytes when the broadcast has ended
    std::vector<std::span<const std::byte>> parts;
    findings wrong;
    std::map<std::uint32_t, std::uint32_t> risen_of;  ///< by rank: the orders that went up
    bool arrived = false;                             ///< a member besides the root executed with all bytes
    bool passed = false;                              ///< one without a place did
    bool sent = false;
    bool over = false;
    std::vector<exposure> exposed;
    nanoseconds came_back{0};  ///< the last place did, in the world's time

    /// The time for which a member stands still that is told to: within that of the bulk data for some of them, but
    /// beyond that of the request.
    nanoseconds stands_for() const noexcept {
      return std::chrono::seconds(about.broadcast % 2 == 0 ? 20 : 3);
    }
    /// True if a member stands still for longer than bulk data may take.
    bool misses_its_time() const noexcept { return !about.standing.empty() && stands_for() > bulk_time(); }
    nanoseconds bulk_time() const noexcept { return std::chrono::seconds(about.standing.empty() ? 2 : 10); }
  };

  explicit freights(const testing::sim_world& world) noexcept : world_(world) {}

  void announce(const events::freight& f);
  /// Sets the options of a broadcast that has bulk data.
  void load(std::uint64_t broadcast, bcast_options& options);
  /// Looks at all places that have come back.
  void look() noexcept;
  /// The root's await has ended.
  void ended(std::uint64_t broadcast);
  const std::map<std::uint64_t, freight>& all() const noexcept { return all_; }
  const freight* find(std::uint64_t broadcast) const;
  /// The answers to hosts that want bulk data they have no right to.
  bulk_refusals& strangers() noexcept { return strangers_; }

  // The hooks of the members.

  /// `prepare` runs: the member gives its place, unless it has none.
  status place_for(std::uint64_t life, std::uint64_t broadcast, bcast_context& c);
  status chunk_came(const bulk_chunk& chunk, const bcast_context& c);
  /// The time that the hook takes for this chunk, because its member was told to stand still.
  nanoseconds stands_still(const bulk_chunk& chunk, const bcast_context& c);
  void bulk_failed(const bcast_context& c) noexcept;
  /// `execute` begins.
  void unloads(const bcast_context& c);
  /// The place is the member's own again.
  void place_returned(const bcast_context& c) noexcept;

  /// The number of places that a life has given and that have not come back.
  std::size_t places_of(std::uint64_t life) const noexcept;

 private:
  /// The place of one member, while its operation runs.
  struct berth {
    std::uint64_t life = 0;
    freight* of = nullptr;
    std::unique_ptr<lent_bytes> memory;  ///< null: none was given
    std::uint64_t seen = 0;              ///< bytes in chunks
    std::optional<std::size_t> exposed;  ///< the index of its memory
    bool passes = false;                 ///< pieces pass through slots
    bool stood = false;
    bool chunks = false;
    bool altered = false;
    bool executed = false;
    bool failed = false;
  };

  void keep(freight& of, std::unique_ptr<lent_bytes> place);

  static constexpr std::size_t most_kept = 64;

  const testing::sim_world& world_;
  bulk_refusals strangers_;
  std::map<std::uint64_t, freight> all_;
  std::map<const bcast_context*, berth> berths_;
  std::deque<std::pair<freight*, std::unique_ptr<lent_bytes>>> returned_;  // the latest, to be looked at
};

}  // namespace scoll::sim
