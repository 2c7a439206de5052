#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scoll/collective/agree.hpp"
#include "scoll/collective/group.hpp"
#include "scoll/collective/rank_set.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/ids.hpp"
#include "tools/scoll-sim/plan/events.hpp"

namespace scoll::sim {

class cluster;
struct group_record;
struct life;

/// The value that a simulated member enters: itself. It merges to those whose values are in, and to how often.
struct voice {
  set_union<std::uint16_t> ranks;
  sum<std::uint64_t> times;
};

/// One call of `agree` or `shrink`, and what it gave.
struct agreement_call {
  std::uint64_t number = 0;
  std::uint64_t group = 0;
  std::optional<std::uint64_t> instance;  ///< none: a shrink
  const life* at = nullptr;
  std::uint32_t rank = 0;
  std::uint32_t members = 0;
  nanoseconds deadline{0};
  agreement_quorum quorum = agreement_quorum::majority;
  nanoseconds began{0};  ///< in the world's time
  nanoseconds ended{0};
  nanoseconds took{0};  ///< by the caller's clock
  bool held = false;    ///< it had to wait until its host may begin broadcasts
  bool done = false;
  bool ended_by_crash = false;
  // The result:
  status outcome;
  std::optional<voice> value;
  rank_set failed;
  std::optional<group_id> made;
  std::vector<std::uint32_t> survivors;  ///< the hosts of the group that was made
};

/// The agreements and shrinks of a cluster.
class agreements {
 public:
  /// A shrunk group has this number more than the group that was shrunk.
  static constexpr std::uint64_t first_shrunk = 20'000;

  explicit agreements(cluster& of) noexcept : cluster_(of) {}

  void begin(const events::agree& e);
  void begin(const events::shrink& e);
  /// Records the shrunk groups that members hold although nobody was given them. Returns true if there are any.
  bool find_groups();

  const std::map<std::uint64_t, agreement_call>& calls() const noexcept { return calls_; }
  /// Groups of the same survivors that differ.
  const std::vector<std::string>& disputes() const noexcept { return disputes_; }

 private:
  agreement_call* record(std::uint64_t number, std::uint64_t group, std::uint32_t host);
  task<void> run(life& at, group_record& g, agreement_call& c);
  template <class S>
  task<void> run_as(life& at, group_record& g, agreement_call& c);
  template <class S>
  task<void> agree_as(group<S> held, agreement_call& c, agree_options options);
  template <class S>
  task<void> shrink_as(life& at, group<S> held, group_record& g, agreement_call& c, agree_options options);
  group_record* note_group(const group_record& from, const group_id& id,
                           const std::vector<std::uint32_t>& hosts, std::uint32_t by);
  void note_seen(const agreement_call& c);

  cluster& cluster_;
  std::map<std::uint64_t, agreement_call> calls_;
  std::vector<std::string> disputes_;
};

}  // namespace scoll::sim
