#include "cluster.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/incarnation_store.hpp"
#include "scoll/node_access.hpp"
#include "scoll/tree/any_tree.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::sim {
namespace {

using std::chrono::microseconds;
using testing::sim_crash;
using testing::sim_path;
using testing::sim_trace;

constexpr nanoseconds rtt_estimate = std::chrono::milliseconds(20);
constexpr nanoseconds level_margin = std::chrono::milliseconds(5);
constexpr nanoseconds creation_deadline = std::chrono::seconds(2);
constexpr nanoseconds shutdown_limit = std::chrono::seconds(8);
constexpr std::size_t isolated_turns = 2'000'000;
constexpr nanoseconds start_limit = std::chrono::seconds(1);
constexpr std::uint64_t hosts_at_most = 64;

nanoseconds from_us(std::uint64_t us) {
  return nanoseconds(static_cast<std::int64_t>(us) * 1000);
}
std::uint32_t as_host(std::uint64_t operand) {
  return static_cast<std::uint32_t>(operand);
}

/// The limits are small, so that runs reach them.
node_options options_of(std::uint32_t host, std::uint32_t hosts) {
  node_options options;
  options.id = host + 1;
  options.cluster = "sim";
  options.directory = "node";
  options.rtt_estimate = rtt_estimate;
  options.level_margin = level_margin;
  options.creation_lease = std::chrono::seconds(4);
  options.max_operations = 8 + 3 * hosts / 2;  // enough for the roll call
  options.link.window = {8, 8, 8, 4};
  options.link.queue_limit = std::max(16U, hosts);
  options.link.transfer_window = 6;
  options.link.transfer_segment_bytes = sim_segment_bytes;
  options.link.transfer_buffers = 6;
  options.ship.handlers = 8 + hosts;
  options.ship.queue = options.link.queue_limit;
  options.ship.eager_bytes = 1'024;
  options.ship.large_bytes = 40'000;
  options.ship.large_memory = 120'000;
  options.ship.large_hold = std::chrono::seconds(2);
  return options;
}

std::vector<target> targets_of(const group_record& g) {
  std::vector<target> targets;
  targets.reserve(g.members.size());
  for (const std::uint32_t host : g.members) targets.push_back({host + 1, {}});
  return targets;
}

/// The longest time that the root may take according to the library.
nanoseconds bound_of(const broadcast_record& b, const bcast_options& options, nanoseconds service_bound) {
  if (!options.deadline.unlimited()) return options.deadline.left({});
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto tree = any_tree::resolve(b.group->tree, n);
  const auto levels = tree ? tree->subtree_levels(n, 0) : 1;
  const nanoseconds processing =
      options.processing_bound.count() != 0 ? options.processing_bound : service_bound;
  return static_cast<std::int64_t>(levels) * (rtt_estimate + level_margin) + processing;
}

}  // namespace

cluster::cluster(const plan& p)
    : world_(p.seed, p.hosts),
      network_(world_, chunk_bytes(p)),
      clocks_(p.hosts),
      lives_(p.hosts),
      fallen_(p.hosts) {
  for (std::uint32_t host = 0; host < p.hosts; ++host)
    disks_.push_back(std::make_unique<testing::sim_disk>(p.seed * hosts_at_most + host));
  for (const plan_event& e : p.events) {
    if (e.kind == event_kind::wires) set_wires(e);
    if (e.kind == event_kind::clock && e.operands[0] < p.hosts) {
      clocks_[e.operands[0]] = {nanoseconds(static_cast<std::int64_t>(e.operands[1])),
                                static_cast<std::int64_t>(e.operands[2]) - 1'000'000};
    }
  }
  for (std::uint32_t host = 0; host < p.hosts; ++host) boot(host);
  const auto starting = [this] { return std::find(lives_.begin(), lives_.end(), nullptr) != lives_.end(); };
  while (starting() && world_.step(start_limit)) {
  }
}

cluster::~cluster() {
  while (!all_lives_.empty()) {
    all_lives_.back().member.reset();
    all_lives_.pop_back();
  }
}

