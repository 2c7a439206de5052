#include <algorithm>
#include <cstdlib>

#include "scoll/collective/bcast.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/cluster/services.hpp"
#include "tools/scoll-sim/cluster/streams.hpp"
#include "tools/scoll-sim/cluster/times.hpp"
#include "tools/scoll-sim/cluster/witnessed.hpp"
#include "transport/session/session.hpp"

// The broadcasts, from their request to their outcome.
namespace scoll::sim {
namespace {

/// The longest time that the root may take according to the library.
nanoseconds bound_of(const broadcast_record& b, nanoseconds service_bound, nanoseconds round_trip) {
  if (!b.options.deadline.unlimited()) return b.options.deadline.left({});
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto tree = tree_of(b);
  const nanoseconds chosen = b.options.processing_bound;
  nanoseconds processing = chosen.count() != 0 ? chosen : service_bound;
  if (prepares(b.group->service))
    processing = std::max<nanoseconds>(processing, std::chrono::microseconds(b.request.extend_us));
  const std::uint32_t levels = tree ? tree->subtree_levels(n, 0) : 1;
  const nanoseconds of_rounds =
      b.options.on_failure == repair
          ? longest_way(levels + 2, 2 * (processing + b.options.bulk_time), round_trip)
          : nanoseconds(0);
  return longest_way(levels, processing, round_trip) + of_rounds + b.options.bulk_time;
}

/// Lets the await end with a quorum of those that are asked.
void choose_condition(broadcast_record& b, const events::policy& chosen, const rank_set& asked) {
  const auto share_of = [&](std::uint32_t members) { return std::max(1U, members * chosen.share / 100); };
  b.options.rest = chosen.aborts ? stragglers::abort : stragglers::go_on;
  rank_set halves[2];
  asked.for_each([&](std::uint32_t rank) { halves[rank % 2].append(rank, rank + 1); });
  if (!chosen.sets || halves[0].empty() || halves[1].empty()) {
    b.options.until = quorum{share_of(asked.size())};
    return;
  }
  for (const rank_set& half : halves) b.sets.push_back({half, share_of(half.size())});
  b.options.until = quorum_sets(b.sets);
}

/// True if a host has heard of that life of another one, and of no later one.
bool knows(const life& hearer, const life& other) {
  const node_id node = other.host + 1;
  const transport::session* const peer = hearer.member->wire().find(node);
  const std::uint64_t met = peer != nullptr ? peer->peer_incarnation() : 0;
  return std::max(met, detail::node_access::engine(*hearer.member).lives().latest(node)) == other.incarnation;
}

bool can_be_repaired(const bcast_options& options) {
  return !options.last && !options.same_view;
}

}  // namespace

// ---- the request

void cluster::address(broadcast_record& b, const rank_set& ranks) {
  b.addressed.clear();
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (rank == b.root_rank) b.root_place = static_cast<std::uint32_t>(b.addressed.size());
    if (ranks.contains(rank)) b.addressed.push_back(rank);
  }
}

void cluster::address(broadcast_record& b, const number_set& hosts) {
  rank_set ranks;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (rank == b.root_rank || hosts.contains(b.group->members[rank])) ranks.append(rank, rank + 1);
  }
  address(b, ranks);
}

broadcast_record& cluster::record_broadcast(std::uint64_t number, const group_record& g, life& root) {
  broadcast_record& b = broadcasts_[number];
  b.number = number;
  b.group = &g;
  b.root = &root;
  const auto place = std::find(g.members.begin(), g.members.end(), root.host);
  b.root_rank = static_cast<std::uint32_t>(place - g.members.begin());
  b.began = world_.now();
  b.members.resize(g.members.size());
  address(b, number_set::below(hosts()));
  return b;
}

job cluster::request_of(const events::bcast& e) {
  job request;
  request.broadcast = e.number;
  request.filler.assign(std::min<std::uint64_t>(e.bytes, 4000), filling(e.number));
  request.work_us = static_cast<std::uint32_t>(e.work.count());
  request.prepare_us = static_cast<std::uint32_t>(e.prepare.count());
  request.extend_us = static_cast<std::uint32_t>(terms_.manners[e.number].extension.count());
  request.brimful = as_few_ranks(terms_.manners[e.number].brimful);
  const events::hooks& failing = terms_.failing[e.number];
  request.refusing = as_few_ranks(failing.refusing);
  request.failing = as_few_ranks(failing.failing);
  request.throwing = as_few_ranks(failing.throwing);
  request.oversized = as_few_ranks(failing.oversized);
  return request;
}

