#include "tools/scoll-sim/plan/plan.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "tools/scoll-sim/plan/draft.hpp"

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::array all_profiles{fault_profile::none, fault_profile::light, fault_profile::swarm};
constexpr std::array all_workloads{workload::mixed, workload::plain,  workload::ship,     workload::gossip,
                                   workload::agree, workload::revoke, workload::bulk,     workload::groups,
                                   workload::rails, workload::verbs,  workload::failures, workload::streams};

}  // namespace

draft::draft(const plan_options& options) : options_(options) {
  plan_.seed = options.seed;
  plan_.hosts = options.hosts;
  plan_.work = options.work;
  plan_.faults = options.faults;
  draws random = stream("shape");
  // Some seeds of a swarm have no faults, so that properties that hold only without faults are checked too.
  const bool calm = random.chance(1, 8);
  quiet = options.faults == fault_profile::none || calm;
  draw_features();
  constexpr milliseconds horizons[]{milliseconds(800), milliseconds(2500), milliseconds(8000)};
  horizon = random.one_of(horizons);
  // A verdict of the gossip takes seconds, and a group is old when two leases are over.
  if (has_.gossip) horizon = std::max<nanoseconds>(horizon, milliseconds(8000));
  if (has_.old_groups) horizon = milliseconds(20'000);
}

void draft::draw_features() {
  draws random = stream("features");
  const bool calls = random.chance(1, 2);
  const bool bulk = random.chance(1, 2);
  if (options_.work == workload::ship) {
    has_.calls = has_.bulk = true;
  } else if (mixed()) {
    has_.calls = calls;
    has_.bulk = bulk;
  }
  const bool liveness = random.chance(2, 3);
  const bool by_gossip = random.chance(1, 2);
  has_.two_rails = random.chance(1, 3) && options_.work != workload::plain;
  has_.gossip = mixed() && hosts() > 1 && liveness && by_gossip;
  has_.verdicts = swarm() && liveness && !has_.gossip;
  draws hardware = stream("remote memory");
  const bool often = options_.work == workload::ship || options_.work == workload::bulk;
  has_.remote_memory = hardware.chance(1, often ? 2 : 4) && options_.work != workload::plain;
  draws guests = stream("clients");
  has_.clients = options_.work == workload::ship && hosts() > 2 && guests.chance(1, 3);
  has_.verdicts &= !has_.clients;  // nobody judges clients
  draws outage = stream("outages");
  has_.outages = has_.two_rails && swarm() && hosts() > 1 && outage.chance(1, 3);
  draws several = stream("several rails");
  const bool has_rails = several.chance(3, 8) && mixed() && !has_.two_rails && hosts() > 1;
  has_.rails = has_rails ? static_cast<std::uint32_t>(several.between(2, 3)) : 1;
  has_.rails_alone = has_rails && several.chance(1, 2);
  has_.verdicts &= !has_.rails_alone;
  draws guarding = stream("guards");
  // Hardware that reads memory goes past a guard, so that a third of all seeds are guarded.
  const bool plain = options_.work == workload::plain;
  const bool guarded = often ? guarding.chance(2, 3) : guarding.chance(4, plain ? 12 : 9);
  has_.guards = guarded && !has_.remote_memory;
  has_.guards_alone = has_.guards && !has_.outages && !has_.rails_alone && guarding.chance(1, 4);
  has_.verdicts &= !has_.guards_alone;
  if (!mixed()) return;
  has_.adopted_groups = random.chance(1, 2);
  has_.own_trees = random.chance(1, 2);
  has_.entities = random.chance(1, 2);
  has_.all_services = random.chance(2, 3);
  has_.manners = random.chance(2, 3);
  has_.old_groups = random.chance(1, 16);
  draws kinds = stream("kinds of groups");
  has_.mapped_groups = kinds.chance(1, 3);
  has_.delayed_groups = kinds.chance(1, 2);
  has_.large_groups = kinds.chance(1, 4);
  draws terms = stream("terms of groups");
  has_.lasting_groups = terms.chance(1, 3);
  has_.inner_groups = terms.chance(1, 3);
  draws places = stream("zones and hosts");
  has_.zones = places.chance(1, 5);
  draws loading = stream("freights");
  has_.freights = loading.chance(1, 3) || options_.work == workload::bulk;
  has_.freights &= options_.work != workload::streams;
  draws revoking = stream("revoking");
  has_.revokes = revoking.chance(1, 2);
}

std::uint32_t draft::other_than(std::uint32_t host, draws& from) const noexcept {
  if (hosts() == 1) return host;
  const std::uint64_t step = from.between(1, hosts() - 1);
  return static_cast<std::uint32_t>((host + step) % hosts());
}

plan draft::finished() {
  // std::stable_sort makes clang warn about libstdc++.
  std::vector<std::size_t> order(plan_.events.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    const nanoseconds first = plan_.events[a].at, second = plan_.events[b].at;
    return first != second ? first < second : a < b;
  });
  std::vector<plan_event> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(plan_.events[i]);
  plan_.events = std::move(sorted);
  return std::move(plan_);
}

std::optional<fault_profile> fault_profile_named(std::string_view name) {
  const auto found = std::find_if(all_profiles.begin(), all_profiles.end(),
                                  [&](fault_profile p) { return to_string(p) == name; });
  return found == all_profiles.end() ? std::nullopt : std::optional(*found);
}
std::optional<workload> workload_named(std::string_view name) {
  const auto found = std::find_if(all_workloads.begin(), all_workloads.end(),
                                  [&](workload w) { return to_string(w) == name; });
  return found == all_workloads.end() ? std::nullopt : std::optional(*found);
}
std::string_view to_string(fault_profile profile) {
  switch (profile) {
    case fault_profile::none: return "none";
    case fault_profile::light: return "light";
    case fault_profile::swarm: return "swarm";
  }
  return "?";
}
std::string_view to_string(workload work) {
  switch (work) {
    case workload::mixed: return "mixed";
    case workload::plain: return "plain";
    case workload::ship: return "ship";
    case workload::gossip: return "gossip";
    case workload::agree: return "agree";
    case workload::revoke: return "revoke";
    case workload::bulk: return "bulk";
    case workload::groups: return "groups";
    case workload::rails: return "rails";
    case workload::verbs: return "verbs";
    case workload::failures: return "failures";
    case workload::streams: return "streams";
  }
  return "?";
}

plan draw_plan(const plan_options& options) {
  const bool drawn_later = options.work == workload::gossip || options.work == workload::rails ||
                           options.work == workload::verbs || has_no_seeds(options.work);
  if (drawn_later) return {options.seed, options.hosts, {}, options.work, options.faults};
  draft d(options);
  draw_world(d);
  draw_groups(d);
  draw_broadcasts(d);
  draw_manners(d);
  draw_policies(d);
  draw_readings(d);
  draw_freights(d);
  draw_last_broadcasts(d);
  draw_strays(d);
  draw_calls(d);
  draw_hauls(d);
  draw_remote_broadcasts(d);
  draw_outages(d);
  draw_rail_faults(d);
  draw_faults(d);
  draw_overtaken(d);
  draw_revokes(d);
  draw_liveness(d);
  draw_agreements(d);
  draw_guards(d);
  return d.finished();
}

}  // namespace scoll::sim