std::size_t cluster::chunk_bytes(const plan& p) {
  for (const plan_event& e : p.events) {
    if (e.kind == event_kind::wires) return e.operands[5];
  }
  return 4096;
}

void cluster::set_wires(const plan_event& e) {
  const auto ns = [](std::uint64_t value) { return nanoseconds(static_cast<std::int64_t>(value)); };
  const std::uint64_t rack = std::max<std::uint64_t>(1, e.operands[4]);
  for (std::uint32_t from = 0; from < hosts(); ++from) {
    for (std::uint32_t to = 0; to < hosts(); ++to) {
      auto& model = network_.path(from, to).model;
      model.latency = ns(from / rack == to / rack ? e.operands[0] : e.operands[1]);
      model.jitter = ns(e.operands[2]);
      model.ps_per_byte = e.operands[3];
    }
  }
}

// ---- hosts

void cluster::boot(std::uint32_t host) {
  if (host >= hosts() || world_.host(host) != nullptr) return;
  testing::sim_disk& disk = *disks_[host];
  life& l = all_lives_.emplace_back(world_, network_, disk, host, clocks_[host]);
  // Some who come back lose their power once more, in one of the first operations on files.
  const bool fails = world_.now().count() != 0 && disk.random().chance(1, 2);
  const std::uint64_t fails_at = fails ? 1 + disk.random().below(16) : 0;
  l.home.enter([&] { l.work.spawn(start(l, fails_at)); });
}

/// A life that loses its power before it has an incarnation leaves a trace only on its disk, so the next life
/// may take its place.
task<void> cluster::start(life& l, std::uint64_t power_fails_at) {
  // Every second host has a clock that stands still while it is off.
  const std::uint64_t clock =
      l.host % 2 != 0 ? 0 : static_cast<std::uint64_t>(l.home.now().time_since_epoch().count());
  node_options options = options_of(l.host, hosts());
  if (power_fails_at != 0) l.files->crash_at(power_fails_at);
  auto chosen = co_await choose_incarnation(*l.files, options, clock);
  if (!chosen && l.files->crashed()) {
    l.files.emplace(l.home, *disks_[l.host]);
    chosen = co_await choose_incarnation(*l.files, options, clock);
  }
  if (chosen) {
    start_node(l, options);
  } else {
    l.ended = chosen;
  }
}

void cluster::start_node(life& l, const node_options& options) {
  l.incarnation = options.incarnation;
  l.member = std::make_unique<node>(l.home, l.rail, options);
  l.member->listen(l.rail.listen_address()).value();
  for (std::uint32_t other = 0; other < hosts(); ++other) {
    if (other != l.host) l.member->add_peer(other + 1, testing::sim_network::address_of(other)).value();
  }
  bare_service bare;
  bare.log = this;
  hooked_service hooked;
  hooked.log = this;
  l.member->serve(bare).value();
  l.member->serve(hooked).value();
  errands_.serve(l);
  lives_[l.host] = &l;
  world_.record(sim_trace::note, l.host, static_cast<std::uint64_t>(event_kind::boot), l.incarnation);
}

void cluster::crash(std::uint32_t host, sim_crash how) {
  life* const l = lives_[host];
  const auto living =
      std::count_if(lives_.begin(), lives_.end(), [](const life* other) { return other != nullptr; });
  if (l == nullptr || living <= 2) return;
  l->rail.crash(how);
  l->files->crash();
  l->home.detach();
  l->crashed = true;
  fallen_[host] = l->incarnation;
  lives_[host] = nullptr;
}

// ---- liveness

void cluster::tell(std::uint32_t who, std::uint32_t about, news what) {
  if (who >= hosts() || about >= hosts() || who == about || lives_[who] == nullptr) return;
  has_liveness_ = true;
  const std::uint64_t present = lives_[about] == nullptr ? 0 : lives_[about]->incarnation;
  const std::uint64_t incarnation = what == news::dead ? fallen_[about] : present;
  if (incarnation == 0) return;
  lives_[who]->home.enter([&] {
    node& hearer = *lives_[who]->member;
    what == news::alive ? hearer.on_alive(about + 1, incarnation) : hearer.on_dead(about + 1, incarnation);
  });
}

