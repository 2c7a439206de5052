#include <algorithm>

#include "scoll/collective/engine.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/cluster/services.hpp"

// Groups of which members hear late: those that services name, and delayed ones that are settled.
namespace scoll::sim {
namespace {

membership_ptr without_first_other(const membership& all, node_id self) {
  std::vector<target> others = all.targets();
  others.erase(std::find_if(others.begin(), others.end(), [&](const target& t) { return t.node != self; }));
  return membership::make(std::move(others)).value();
}

}  // namespace

void cluster::on(const events::mapped& e) {
  if (groups_.contains(e.number)) return;
  group_record& g = groups_[e.number];
  g.number = e.number;
  g.tree = with_one_parameter(e.tree, e.tree_parameter);
  g.zones = zones_[e.number];
  g.service = e.service;
  g.mapped = e;
  e.members.each([&](std::uint32_t host) {
    if (host < hosts()) g.members.push_back(host);
  });
  g.created = world_.now();
  const auto shared = membership::make(targets_of(g));
  if (!shared) return;
  g.shared = *shared;
  with_service(g.service, false,
               [&]<class S>() { g.id = out_of_band_group(S::id, g.number, g.shared->digest()); });
}

ledger::naming cluster::asked_for_members(std::uint64_t life_number, std::uint64_t group) {
  const life& l = all_lives_[life_number - 1];
  if (++namings_[{life_number, group}] > 1) ++repeated_namings_;
  const auto found = groups_.find(group);
  if (found == groups_.end() || !found->second.shared || !found->second.mapped)
    return {error(errc::unknown_group, "there is no such group")};
  const group_record& g = found->second;
  const nanoseconds takes = g.mapped->slow.contains(l.host) ? nanoseconds(g.mapped->takes) : nanoseconds(0);
  seen_.saw(mark::slow_mapper, takes.count() != 0);
  const bool dissents = g.mapped->dissenters.contains(l.host);
  return {dissents ? without_first_other(*g.shared, l.host + 1) : g.shared, takes};
}

void cluster::named_members(std::uint64_t life_number, std::uint64_t group) noexcept {
  --namings_[{life_number, group}];
}

// ---- delayed groups

void cluster::on(const events::settle& e) {
  const auto found = groups_.find(e.group);
  life* const l = living(e.host);
  if (found == groups_.end() || !found->second.id || l == nullptr || groups_.contains(e.number)) return;
  const group_record& from = found->second;
  if (!is_held(*l, from)) return;
  group_record& g = groups_[e.number];
  g.number = e.number;
  g.tree = from.tree;
  g.service = from.service;
  g.entities = false;
  g.members = from.members;
  g.like = &from;
  g.outer = from.outer;
  l->home.enter([&] { l->work.spawn(settle(*l, from, g)); });
}

task<void> cluster::settle(life& l, const group_record& from, group_record& g) {
  const auto make = [&]<class S>() { return settle_as<S>(l, from, g); };
  co_await with_service(g.service, serves_old_version(l.host), make);
}

template <class S>
task<void> cluster::settle_as(life& l, const group_record& from, group_record& g) {
  const auto held = l.member->find_group<S>(*from.id);
  if (!held) {
    g.failure = held.error();
    co_return;
  }
  group_options options;
  options.deadline = creation_deadline;
  auto made = co_await held->settle(options);
  if (!made) {
    g.failure = made.error();
    co_return;
  }
  g.id = made->id();
  g.creator = &l;
  g.created = world_.now();
  in_use_.emplace(l.number, g.number);
  seen_.saw(mark::settled_group);
}

/// Notes a clean broadcast to a whole delayed group: from now on nothing of its creation is sent by this life
/// again, unless a member begins a new one. A member that began one during the broadcast may have answered in
/// its former life.
void cluster::note_told(const life& root, const broadcast_record& b) {
  if (b.addressed.size() != b.members.size() || root.crashed) return;
  if (std::ranges::any_of(all_lives_, [&](const life& l) { return l.started >= b.began; })) return;
  const auto held = detail::node_access::engine(*root.member).find_group(*b.group->id);
  if (held != nullptr) told_.push_back({&root, b.group, held->creations_sent, all_lives_.size()});
}

}  // namespace scoll::sim
