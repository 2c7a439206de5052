#include "tools/scoll-sim/exhaust/kill_check.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/chain.hpp"
#include "scoll/tree/kary.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/exhaust/make_parts.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

namespace scoll::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t asked_group = 1, asked_broadcast = 1;
constexpr nanoseconds creation_takes = 100ms;
constexpr nanoseconds word_takes = 3ms;  // until the others hear of a loud death
constexpr nanoseconds longest_await = 60s;
constexpr nanoseconds rest_takes = 12s;
constexpr std::chrono::microseconds work = 30us;  // of each member, so that it can die meanwhile

std::string_view to_string(failure_policy policy) {
  switch (policy) {
    case degrade: return "degrade";
    case fail_fast: return "fail fast";
    case repair: return "repair";
  }
  return "?";
}

std::string_view to_string(member_end what) {
  switch (what) {
    case member_end::loud: return "dies loudly";
    case member_end::silent: return "dies silently";
    case member_end::reboot: return "reboots";
  }
  return "?";
}

plan plan_of(const kill_bounds& b) {
  plan p;
  p.hosts = b.members;
  p.events.push_back({0ns, events::wires{10us, 10us, 0us, 0, 1, 4096}});
  return p;
}

/// True if the victim is on the way from the root to a member, or is that member.
bool is_below(const any_tree& tree, std::uint32_t n, std::uint32_t member, std::uint32_t victim) {
  for (; member != victim; member = tree.parent(n, member)) {
    if (member == 0) return false;
  }
  return true;
}

/// One run of nodes in virtual time, in which rank 0, on host 0, broadcasts.
class kill_trial {
 public:
  explicit kill_trial(const kill_bounds& b) : bounds_(b), cluster_(std::make_unique<cluster>(plan_of(b))) {
    events::group made;
    made.number = asked_group;
    made.tree = b.tree.kind;
    made.tree_parameter = b.tree.params[0];
    made.members = number_set::below(b.members);
    made.lasting = true;
    carry_out(made);
    run_for(creation_takes);
    events::policy policy;
    policy.broadcast = asked_broadcast;
    policy.fail_fast = b.policy == fail_fast;
    policy.repairs = b.policy == repair;
    carry_out(policy);
    events::bcast asked;
    asked.number = asked_broadcast;
    asked.group = asked_group;
    asked.work = work;
    carry_out(asked);
  }
  kill_trial(const kill_trial&) = delete;
  kill_trial& operator=(const kill_trial&) = delete;

  /// Runs so many steps, or until the await has ended. Returns the number of steps.
  std::uint32_t run(std::uint32_t steps) {
    std::uint32_t done = 0;
    while (done < steps && !over() && cluster_->world().step(now() + 1s)) ++done;
    return done;
  }

  void end(std::uint32_t victim) {
    victim_ = victim;
    carry_out(events::crash{victim, bounds_.what == member_end::silent});
    if (bounds_.what == member_end::reboot) carry_out(events::boot{victim});
    if (bounds_.what != member_end::loud) return;
    run_for(word_takes);
    for (std::uint32_t host = 0; host < bounds_.members; ++host)
      carry_out(events::verdict{host, victim, news::dead});
  }

  /// Runs to the end. Returns the first thing that is wrong; empty if nothing is.
  std::string finish() {
    for (const nanoseconds last = now() + longest_await; !over() && now() < last;) run_for(100ms);
    run_for(3s);
    std::string fault = fault_of_outcome();
    if (fault.empty()) fault = fault_at_rest();
    if (fault.empty()) {
      violations found;
      cluster_->begin_shutdown();
      run_for(rest_takes);
      cluster_->bury_the_dead();
      check_broadcasts(*cluster_, found);
      check_shutdown(*cluster_, found);
      if (!found.empty()) fault = found.front().property + ": " + found.front().what;
    }
    if (!fault.empty()) static_cast<void>(cluster_.release());  // a broken run is left as it is
    return fault;
  }

 private:
  template <class Event>
  void carry_out(const Event& e) {
    cluster_->carry_out({now(), e});
  }
  nanoseconds now() const { return cluster_->world().now(); }
  void run_for(nanoseconds d) { cluster_->world().run_until(now() + d); }
  const broadcast_record& told() const { return cluster_->broadcasts().at(asked_broadcast); }
  bool root_died() const { return victim_ == 0U; }
  bool over() const { return root_died() || told().done; }