void cluster::address(broadcast_record& b, std::uint64_t hosts) {
  b.addressed.clear();
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (rank == b.root_rank) b.root_place = static_cast<std::uint32_t>(b.addressed.size());
    if (rank == b.root_rank || (hosts >> b.group->members[rank] & 1) != 0) b.addressed.push_back(rank);
  }
}

void cluster::bury_the_dead() {
  burying_ = true;  // the actions of crashed lives are no part of the run
  errands_.stop_recording();
  for (life& l : all_lives_) {
    if (!l.crashed) continue;
    l.rail.break_all();
    l.home.enter([&] { l.work.spawn(shut_down(l)); });
    const bool ended =
        l.home.run_isolated([&] { return l.ended.has_value() && l.work.running() == 0; }, isolated_turns);
    if (!ended) ++undead_;
  }
}

void cluster::begin_shutdown() {
  for (life* l : lives_) {
    if (l != nullptr) l->home.enter([&] { l->work.spawn(shut_down(*l)); });
  }
}

task<void> cluster::shut_down(life& l) {
  status ended = co_await l.member->shutdown(shutdown_limit);
  l.ended = ended;
}

// ---- events

void cluster::carry_out(const plan_event& e) {
  for (std::size_t i = 0; i < operand_count(e.kind); ++i)
    world_.record(sim_trace::note, 0, static_cast<std::uint64_t>(e.kind), e.operands[i]);
  const auto& o = e.operands;
  if (is_fault(e.kind)) note_fault(e);
  switch (e.kind) {
    case event_kind::wires:
    case event_kind::clock: return;
    case event_kind::group: return begin_group(e);
    case event_kind::bcast: return begin_broadcast(e);
    case event_kind::hooks: hooks_[o[0]] = {o[1], o[2], o[3], o[4]}; return;
    case event_kind::cancel: {
      const auto found = broadcasts_.find(o[0]);
      if (found == broadcasts_.end() || found->second.done || found->second.root->crashed) return;
      broadcast_record& b = found->second;
      b.cancelled = true;
      b.cancelled_at = world_.now();
      return lives_[b.root->host]->home.enter([&] { b.stop.request_stop(); });
    }
    case event_kind::destroy: return begin_destruction(e);
    case event_kind::stray: return send_stray(e);
    case event_kind::call: return errands_.begin(e);
    case event_kind::haul: return errands_.begin_haul(e);
    case event_kind::call_stop: return errands_.cancel(o[0]);
    case event_kind::storm: return storm(as_host(o[0]));
    case event_kind::verdict:
      return tell(as_host(o[0]), as_host(o[1]), static_cast<news>(std::min<std::uint64_t>(o[2], 2)));
    case event_kind::subset: subsets_[o[0]] = o[1]; return;
    case event_kind::partition: return partition(o[0], world_.now() + from_us(o[1]));
    case event_kind::boot: return boot(as_host(o[0]));
    case event_kind::crash:
      if (o[0] < hosts()) crash(as_host(o[0]), o[1] != 0 ? sim_crash::silent : sim_crash::loud);
      return;
    case event_kind::stall:
      if (o[0] >= hosts() || lives_[o[0]] == nullptr) return;
      stalled_until_ = std::max(stalled_until_, world_.now() + from_us(o[1]));
      return lives_[o[0]]->home.stall_until(world_.now() + from_us(o[1]));
    default: return harm_path(e);
  }
}