bcast_options cluster::options_of(const events::bcast& e, const events::manner& m, broadcast_record& b) {
  bcast_options options;
  options.stop = b.stop.token();
  if (e.deadline.count() != 0) options.deadline = e.deadline;
  options.processing_bound = e.processing_bound;
  if (m.dead != dead_choice::by_default)
    options.dead = m.dead == dead_choice::refuse ? dead_members::refuse : dead_members::try_others;
  options.same_view = m.to == audience::same_view;
  const auto policy = terms_.policies.find(e.number);
  if (policy != terms_.policies.end()) {
    options.on_failure = policy->second.fail_fast ? fail_fast : degrade;
    options.trace = policy->second.traced;
  }
  options.last = terms_.lasts.contains(e.number) && !b.group->adopted;
  freights_.load(e.number, options);
  if (policy != terms_.policies.end() && policy->second.repairs && can_be_repaired(options))
    options.on_failure = repair;
  return options;
}

/// A life that has received a broadcast for a group holds the group until somebody destroys it, or its creator
/// is called dead, unless it outlives that, or the group ends within which it is. Wherever that ends, the inner
/// group does, and members that ask others hear so.
void cluster::expect_group(life& root, const group_record& g) {
  if (!in_use_.contains({root.number, g.number}) || g.is_ending()) return;
  const auto lacks_outer = [&](life* l) { return l == nullptr || !is_held(*l, *g.outer); };
  if (g.outer != nullptr &&
      std::ranges::any_of(g.members, [&](std::uint32_t host) { return lacks_outer(lives_[host]); }))
    return;
  const bool outer_may_have_ended =
      g.outer != nullptr && g.outer->creator != nullptr && was_accused(g.outer->creator->host);
  if (outer_may_have_ended) return;  // a delayed one comes back, and the groups within it do not
  if (g.created_by_a_host() && !g.shrunk_from && !g.lasting &&
      (g.creator == nullptr || g.creator->crashed || was_accused(g.creator->host)))
    return;
  lost_groups_.push_back(fmt::format("host {} no longer holds group {}", root.host, g.number));
}

void cluster::on(const events::bcast& e) {
  const auto group = groups_.find(e.group);
  life* const root = living(e.root);
  if (group == groups_.end() || !group->second.id || root == nullptr || broadcasts_.contains(e.number))
    return;
  group_record& g = group->second;
  if (std::find(g.members.begin(), g.members.end(), e.root) == g.members.end()) return;
  root->home.enter([&] {
    if (!g.mapped && !is_held(*root, g)) return expect_group(*root, g);  // or this life has not joined it
    broadcast_record& b = record_broadcast(e.number, g, *root);
    b.manner = terms_.manners[e.number];
    b.request = request_of(e);
    b.options = options_of(e, b.manner, b);
    if (const auto some = terms_.subsets.find(e.number); some != terms_.subsets.end())
      address(b, some->second);
    root->work.spawn(run_broadcast(*root, g, b));
  });
}

void cluster::on(const events::cancel& e) {
  const auto found = broadcasts_.find(e.broadcast);
  if (found == broadcasts_.end() || found->second.done || found->second.root->crashed) return;
  broadcast_record& b = found->second;
  b.cancelled = true;
  b.cancelled_at = world_.now();
  lives_[b.root->host]->home.enter([&] { b.stop.request_stop(); });
}

// ---- the run

task<void> cluster::run_broadcast(life& root, group_record& g, broadcast_record& b) {
  const auto run = [&]<class S>() { return run_broadcast_of<S>(root, g, b); };
  return with_service(g.service, serves_old_version(root.host), run);
}

