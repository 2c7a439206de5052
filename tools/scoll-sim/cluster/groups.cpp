#include <algorithm>
#include <numeric>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/cluster/services.hpp"

// How groups come into being, and how they end.
namespace scoll::sim {
namespace {

std::vector<std::uint32_t> hosts_in(const number_set& set, std::uint32_t hosts) {
  std::vector<std::uint32_t> list;
  set.each([&](std::uint32_t host) {
    if (host < hosts) list.push_back(host);
  });
  return list;
}

}  // namespace

std::vector<target> targets_of(const group_record& g) {
  std::vector<target> targets;
  targets.reserve(g.members.size());
  for (const std::uint32_t host : g.members) {
    const member_place place = g.place_at(host);
    target t{host + 1, {}, place.zone, place.host};
    for (std::uint32_t i = 0; i < g.entities_at(host); ++i)
      t.entities.push_back(static_cast<entity>(host * 16 + i));
    targets.push_back(std::move(t));
  }
  return targets;
}

namespace {

/// The tree over `ranks` with the root at that place among them.
std::optional<any_tree> tree_over(const group_record& g, const std::vector<std::uint32_t>& ranks,
                                  std::uint32_t root) {
  const auto n = static_cast<std::uint32_t>(ranks.size());
  std::vector<member_place> places;
  for (std::uint32_t r = 0; r < n && g.tree.kind == zoned::kind; ++r)
    places.push_back(g.place_at(g.members[ranks[to_rank(r, root, n)]]));
  return any_tree::resolve(g.tree, n, places);
}

}  // namespace

tree_spec with_one_parameter(std::uint8_t kind, std::uint32_t parameter) {
  return {kind, {parameter, kind == zoned::kind ? parameter : 0, 0}};
}

std::optional<any_tree> tree_of(const broadcast_record& b) {
  return tree_over(*b.group, b.addressed, b.root_place);
}

std::optional<any_tree> tree_over_all(const broadcast_record& b) {
  std::vector<std::uint32_t> ranks(b.members.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  return tree_over(*b.group, ranks, b.root_rank);
}

bool cluster::is_held(life& l, const group_record& g) const {
  return g.id && detail::node_access::engine(*l.member).find_group(*g.id) != nullptr;
}

void cluster::on(const events::group& e) {
  life* const creator = living(e.creator);
  if (creator == nullptr || guests_.contain(e.creator) || groups_.contains(e.number)) return;
  group_record& g = groups_[e.number];
  g.number = e.number;
  g.maker = e.creator;
  g.tree = {e.tree, {e.tree_parameter, e.second_parameter, e.third_parameter}};
  g.service = e.service;
  g.entities = e.entities;
  g.zones = zones_[e.number];
  g.deadline = e.deadline;
  g.delayed = e.delayed;
  g.large = e.large;
  g.lasting = e.lasting;
  const auto outer = e.inside == 0 ? groups_.end() : groups_.find(e.inside - 1);
  if (outer != groups_.end() && outer->second.id) g.outer = &outer->second;
  g.members = hosts_in(e.members - guests_.hosts, hosts());
  creator->home.enter([&] { creator->work.spawn(create(*creator, g)); });
}

task<void> cluster::create(life& creator, group_record& g) {
  group_options options;
  options.tree = g.tree;
  options.deadline = g.deadline.count() != 0 ? nanoseconds(g.deadline) : creation_deadline;
  options.populate = g.delayed ? populate::delayed : populate::immediate;
  options.lifetime = g.lasting ? lifetime::members : lifetime::creator;
  if (g.outer != nullptr) options.within = g.outer->id;
  const auto make = [&]<class S>() { return create_as<S>(creator, g, options); };
  co_await with_service(g.service, serves_old_version(creator.host), make);
}

template <class S>
task<void> cluster::create_as(life& creator, group_record& g, group_options options) {
  const std::vector<target> targets = targets_of(g);
  auto created = co_await creator.member->create_group<S>(targets, options);
  if (!created) {
    g.failure = created.error();
    seen_.saw(mark::revoked_before_creation, g.failure == errc::revoked && !g.revokes.empty());
    co_return;
  }
  g.id = created->id();
  g.creator = &creator;
  g.created = world_.now();
  in_use_.emplace(creator.number, g.number);
}

void cluster::on(const events::adopt& e) {
  if (groups_.contains(e.number)) return;
  group_record& g = groups_[e.number];
  g.number = e.number;
  g.tree = with_one_parameter(e.tree, e.tree_parameter);
  g.zones = zones_[e.number];
  g.service = e.service;
  g.adopted = e;
  g.members = hosts_in(e.members, hosts());
  g.created = world_.now();
  auto shared = membership::make(targets_of(g));
  if (!shared) return;
  g.shared = *shared;
  for (life* const l : lives_) {
    if (l != nullptr) l->home.enter([&] { adopt(*l, g); });
  }
}

/// A dissenter adopts the membership without its first other member.
void cluster::adopt(life& l, group_record& g) {
  if (!g.shared || !g.adopted->holders.contains(l.host)) return;
  membership_ptr members = g.shared;
  const bool dissents = g.adopted->dissenters.contains(l.host);
  if (dissents) {
    std::vector<target> others = g.shared->targets();
    others.erase(
        std::find_if(others.begin(), others.end(), [&](const target& t) { return t.node != l.host + 1; }));
    members = membership::make(std::move(others)).value();
  }
  with_service(g.service, serves_old_version(l.host), [&]<class S>() {
    auto adopted = l.member->adopt_group<S>(g.number, members, {.tree = g.tree});
    if (!adopted) lost_groups_.push_back(fmt::format("host {} cannot adopt group {}", l.host, g.number));
    if (!adopted || dissents) return;
    g.id = adopted->id();
    in_use_.emplace(l.number, g.number);
  });
}

// ---- the end of a group

void cluster::on(const events::destroy& e) {
  const auto found = groups_.find(e.group);
  life* const l = living(e.host);
  if (found == groups_.end() || !found->second.id || l == nullptr) return;
  if (!found->second.created_by_a_host()) return;
  l->home.enter([&] { l->work.spawn(destroy(*l, found->second)); });
}

task<void> cluster::destroy(life& l, group_record& g) {
  if (!is_held(l, g)) co_return;
  g.ending = true;
  const auto end = [&]<class S>() { return destroy_as<S>(l, g); };
  const status ended = co_await with_service(g.service, serves_old_version(l.host), end);
  if (!ended && !l.crashed) seen_.saw(mark::destroy_missed);
  if (ended && !g.destroyed) g.destroyed = world_.now();
}

template <class S>
task<status> cluster::destroy_as(life& l, group_record& g) {
  const auto held = l.member->find_group<S>(*g.id);
  if (!held) co_return held.error();
  g.enders.push_back(&l);
  g.asked = world_.now();
  status ended = co_await l.member->destroy(*held);
  co_return ended;
}

void cluster::begin_farewell() {
  std::vector<std::vector<group_record*>> falls_to(hosts());
  for (auto& [number, g] : groups_) {
    const std::size_t n = g.id && g.created_by_a_host() ? g.members.size() : 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t host = g.members[(number + i) % n];
      if (lives_[host] == nullptr || !is_held(*lives_[host], g)) continue;
      falls_to[host].push_back(&g);
      break;
    }
  }
  for (std::uint32_t host = 0; host < hosts(); ++host) {
    life* const l = lives_[host];
    if (l != nullptr) l->home.enter([&] { l->work.spawn(say_farewell(*l, std::move(falls_to[host]))); });
  }
}

/// The groups end one after the other, because together they would exceed the limits.
task<void> cluster::say_farewell(life& l, std::vector<group_record*> groups) {
  for (group_record* const g : groups) co_await destroy(l, *g);
}

void cluster::let_nodes_ask(bool asking) {
  for (life* const l : lives_) {
    if (l == nullptr) continue;
    detail::engine& engine = detail::node_access::engine(*l->member);
    l->home.enter([&] { asking ? engine.start_sweeping() : engine.stop_sweeping(); });
  }
}

// ---- groups of the living

group_record& cluster::group_of_the_living(std::uint64_t number, const tree_spec& tree) {
  group_record& g = groups_[number];
  g.number = number;
  g.tree = tree;
  for (std::uint32_t host = 0; host < hosts(); ++host) {
    if (lives_[host] != nullptr && !guests_.contain(host)) g.members.push_back(host);
  }
  return g;
}

void cluster::begin_knocking() {
  for (life* l : lives_) {
    if (l == nullptr || guests_.contain(l->host)) continue;
    group_record& g = group_of_the_living(first_knock + l->host, flat{});
    l->home.enter([&] { l->work.spawn(create(*l, g)); });
  }
}

}  // namespace scoll::sim