void cluster::harm_path(const plan_event& e) {
  const auto& o = e.operands;
  if (o[0] >= hosts() || o[1] >= hosts() || o[0] == o[1]) return;
  const std::uint32_t from = as_host(o[0]);
  const std::uint32_t to = as_host(o[1]);
  const nanoseconds now = world_.now();
  sim_path& path = network_.path(from, to);
  switch (e.kind) {
    case event_kind::cut: return network_.cut(from, to);
    case event_kind::half_open: return network_.half_open(from, to);
    case event_kind::block: return block(from, to, now + from_us(o[2]));
    case event_kind::slow:
      path.extra = from_us(o[2]);
      path.slow_until = now + from_us(o[3]);
      return;
    case event_kind::narrow:
      path.narrowing = std::clamp<std::uint64_t>(o[2], 1, 10'000);
      path.narrow_until = now + from_us(o[3]);
      return;
    case event_kind::cut_after: path.cut_after = static_cast<std::uint32_t>(o[2]); return;
    case event_kind::corrupt: path.corrupt_next += static_cast<std::uint32_t>(o[2]); return;
    case event_kind::refuse: path.refused_until = std::max(path.refused_until, now + from_us(o[2])); return;
    default: return;
  }
}

void cluster::block(std::uint32_t from, std::uint32_t to, nanoseconds until) {
  sim_path& path = network_.path(from, to);
  path.blocked_until = std::max(path.blocked_until, until);
}

void cluster::storm(std::uint32_t host) {
  for (std::uint32_t other = 0; other < hosts() && host < hosts(); ++other) {
    if (other != host) network_.cut(host, other);
  }
}

void cluster::partition(std::uint64_t side, nanoseconds until) {
  for (std::uint32_t from = 0; from < hosts(); ++from) {
    for (std::uint32_t to = 0; to < hosts(); ++to) {
      if ((side >> from & 1) != (side >> to & 1)) block(from, to, until);
    }
  }
}

/// How long a fault may still explain a failure after it has begun.
void cluster::note_fault(const plan_event& e) {
  constexpr nanoseconds aftermath = std::chrono::seconds(10);
  const auto& o = e.operands;
  const auto bit = [](std::uint64_t host) { return std::uint64_t{1} << host % 64; };
  const nanoseconds now = world_.now();
  fault_record f{e.kind, bit(o[0]) | bit(o[1]), now, now};
  switch (e.kind) {
    case event_kind::block:
    case event_kind::refuse: f.until += from_us(o[2]); break;
    case event_kind::slow: f.until += from_us(o[2]) + from_us(o[3]); break;
    case event_kind::narrow: f.until += from_us(o[3]); break;
    case event_kind::corrupt:    // the next piece may be late
    case event_kind::half_open:  // noticed at the next write
    case event_kind::cut_after:  // the last may be late
      f.until = nanoseconds::max() - aftermath;
      break;
    case event_kind::partition: f.hosts = ~std::uint64_t{0}, f.until += from_us(o[1]); break;
    case event_kind::stall: f.hosts = bit(o[0]), f.until += from_us(o[1]); break;
    case event_kind::storm: f.hosts = ~std::uint64_t{0}; break;
    case event_kind::verdict: f.hosts = bit(o[1]), f.until = nanoseconds::max() - aftermath; break;
    case event_kind::crash:
      f.hosts = bit(o[0]), f.until = nanoseconds::max() - aftermath;
      break;  // the groups are gone
    default: break;
  }
  f.until += aftermath;
  faults_.push_back(f);
}

void cluster::heal() {
  network_.heal();
  if (!has_liveness_) return;
  for (std::uint32_t who = 0; who < hosts(); ++who) {
    for (std::uint32_t about = 0; about < hosts(); ++about) {
      tell(who, about, news::alive);
      tell(who, about, news::dead);
    }
  }
}

// ---- groups and broadcasts

void cluster::began(std::uint64_t broadcast, std::uint32_t rank) {
  const auto found = broadcasts_.find(broadcast);
  if (found == broadcasts_.end() || rank >= found->second.members.size()) return garbled(broadcast);
  member_record& m = found->second.members[rank];
  ++m.begun;
  if (!burying_) m.last_begun = world_.now();
}
void cluster::contributed(std::uint64_t broadcast, std::uint32_t rank) {
  ++broadcasts_.at(broadcast).members.at(rank).contributed;
}
void cluster::left(std::uint64_t broadcast, std::uint32_t rank) noexcept {
  const auto found = broadcasts_.find(broadcast);
  if (found == broadcasts_.end() || rank >= found->second.members.size() || burying_) return;
  found->second.members[rank].last_left = world_.now();
}
void cluster::garbled(std::uint64_t) {
  ++garbled_;
}

void cluster::begin_group(const plan_event& e) {
  const auto& o = e.operands;
  if (o[1] >= hosts() || lives_[o[1]] == nullptr || groups_.contains(o[0])) return;
  group_record& g = groups_[o[0]];
  g.number = o[0];
  g.tree = tree_spec(static_cast<std::uint8_t>(o[2]), {static_cast<std::uint32_t>(o[3]), 0, 0});
  g.hooked = o[5] != 0;
  for (std::uint32_t host = 0; host < hosts(); ++host) {
    if ((o[4] >> host & 1) != 0) g.members.push_back(host);
  }
  life& creator = *lives_[o[1]];
  creator.home.enter([&] { creator.work.spawn(create(creator, g)); });
}

task<void> cluster::create(life& creator, group_record& g) {
  group_options options;
  options.tree = g.tree;
  options.deadline = creation_deadline;
  const std::vector<target> targets = targets_of(g);
  if (g.hooked) {
    auto created = co_await creator.member->create_group<hooked_service>(targets, options);
    if (created) {
      g.id = created->id();
    } else {
      g.failure = created.error();
    }
  } else {
    auto created = co_await creator.member->create_group<bare_service>(targets, options);
    if (created) {
      g.id = created->id();
    } else {
      g.failure = created.error();
    }
  }
}

void cluster::begin_destruction(const plan_event& e) {
  const auto found = groups_.find(e.operands[0]);
  if (found == groups_.end() || !found->second.id || e.operands[1] >= hosts()) return;
  life* const l = lives_[e.operands[1]];
  if (l != nullptr) l->home.enter([&] { l->work.spawn(destroy(*l, found->second)); });
}

task<void> cluster::destroy(life& l, group_record& g) {
  if (!detail::node_access::engine(*l.member).find_group(*g.id)) co_return;
  g.ending = true;
  g.ended_by.push_back(&l);
  status ended;
  if (g.hooked) {
    const auto held = l.member->find_group<hooked_service>(*g.id);
    if (!held) co_return;
    ended = co_await l.member->destroy(*held);
  } else {
    const auto held = l.member->find_group<bare_service>(*g.id);
    if (!held) co_return;
    ended = co_await l.member->destroy(*held);
  }
  if (ended && !g.destroyed) g.destroyed = world_.now();
}

void cluster::begin_farewell() {
  std::vector<std::vector<group_record*>> falls_to(hosts());
  for (auto& [number, g] : groups_) {
    const std::size_t n = g.id ? g.members.size() : 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t host = g.members[(number + i) % n];
      if (lives_[host] == nullptr || !detail::node_access::engine(*lives_[host]->member).find_group(*g.id))
        continue;
      falls_to[host].push_back(&g);
      break;
    }
  }
  for (std::uint32_t host = 0; host < hosts(); ++host) {
    life* const l = lives_[host];
    if (l != nullptr) l->home.enter([&] { l->work.spawn(say_farewell(*l, std::move(falls_to[host]))); });
  }
}

