#include "tools/scoll-sim/cluster/agreements.hpp"

#include <algorithm>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/cluster/services.hpp"

namespace scoll::sim {
namespace {

std::vector<std::uint32_t> hosts_of(const membership& members) {
  std::vector<std::uint32_t> hosts;
  for (const target& t : members.targets()) hosts.push_back(static_cast<std::uint32_t>(t.node - 1));
  return hosts;
}

}  // namespace

/// Null if the host is down or does not hold the group.
agreement_call* agreements::record(std::uint64_t number, std::uint64_t group, std::uint32_t host) {
  const auto g = cluster_.groups_.find(group);
  life* const at = cluster_.living(host);
  if (g == cluster_.groups_.end() || !g->second.id || at == nullptr) return nullptr;
  if (!g->second.created_by_a_host() || g->second.delayed) return nullptr;
  const auto& members = g->second.members;
  const auto place = std::find(members.begin(), members.end(), host);
  if (place == members.end() || calls_.contains(number) || !cluster_.is_held(*at, g->second)) return nullptr;
  agreement_call& c = calls_[number];
  c.number = number;
  c.group = group;
  c.at = at;
  c.rank = static_cast<std::uint32_t>(place - members.begin());
  c.members = static_cast<std::uint32_t>(members.size());
  c.began = cluster_.world_.now();
  c.held = !detail::node_access::engine(*at->member).holding().open();
  return &c;
}

void agreements::begin(const events::agree& e) {
  agreement_call* const c = record(e.number, e.group, e.host);
  if (c == nullptr) return;
  c->instance = e.instance;
  c->deadline = e.deadline;
  if (e.survivors) c->quorum = agreement_quorum::survivors;
  life& at = *cluster_.lives_[e.host];
  at.home.enter([&] { at.work.spawn(run(at, cluster_.groups_.at(e.group), *c)); });
}

void agreements::begin(const events::shrink& e) {
  agreement_call* const c = record(e.number, e.group, e.host);
  if (c == nullptr) return;
  c->deadline = e.deadline;
  if (e.survivors) c->quorum = agreement_quorum::survivors;
  life& at = *cluster_.lives_[e.host];
  at.home.enter([&] { at.work.spawn(run(at, cluster_.groups_.at(e.group), *c)); });
}

task<void> agreements::run(life& at, group_record& g, agreement_call& c) {
  const time_point start = at.home.now();
  const auto as = [&]<class S>() { return run_as<S>(at, g, c); };
  co_await with_service(g.service, cluster_.serves_old_version(at.host), as);
  c.took = at.home.now() - start;
  c.ended = cluster_.world_.now();
  c.ended_by_crash = at.crashed;
  c.done = true;
  if (!at.crashed) note_seen(c);
}

template <class S>
task<void> agreements::run_as(life& at, group_record& g, agreement_call& c) {
  const agree_options options{.deadline = c.deadline, .quorum = c.quorum};
  const auto held = at.member->find_group<S>(*g.id);
  if (!held) {
    c.outcome = held.error();  // it was dropped between the event and this moment
  } else if (c.instance) {
    co_await agree_as<S>(*held, c, options);
  } else {
    co_await shrink_as<S>(at, *held, g, c, options);
  }
}

template <class S>
task<void> agreements::agree_as(group<S> held, agreement_call& c, agree_options options) {
  voice mine;
  mine.ranks.insert(static_cast<std::uint16_t>(c.rank));
  mine.times.value = 1;
  const auto agreed = co_await held.agree(*c.instance, mine, options);
  c.outcome = agreed.status();
  c.failed = agreed.failed();
  if (agreed.has_value()) c.value = *agreed;
}

template <class S>
task<void> agreements::shrink_as(life& at, group<S> held, group_record& g, agreement_call& c,
                                 agree_options options) {
  const auto made = co_await held.shrink(options);
  c.outcome = made ? status() : status(made.error());
  if (!made || at.crashed) co_return;
  c.made = made->id();
  c.survivors = hosts_of(made->members());
  const group_record* const known = note_group(g, *c.made, c.survivors, at.host);
  if (known != nullptr) cluster_.in_use_.emplace(at.number, known->number);
}

/// Records a shrunk group, or compares it with what is recorded.
group_record* agreements::note_group(const group_record& from, const group_id& id,
                                     const std::vector<std::uint32_t>& hosts, std::uint32_t by) {
  group_record& g = cluster_.groups_[from.number + first_shrunk];
  if (!g.id) {
    g.number = from.number + first_shrunk;
    g.members = hosts;
    g.tree = from.tree;
    g.service = from.service;
    g.entities = from.entities;
    g.like = &from;
    g.shrunk_from = from.number;
    g.created = cluster_.world_.now();
    g.id = id;
  }
  if (*g.id == id && g.members == hosts) return &g;
  disputes_.push_back(
      fmt::format("host {} has another group of the survivors of group {}: of {} hosts, not {}", by,
                  from.number, hosts.size(), g.members.size()));
  return nullptr;
}

bool agreements::find_groups() {
  const std::size_t before = cluster_.groups_.size();
  // A second time for groups of survivors of groups that are found the first time.
  for (std::uint32_t i = 0; i < 2 * cluster_.hosts(); ++i) {
    const std::uint32_t host = i % cluster_.hosts();
    const life* const at = cluster_.living(host);
    if (at == nullptr) continue;
    const detail::engine& engine = detail::node_access::engine(*at->member);
    engine.each_group([&](const detail::group_state& held) {
      if (!held.shrunk_from) return;
      const auto from = std::find_if(
          cluster_.groups_.begin(), cluster_.groups_.end(),
          [&](const auto& entry) { return entry.second.id && *entry.second.id == *held.shrunk_from; });
      if (from == cluster_.groups_.end()) return;
      note_group(from->second, held.id, hosts_of(*held.members), host);
    });
  }
  return cluster_.groups_.size() != before;
}

void agreements::note_seen(const agreement_call& c) {
  coverage& seen = cluster_.seen_;
  const bool ok = c.outcome.has_value();
  if (c.instance) {
    seen.saw(mark::agreed, ok);
    seen.saw(mark::agreed_without, ok && !c.failed.empty());
    seen.saw(mark::agreed_by_few, ok && 2 * c.failed.size() >= c.members);
    seen.saw(mark::agree_excluded, !ok && c.outcome.error() == errc::excluded);
  } else {
    seen.saw(mark::shrunk, ok && c.survivors.size() < c.members);
    seen.saw(mark::shrunk_by_few, ok && 2 * c.survivors.size() <= c.members);
    seen.saw(mark::shrink_excluded, !ok && c.outcome.error() == errc::excluded);
  }
  seen.saw(mark::agree_undecided, !ok && c.outcome.error() == errc::undecided);
  seen.saw(mark::agree_no_quorum, !ok && c.outcome.error() == errc::no_quorum);
}

}  // namespace scoll::sim
