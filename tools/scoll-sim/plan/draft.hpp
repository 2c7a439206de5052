#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "tools/scoll-sim/plan/draws.hpp"
#include "tools/scoll-sim/plan/plan.hpp"

namespace scoll::sim {

struct drawn_group {
  std::uint64_t number;
  nanoseconds at;
  number_set members;  ///< those that may begin a broadcast
};
struct drawn_broadcast {
  std::uint64_t number;
  nanoseconds at;
  std::uint64_t group;
  std::uint32_t root;
};

/// The parts of a run that one seed has. Each kind of thing also occurs without the others.
struct features {
  bool adopted_groups = false;
  bool mapped_groups = false;   ///< services name the members of groups
  bool delayed_groups = false;  ///< members are told of groups with the first broadcast
  bool large_groups = false;    ///< memberships that no message holds
  bool lasting_groups = false;  ///< groups that outlive their creators
  bool inner_groups = false;    ///< groups within others
  bool own_trees = false;       ///< greedy trees, and trees of the program's own
  bool zones = false;           ///< members in zones, and zoned trees
  bool entities = false;
  bool all_services = false;  ///< services beyond the first two, some with two versions
  bool manners = false;       ///< choices about the dead, the living, and the processing bound
  bool calls = false;
  bool bulk = false;
  bool two_rails = false;
  std::uint32_t rails = 1;     ///< of every host
  bool rails_alone = false;    ///< rails fail, and nothing else does
  bool clients = false;        ///< some nodes are clients
  bool remote_memory = false;  ///< hardware reads the memory of peers
  bool guards = false;         ///< connections are guarded
  bool guards_alone = false;   ///< only connections break, while the key is changed
  bool outages = false;        ///< the transport of bulk data fails, and nothing else does
  bool gossip = false;         ///< the nodes follow a gossip
  bool verdicts = false;       ///< liveness is invented
  bool revokes = false;
  bool freights = false;    ///< broadcasts with bulk data
  bool old_groups = false;  ///< groups are used long after their creation
};

/// A plan that is being drawn. One function per subject adds its events.
class draft {
 public:
  explicit draft(const plan_options& options);

  draws stream(std::string_view subject, std::uint64_t item = 0) const noexcept {
    return {options_.seed, subject, item};
  }
  const plan_options& options() const noexcept { return options_; }
  std::uint32_t hosts() const noexcept { return options_.hosts; }
  bool mixed() const noexcept {
    return options_.work == workload::mixed || options_.work == workload::bulk ||
           options_.work == workload::failures || options_.work == workload::streams;
  }
  bool answers_in_parts() const noexcept {
    return options_.work == workload::failures || options_.work == workload::streams;
  }
  bool swarm() const noexcept { return options_.faults == fault_profile::swarm && !quiet; }
  const features& has() const noexcept { return has_; }
  /// The moment at which users begin; before, the gossip finds together.
  nanoseconds beginning() const noexcept { return has_.gossip ? gossip_start : nanoseconds(0); }

  void add(nanoseconds at, const happening& what) { plan_.events.push_back({at, what}); }
  std::uint32_t host(draws& from) const noexcept { return static_cast<std::uint32_t>(from.below(hosts())); }
  /// Another host, if there is one.
  std::uint32_t other_than(std::uint32_t host, draws& from) const noexcept;
  number_set everybody() const noexcept { return number_set::below(hosts()); }
  number_set half(draws& from) const noexcept { return number_set::half_of(hosts(), from.generator()); }

  /// All events so far, in the order in which they were added.
  const std::vector<plan_event>& events() const noexcept { return plan_.events; }
  /// The whole plan, in order of time. Events of one moment keep their order.
  plan finished();

  bool quiet = false;      ///< without faults
  nanoseconds horizon{0};  ///< the end of what users do, after the beginning
  std::vector<drawn_group> groups;
  std::vector<drawn_broadcast> broadcasts;
  std::uint32_t crashes_left = 0;

 private:
  void draw_features();

  static constexpr nanoseconds gossip_start = std::chrono::seconds(12);

  plan_options options_;
  features has_;
  plan plan_;
};

void draw_world(draft& d);
void draw_groups(draft& d);
void draw_broadcasts(draft& d);
void draw_manners(draft& d);
void draw_policies(draft& d);
void draw_readings(draft& d);
void draw_overtaken(draft& d);
void draw_freights(draft& d);
void draw_last_broadcasts(draft& d);
void draw_strays(draft& d);
void draw_call(draft& d, std::uint64_t number, nanoseconds at, std::uint32_t from, std::uint32_t to,
               bool rush);
void draw_calls(draft& d);
void draw_haul(draft& d, std::uint64_t number, nanoseconds at, std::uint32_t from, std::uint32_t to,
               bool disturbed);
void draw_hauls(draft& d);
void draw_remote_broadcasts(draft& d);
void draw_outages(draft& d);
void draw_rail_faults(draft& d);
void draw_faults(draft& d);
void draw_revokes(draft& d);
void draw_liveness(draft& d);
/// True if `draw_liveness` lets hosts hear of deaths that did not happen.
bool has_wrong_verdicts(const draft& d);
void draw_agreements(draft& d);
void draw_guards(draft& d);

inline nanoseconds from_us(std::uint64_t us) noexcept {
  return std::chrono::microseconds(static_cast<std::int64_t>(us));
}
inline std::chrono::microseconds as_us(std::uint64_t us) noexcept {
  return std::chrono::microseconds(static_cast<std::int64_t>(us));
}

}  // namespace scoll::sim