/// The creations run one after the other, because together they would exceed the limits.
task<void> cluster::say_farewell(life& l, std::vector<group_record*> groups) {
  for (group_record* const g : groups) co_await destroy(l, *g);
}

// ---- requests that must be refused

void cluster::send_stray(const plan_event& e) {
  const auto found = broadcasts_.find(e.operands[0]);
  if (found == broadcasts_.end() || found->second.counter == 0) return;
  broadcast_record& b = found->second;
  if (static_cast<stray_kind>(e.operands[2]) == stray_kind::repeated) return repeat(b, e.operands[1]);
  intrude(b, as_host(e.operands[1]));
}

/// Acts like a root that sends a request again on another rail although it has already arrived.
void cluster::repeat(broadcast_record& b, std::uint64_t choice) {
  const auto n = static_cast<std::uint32_t>(b.members.size());
  const auto tree = any_tree::resolve(b.group->tree, n);
  if (lives_[b.root->host] != b.root || !tree || b.addressed.size() != b.members.size()) return;
  std::vector<std::uint32_t> executed;
  auto cursor = tree->cursor(n, 0);
  for (auto child = cursor.next(); child; child = cursor.next()) {
    const std::uint32_t rank = to_rank(*child, b.root_rank, n);
    if (b.members[rank].begun != 0) executed.push_back(rank);
  }
  if (executed.empty()) return;
  job request = b.request;
  request.filler.clear();
  send_as(*lives_[b.root->host], b, executed[choice % executed.size()], std::move(request));
}