  std::string fault_of_outcome() const {
    if (!over()) return "the await does not end";
    const broadcast_record& b = told();
    const auto tree = any_tree::resolve(bounds_.tree, bounds_.members);
    for (std::uint32_t rank = 0; rank < bounds_.members; ++rank) {
      const std::uint32_t begun = b.members[rank].begun;
      if (begun > 1) return fmt::format("rank {} executed {} times", rank, begun);
      if (root_died() || is_right(b.account.state(rank), begun, is_safe(*tree, rank))) continue;
      return fmt::format("rank {} executed {} times: {}", rank, begun, describe(b.account));
    }
    return {};
  }
  /// True for members that lose nothing by the death: others find a way to them, if the policy looks for one.
  bool is_safe(const any_tree& tree, std::uint32_t rank) const {
    if (!victim_) return true;
    return bounds_.policy == repair ? rank != *victim_ : !is_below(tree, bounds_.members, rank, *victim_);
  }
  /// True if a member that has begun to execute so often is in the right state.
  bool is_right(member_state state, std::uint32_t begun, bool is_safe) const {
    const bool stops = bounds_.policy == fail_fast && victim_;
    switch (state) {
      case member_state::merged: return begun == 1;
      case member_state::executed: return begun == 1 && (stops || !is_safe);
      case member_state::not_reached: return begun == 0 && (stops || !is_safe);
      case member_state::failed: return stops || (begun == 0 && !is_safe);  // stopped, or another life
      case member_state::unknown: return !is_safe;
      default: return false;
    }
  }

  std::string fault_at_rest() const {
    for (std::uint32_t host = 0; host < bounds_.members; ++host) {
      const life* const l = cluster_->alive(host);
      if (l != nullptr && detail::node_access::engine(*l->member).operations() != 0)
        return fmt::format("host {} has work left at rest", host);
    }
    return {};
  }

  kill_bounds bounds_;
  std::unique_ptr<cluster> cluster_;
  std::optional<std::uint32_t> victim_;
};

constexpr std::array policies{degrade, fail_fast, repair};
constexpr std::array ends{member_end::loud, member_end::silent, member_end::reboot};

}  // namespace

exhausted kill_members_at_each_step(const kill_bounds& bounds) {
  exhausted part{fmt::format("{} over {} members, {}: one {} at each step", to_string(bounds.tree),
                             bounds.members, to_string(bounds.policy), to_string(bounds.what)),
                 1,
                 {},
                 {}};
  std::uint32_t steps = 0;
  {
    kill_trial undisturbed(bounds);
    steps = undisturbed.run(UINT32_MAX);
    part.violation = undisturbed.finish();
  }
  for (std::uint32_t step = 0; step <= steps && part.violation.empty(); step += bounds.stride) {
    for (std::uint32_t victim = 0; victim < bounds.members && part.violation.empty(); ++victim) {
      kill_trial one(bounds);
      one.run(step);
      one.end(victim);
      ++part.cases;
      part.violation = one.finish();
      if (!part.violation.empty()) part.way = {fmt::format("rank {} at step {} of {}", victim, step, steps)};
    }
  }
  return part;
}

std::vector<exhausted> exhaust_kill(const exhaust_settings& settings) {
  constexpr std::uint32_t usual_most = 33;
  const std::array trees{tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(knomial{4}),
                         tree_spec(kary{3})};
  constexpr std::size_t of_each_tree = policies.size() * ends.size();
  const std::size_t of_each_size = trees.size() * of_each_tree;
  const std::uint32_t most = settings.most_members != 0 ? settings.most_members : usual_most;
  return make_parts("kill", (most - 1) * of_each_size, settings, [&](std::size_t at) {
    const std::size_t which = at % of_each_size;
    return kill_members_at_each_step(
        {trees[which / of_each_tree], static_cast<std::uint32_t>(2 + at / of_each_size),
         policies[which % policies.size()], ends[which / policies.size() % ends.size()]});
  });
}

}  // namespace scoll::sim