template <class S>
task<void> cluster::run_broadcast_of(life& root, group_record& g, broadcast_record& b) {
  auto held = root.member->find_group<S>(*g.id);
  if (g.mapped) held = co_await root.member->out_of_band<S>(g.number, {.tree = g.tree});
  const time_point start = root.home.now();
  b.began = world_.now();
  if (!held) {
    // The group was dropped between the event and this moment.
    b.outcome_status = held.error();
    b.done = true;
    b.ended_by_crash = true;
    co_return;
  }
  group<S> where = *held;
  if (b.manner.to != audience::chosen) {
    where = held->alive();
    address(b, where.addressed());
  } else if (b.addressed.size() != b.members.size()) {
    rank_set ranks;
    for (const std::uint32_t rank : b.addressed) ranks.append(rank, rank + 1);
    where = held->only(ranks);
  }
  if (b.bound != nanoseconds::max()) b.bound = bound_of(b, S::processing_bound, where.timing().round_trip);
  const rank_set asked = where.addressed();
  const detail::known_lives& lives = detail::node_access::engine(*root.member).lives();
  asked.for_each([&](std::uint32_t rank) { b.dead_known |= lives.is_dead(g.members[rank] + 1); });
  asked.for_each([&](std::uint32_t rank) {
    const life* const present = lives_[g.members[rank]];
    if (b.names_lives() && present != nullptr && knows(root, *present)) b.known.insert(rank);
  });
  const auto policy = terms_.policies.find(b.number);
  const bool whole = b.options.bulk.given() || policy == terms_.policies.end() || policy->second.share == 0;
  if (!whole) choose_condition(b, policy->second, asked);
  b.held = !detail::node_access::engine(*root.member).holding().open();
  b.counter = where.state()->next_counter;
  running_.insert(b.number);
  if (b.options.last) {
    last_begun_.emplace(root.number, g.number);
    b.waits = has_earlier_one(b);
    g.ending |= g.creator == &root;
  }
  if constexpr (detail::streams<S>) b.stream.emplace().how = stream_of(b.number);
  auto r = co_await ask_all(where, b);
  if (b.options.last && g.creator == &root && !is_held(root, g)) {
    g.enders.push_back(&root);
    g.asked = world_.now();
  }
  finish(root, b, r, start);
  for (const testing::sim_clock& clock : clocks_)
    b.most_drift_ppm = std::max(b.most_drift_ppm, std::abs(clock.drift_ppm));
  b.trace = r.trace();
  if (!b.has_condition()) co_return note_trace(b, seen_);
  b.rest = co_await r.rest();
  b.trace = r.trace();
  note_trace(b, seen_);
  b.rest_done = true;
  b.rest_ended = world_.now();
  note_rest(b, seen_);
  b.value_changed = r.has_value() != b.value.has_value() ||
                    (b.value && (r->total != b.value->total || r->members != b.value->members));
}

void cluster::finish(life& root, broadcast_record& b, bcast_result<tally>& r, time_point local_start) {
  running_.erase(b.number);
  freights_.ended(b.number);
  b.done = true;
  b.too_late = !b.options.last && last_begun_.contains({root.number, b.group->number});
  b.ended_by_crash = root.crashed;
  b.ended = world_.now();
  b.took = root.home.now() - local_start;
  b.outcome_status = r.status();
  b.account = r.outcome();
  if (r.has_value()) b.value = *r;
  if (burying_) return;
  if (r.ok() && !b.has_condition() && b.group->delayed) note_told(root, b);
  note_witnessed(b, freights_.find(b.number), seen_);
  std::uint64_t states = 0;
  for (std::uint32_t rank = 0; rank < b.account.members(); ++rank)
    states = states * 7 + static_cast<std::uint64_t>(b.account.state(rank));
  world_.record(testing::sim_trace::note, root.host, b.number, states);
}

bool cluster::broadcast_between(std::uint32_t a, std::uint32_t b) const {
  return std::any_of(running_.begin(), running_.end(), [&](std::uint64_t number) {
    const broadcast_record& r = broadcasts_.at(number);
    const auto is_member = [&](std::uint32_t host) {
      return std::find(r.group->members.begin(), r.group->members.end(), host) != r.group->members.end();
    };
    return (r.root->host == a && is_member(b)) || (r.root->host == b && is_member(a));
  });
}

// ---- roll call

void cluster::begin_roll_call() {
  errands_.begin_roll_call();
  for (life* root : lives_) {
    if (root == nullptr || guests_.contain(root->host)) continue;
    const std::uint64_t number = first_roll_call + root->host;
    group_record& g = group_of_the_living(number, knomial{2 + root->host % 4});
    broadcast_record& b = record_broadcast(number, g, *root);
    b.bound = nanoseconds::max();
    b.request.broadcast = number;
    root->home.enter([&] { root->work.spawn(call_roll(*root, g, b)); });
  }
}

task<void> cluster::call_roll(life& root, group_record& g, broadcast_record& b) {
  co_await create(root, g);
  if (!g.id) {
    b.outcome_status = g.failure;
    b.account = outcome(static_cast<std::uint32_t>(g.members.size()));
    b.done = true;
    co_return;
  }
  co_await run_broadcast(root, g, b);
}

}  // namespace scoll::sim