void cluster::intrude(broadcast_record& b, std::uint32_t host) {
  const auto n = static_cast<std::uint32_t>(b.members.size());
  const auto tree = any_tree::resolve(b.group->tree, n);
  if (host >= hosts() || lives_[host] == nullptr || !tree || n < 3) return;
  const auto parent_of = [&](std::uint32_t rank) {
    return b.group->members[to_rank(tree->parent(n, to_relative(rank, b.root_rank, n)), b.root_rank, n)];
  };
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    const std::uint32_t victim = b.group->members[rank];
    if (rank == b.root_rank || victim == host || parent_of(rank) == host) continue;
    broadcast_record& s = broadcasts_[next_stray_];
    s.number = next_stray_++;
    s.stray = true;
    s.group = b.group;
    s.root = b.root;
    s.root_rank = b.root_rank;
    s.counter = b.counter + 500;  // a counter that the root has not used
    s.options = b.options;
    s.members.resize(n);
    job request;
    request.broadcast = s.number;
    return send_as(*lives_[host], s, rank, std::move(request));
  }
}

void cluster::send_as(life& sender, const broadcast_record& b, std::uint32_t to, job request) {
  detail::collective_head head;
  head.tree_kind = b.group->tree.kind;
  head.tree_params = b.group->tree.params;
  head.service = static_cast<std::uint32_t>(b.group->hooked ? hooked_service::id : bare_service::id);
  head.root_rank = b.root_rank;
  head.group = *b.group->id;
  head.operation = {b.root->host + 1, b.root->incarnation, b.counter, 0};
  head.rtt_ns = static_cast<std::uint64_t>(rtt_estimate.count());
  head.margin_ns = static_cast<std::uint64_t>(level_margin.count());
  head.processing_ns = 100'000'000;
  sender.home.enter([&] {
    transport::endpoint& endpoint = sender.member->wire();
    transport::session* const session = endpoint.find(b.group->members[to] + 1);
    if (session == nullptr) return;
    transport::message& m = endpoint.acquire_message();
    m.set_head_bytes(wire::encode_to(m.head_space(), head).value());
    std::array<std::byte, transport::message::inline_payload_bytes> payload;
    const std::size_t size = wire::encode_to(payload, request).value();
    const auto bytes = std::span<const std::byte>(payload).first(size);
    m.copy_payload(bytes, wire::checksum(bytes));
    session
        ->request(sender.strays.emplace_back(), transport::traffic_class::collective, m,
                  transport::max_payload_bytes)
        .ignore();
  });
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
  address(b, ~std::uint64_t{0});
  return b;
}

void cluster::begin_broadcast(const plan_event& e) {
  const auto& o = e.operands;
  const auto group = groups_.find(o[1]);
  if (group == groups_.end() || !group->second.id || o[2] >= hosts() || broadcasts_.contains(o[0])) return;
  life* const root = lives_[o[2]];
  if (root == nullptr) return;
  group_record& g = group->second;
  if (std::find(g.members.begin(), g.members.end(), o[2]) == g.members.end()) return;
  job request;
  request.broadcast = o[0];
  request.filler.assign(std::min<std::uint64_t>(o[3], 4000), filling(o[0]));
  request.work_us = static_cast<std::uint32_t>(o[4]);
  request.prepare_us = static_cast<std::uint32_t>(o[7]);
  const prepared_hooks& h = hooks_[o[0]];
  request.refusing = h.refusing;
  request.failing = h.failing;
  request.throwing = h.throwing;
  request.oversized = h.oversized;
  bcast_options options;
  if (o[5] != 0) options.deadline = from_us(o[5]);
  options.processing_bound = from_us(o[6]);
  root->home.enter([&] {
    if (!detail::node_access::engine(*root->member).find_group(*g.id)) return;  // this life has not joined it
    broadcast_record& b = record_broadcast(o[0], g, *root);
    options.stop = b.stop.token();
    if (const auto some = subsets_.find(o[0]); some != subsets_.end()) address(b, some->second);
    b.request = request;
    b.options = options;
    if (g.hooked) {
      spawn_broadcast<hooked_service>(*root, g, b, request, options);
    } else {
      spawn_broadcast<bare_service>(*root, g, b, request, options);
    }
  });
}

template <class S>
void cluster::spawn_broadcast(life& root, group_record& g, broadcast_record& b, const job& request,
                              bcast_options options) {
  b.bound = bound_of(b, options, S::processing_bound);
  root.work.spawn(run_broadcast<S>(root, g, b, request, options));
}

template <class S>
task<void> cluster::run_broadcast(life& root, group_record& g, broadcast_record& b, job request,
                                  bcast_options options) {
  const time_point start = root.home.now();
  auto held = root.member->find_group<S>(*g.id);
  if (!held) {
    // The group was dropped between the event and this moment.
    b.outcome_status = held.error();
    b.done = true;
    b.ended_by_crash = true;
    co_return;
  }
  rank_set ranks;
  for (const std::uint32_t rank : b.addressed) ranks.append(rank, rank + 1);
  const bool whole = b.addressed.size() == b.members.size();
  const group<S> where = whole ? *held : held->only(ranks);
  b.counter = where.state()->next_counter;
  auto r = co_await scoll::bcast(where, request, options);
  finish(root, b, r, start);
}

void cluster::finish(life& root, broadcast_record& b, bcast_result<tally>& r, time_point local_start) {
  b.done = true;
  b.ended_by_crash = root.crashed;
  b.ended = world_.now();
  b.took = root.home.now() - local_start;
  b.outcome_status = r.status();
  b.account = r.outcome();
  if (r.has_value()) b.value = *r;
  std::uint64_t states = 0;
  for (std::uint32_t rank = 0; rank < b.account.members(); ++rank)
    states = states * 7 + static_cast<std::uint64_t>(b.account.state(rank));
  world_.record(sim_trace::note, root.host, b.number, states);
}

// ---- roll call

group_record& cluster::group_of_the_living(std::uint64_t number, const tree_spec& tree) {
  group_record& g = groups_[number];
  g.number = number;
  g.tree = tree;
  for (std::uint32_t host = 0; host < hosts(); ++host) {
    if (lives_[host] != nullptr) g.members.push_back(host);
  }
  return g;
}

void cluster::begin_knocking() {
  for (life* l : lives_) {
    if (l == nullptr) continue;
    group_record& g = group_of_the_living(first_knock + l->host, flat{});
    l->home.enter([&] { l->work.spawn(create(*l, g)); });
  }
}

void cluster::begin_roll_call() {
  errands_.begin_roll_call();
  for (life* root : lives_) {
    if (root == nullptr) continue;
    const std::uint64_t number = first_roll_call + root->host;
    group_record& g = group_of_the_living(number, knomial{2 + root->host % 4});
    broadcast_record& b = record_broadcast(number, g, *root);
    b.bound = nanoseconds::max();
    root->home.enter([&] { root->work.spawn(call_roll<bare_service>(*root, g, b)); });
  }
}

template <class S>
task<void> cluster::call_roll(life& root, group_record& g, broadcast_record& b) {
  co_await create(root, g);
  if (!g.id) {
    b.outcome_status = g.failure;
    b.account = outcome(static_cast<std::uint32_t>(g.members.size()));
    b.done = true;
    co_return;
  }
  job request;
  request.broadcast = b.number;
  co_await run_broadcast<S>(root, g, b, request, bcast_options{});
}

}  // namespace scoll::sim
