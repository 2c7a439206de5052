#include "tools/scoll-sim/cluster/cluster.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "scoll/collective/engine.hpp"
#include "scoll/incarnation_store.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/cluster/lopsided_tree.hpp"
#include "tools/scoll-sim/cluster/services.hpp"
#include "tools/scoll-sim/cluster/times.hpp"
#include "tools/scoll-sim/plan/script.hpp"

// The world, and the lives of its hosts.
namespace scoll::sim {
namespace {

using testing::sim_crash;
using testing::sim_trace;

constexpr nanoseconds shutdown_limit = std::chrono::seconds(8);
constexpr std::size_t isolated_turns = 2'000'000;
constexpr nanoseconds start_limit = std::chrono::seconds(1);

std::size_t chunk_bytes(const plan& p) {
  for (const plan_event& e : p.events) {
    if (const auto* const wires = std::get_if<events::wires>(&e.what))
      return std::clamp<std::size_t>(wires->chunk_bytes, 16, 65'536);
  }
  return 4096;
}

std::uint32_t rails_of(const plan& p) {
  constexpr std::uint32_t most_rails = 4;
  for (const plan_event& e : p.events) {
    if (const auto* const several = std::get_if<events::rails>(&e.what))
      return std::clamp(several->count, 1U, most_rails);
  }
  return 1;
}

void enable(const events::remote_memory& e, testing::sim_network& of_bulk) {
  constexpr std::uint32_t most_slabs = 64, most_bytes = 1U << 20U;
  of_bulk.enable_remote_memory(
      {std::clamp(e.slabs, 1U, most_slabs), std::clamp(e.slab_bytes, 1U, most_bytes)});
}

gossip::configuration_ptr shared_by(std::uint32_t hosts, std::uint32_t rails, std::uint32_t places) {
  std::vector<gossip::participant_entry> all(hosts);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    if (rails > 1) all[host].id = host + 1;
    for (std::uint32_t i = 0; i < rails; ++i)
      all[host].addresses.push_back(testing::sim_network::address_of(place_on_rail(host, i, places)));
  }
  return gossip::configuration::of_entries(std::move(all), gossip::least_interval).value();
}

}  // namespace

/// Notes what the gossip tells one life about the others.
class cluster::witness final : public gossip::event_listener {
 public:
  witness(cluster& of, life& l) noexcept : cluster_(of), life_(l), early_(l) {}
  /// The part that hears of verdicts before the node does.
  gossip::event_listener& early() noexcept { return early_; }

  void on_liveness(const gossip::liveness_event& e) noexcept override {
    const node_id node = life_.bond->node_of(e.who);
    if (node == 0) return;
    life_.view_changed = cluster_.world_.now();
    const auto about = static_cast<std::uint32_t>(node - 1);
    if (e.kind == gossip::event_kind::rebooted) cluster_.seen_.saw(mark::gossip_return);
    if (e.kind != gossip::event_kind::dead) return note_life(node, e);
    note_doubt(node, e);
    cluster_.accusations_.insert({life_.host, about});
    const life* const present = cluster_.lives_[about];
    if (present == nullptr || present->incarnation != e.incarnation)
      return cluster_.seen_.saw(mark::gossip_death);
    cluster_.seen_.saw(mark::gossip_error);
    if (cluster_.only_rails_failed()) ++cluster_.slanders_;
    cluster_.note_lasting_fault(number_set::of(about));
  }

 private:
  /// Notes whether the node is connected with the one that is said to be dead.
  class early_witness final : public gossip::event_listener {
   public:
    explicit early_witness(life& l) noexcept : life_(l) {}
    bool connected() const noexcept { return connected_; }

   private:
    void on_liveness(const gossip::liveness_event& e) noexcept override {
      const transport::session* const peer = life_.member->wire().find(life_.bond->node_of(e.who));
      connected_ = peer != nullptr && peer->peer_incarnation() == e.incarnation &&
                   peer->connected(transport::traffic_class::call);
    }
    life& life_;
    bool connected_ = false;
  };

  /// Whoever is connected is asked before its death is believed.
  void note_doubt(node_id node, const gossip::liveness_event& e) noexcept {
    if (life_.bond->doubts_death_of(node)) {
      doubted_[node] = e.incarnation;
      cluster_.seen_.saw(mark::gossip_doubted);
    } else if (early_.connected()) {
      ++cluster_.rash_;
    }
  }
  void note_life(node_id node, const gossip::liveness_event& e) noexcept {
    const auto found = doubted_.find(node);
    if (found == doubted_.end()) return;
    const bool same = found->second == e.incarnation;
    doubted_.erase(found);
    const detail::engine& engine = detail::node_access::engine(*life_.member);
    if (same && !engine.lives().is_dead(node)) cluster_.seen_.saw(mark::gossip_rescued);
  }

  cluster& cluster_;
  life& life_;
  early_witness early_;
  std::map<node_id, std::uint64_t> doubted_;
};

cluster::cluster(const plan& p)
    : rails_(rails_of(p)),
      world_(p.seed, p.hosts + guarding::outsiders_of(p)),
      network_(world_, chunk_bytes(p), world_.hosts() * rails_),
      clocks_(p.hosts),
      lives_(p.hosts),
      fallen_(p.hosts) {
  register_tree<lopsided_tree>();
  build(p);
  for (std::uint32_t host = 0; host < p.hosts; ++host) boot(host);
  const auto starting = [this] { return std::find(lives_.begin(), lives_.end(), nullptr) != lives_.end(); };
  while (starting() && world_.step(start_limit)) continue;
}

cluster::~cluster() {
  while (!all_lives_.empty()) {
    all_lives_.back().clear();
    all_lives_.pop_back();
  }
}

/// Makes what is there from the beginning.
void cluster::build(const plan& p) {
  for (std::uint32_t host = 0; host < p.hosts; ++host)
    disks_.push_back(std::make_unique<testing::sim_disk>(p.seed * most_hosts + host));
  for (const plan_event& e : p.events) {
    if (std::holds_alternative<events::two_rails>(e.what))
      bulk_network_ = std::make_unique<testing::sim_network>(world_, chunk_bytes(p));
    if (std::holds_alternative<events::gossip>(e.what) && datagrams_ == nullptr) {
      datagrams_ = std::make_unique<testing::sim_datagrams>(network_);
      gossip_shared_ = shared_by(p.hosts, rails_, world_.hosts());
      has_liveness_ = true;
    }
    if (const auto* const old = std::get_if<events::old_servers>(&e.what)) old_servers_ = old->hosts;
    if (const auto* const some = std::get_if<events::clients>(&e.what)) guests_.hosts = some->hosts;
    if (const auto* const some = std::get_if<events::zones>(&e.what)) zones_[some->group] = some->count;
    if (const auto* const some = std::get_if<events::node_memory>(&e.what)) memory_ = *some;
    if (const auto* const c = std::get_if<events::clock>(&e.what); c != nullptr && c->host < p.hosts)
      clocks_[c->host] = {c->offset, static_cast<std::int64_t>(c->drift_ppm_biased) - 1'000'000};
  }
  guards_ = guarding::of(p, world_, network_, bulk_network_.get());
  for (const plan_event& e : p.events) {
    if (const auto* const wires = std::get_if<events::wires>(&e.what)) set_up(*wires);
    if (const auto* const how = std::get_if<events::remote_memory>(&e.what))
      enable(*how, bulk_network_ != nullptr ? *bulk_network_ : network_);
  }
}

void cluster::set_up(const events::wires& e) {
  const std::uint32_t rack = std::max(1U, e.rack_hosts);
  for (testing::sim_network* const n : {&network_, bulk_network_.get()}) {
    const std::uint32_t places = n == nullptr ? 0 : n->hosts();
    for (std::uint32_t pair = 0; pair < places * places; ++pair) {
      const std::uint32_t from = pair / places % world_.hosts(), to = pair % places % world_.hosts();
      auto& model = n->path(pair / places, pair % places).model;
      model.latency = from / rack == to / rack ? e.near_latency : e.far_latency;
      model.jitter = e.jitter;
      model.ps_per_byte = e.ps_per_byte;
    }
  }
}

std::uint64_t cluster::bytes_carried() const noexcept {
  return network_.bytes_carried() + (bulk_network_ == nullptr ? 0 : bulk_network_->bytes_carried());
}

// ---- lives

void cluster::boot(std::uint32_t host) {
  if (host >= hosts() || world_.host(host) != nullptr) return;
  testing::sim_disk& disk = *disks_[host];
  life& l = all_lives_.emplace_back(world_, ways(), disk, host, clocks_[host]);
  l.number = all_lives_.size();
  l.started = world_.now();
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
  node_options options = small_options(l.host, hosts(), memory_);
  options.id = guests_.id_of(l.host);
  if (guests_.contain(l.host)) options.role = node_role::client;
  if (guards_) guards_->guard(l.host, options.link);
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
  l.make_node(options);
  if (!guests_.contain(l.host)) l.member->listen(l.listening_place()).value();
  for (std::uint32_t other = 0; other < hosts(); ++other) {
    if (other != l.host && !guests_.contain(other))
      l.member->add_peer(other + 1, l.addresses_of(other)).value();
  }
  for (const service_kind kind : {service_kind::bare, service_kind::hooked, service_kind::plain,
                                  service_kind::brief, service_kind::versioned, service_kind::streaming}) {
    with_service(kind, serves_old_version(l.host), [&]<class S>() {
      S service;
      service.log = this;
      service.life = l.number;
      l.member->serve(service).value();
    });
  }
  errands_.serve(l);
  lives_[l.host] = &l;
  if (has_gossip()) take_part(l);
  for (auto& [number, g] : groups_) adopt(l, g);
  world_.record(sim_trace::note, l.host, event_index<events::boot>, l.incarnation);
}

/// The participant runs until it is stopped, and the node follows it.
void cluster::take_part(life& l) {
  gossip::options options;
  options.incarnation = l.incarnation;
  options.seed = l.number * 2 + 1;
  options.rtt = std::chrono::milliseconds(10);
  l.participant =
      std::make_unique<gossip::participant>(l.home, l.gossip_ports(), gossip_shared_, l.host + 1, options);
  std::vector<gossip_address> nodes;
  nodes.reserve(hosts());
  for (std::uint32_t host = 0; host < hosts(); ++host)
    nodes.push_back({host + 1, testing::sim_network::address_of(host)});
  const auto watching = std::make_shared<witness>(*this, l);
  l.participant->subscribe(watching->early());
  l.bond.emplace(follow(*l.member, *l.participant, nodes).value());
  l.participant->subscribe(*watching);
  l.witness = watching;
  const auto run = [](life& of) -> task<void> {
    (co_await gossip::run(*of.participant, of.gossip_stop.token())).ignore();
  };
  l.work.spawn(run(l));
}

void cluster::crash(std::uint32_t host, sim_crash how) {
  life* const l = living(host);
  const auto others =
      std::count_if(lives_.begin(), lives_.end(), [&](const life* x) { return x != nullptr && x != l; });
  if (l == nullptr || others == 0) return;
  l->crash(how);
  fallen_[host] = l->incarnation;
  lives_[host] = nullptr;
}

void cluster::bury_the_dead() {
  burying_ = true;  // the actions of crashed lives are no part of the run
  errands_.stop_recording();
  for (life& l : all_lives_) {
    if (!l.crashed) continue;
    l.break_all();
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
  l.gossip_stop.request_stop();
  status ended = co_await l.member->shutdown(shutdown_limit);
  l.ended = ended;
}

// ---- events

void cluster::carry_out(const plan_event& e) {
  for (const std::uint64_t operand : numbers_of(e.what))
    world_.record(sim_trace::note, 0, e.what.index(), operand);
  std::visit([this](const auto& what) { on(what); }, e.what);
}

void cluster::on(const events::rekey& e) {
  if (guards_) guards_->take(e);
}

void cluster::on(const events::outsider& e) {
  const life* const visited = living(e.to);
  if (!guards_ || visited == nullptr) return;
  guards_->begin(e, place_on_rail(e.to, e.rail % rails_, world_.hosts()), visited->number);
}

// ---- executions

namespace {

/// Notes which children of a member are in other zones, as the member sees its group.
void note_zones(const bcast_context& c, member_record& m) {
  const auto zone = [&](std::uint32_t rank) { return c.members().place(rank).zone; };
  m.crossings = 0;
  bool near = false;
  for (std::uint32_t child = 0; child < c.child_count(); ++child) {
    const bool crosses = zone(c.child_rank(child)) != zone(c.rank());
    m.crossings += crosses;
    m.near_first |= crosses && near;
    near |= !crosses;
  }
}

}  // namespace

void cluster::began(std::uint64_t broadcast, const bcast_context& c) {
  const std::uint32_t rank = c.rank();
  const nanoseconds left = c.remaining().left(c.get_executor().now());
  const auto found = broadcasts_.find(broadcast);
  if (found == broadcasts_.end() || rank >= found->second.members.size()) return garbled(broadcast);
  broadcast_record& b = found->second;
  member_record& m = found->second.members[rank];
  ++m.begun;
  if (burying_) return;
  m.executor = lives_[b.group->members[rank]];
  m.last_begun = world_.now();
  m.most_left = std::max(m.most_left, left);
  note_zones(c, m);
  const gossip::participant* const p = b.root->participant.get();
  if (rank != b.root_rank && !b.root->crashed && p != nullptr && p->stage() != gossip::participation::active)
    ++early_;
  if (m.executor == nullptr) return;
  const auto held = detail::node_access::engine(*m.executor->member).find_group(*b.group->id);
  m.after_revoke |= held != nullptr && held->revoked != nullptr;
  if (rank != b.root_rank && b.options.last) b.overtook |= has_earlier_one(b);
  m.by_another_round |= c.id().attempt != 0;
  if (rank != b.root_rank) in_use_.emplace(m.executor->number, b.group->number);
  if (b.manner.to != audience::chosen) note_view(b, m);
}

/// True if a broadcast of the same root to the same group began before, has been executed somewhere, and has not
/// ended.
bool cluster::has_earlier_one(const broadcast_record& last) const {
  return std::any_of(running_.begin(), running_.end(), [&](std::uint64_t number) {
    const broadcast_record& b = broadcasts_.at(number);
    const bool executed =
        std::any_of(b.members.begin(), b.members.end(), [](const member_record& m) { return m.begun != 0; });
    const bool is_read = b.stream.has_value();  // after it has ended
    return b.root == last.root && b.group == last.group && b.counter < last.counter && !b.held && executed &&
           !is_read;
  });
}

/// Compares the view of a member that executes a broadcast to the living with that of its root.
void cluster::note_view(const broadcast_record& b, member_record& m) {
  const detail::engine& engine = detail::node_access::engine(*m.executor->member);
  const auto group = engine.find_group(*b.group->id);
  // The group has been ended meanwhile, or a verdict was heard and is believed later, if its node does not answer.
  constexpr nanoseconds doubt = 10 * gossip::least_interval;
  m.wavers = group == nullptr || m.executor->view_changed + doubt >= b.began;
  if (m.wavers) return;
  rank_set addressed;
  for (const std::uint32_t rank : b.addressed) addressed.append(rank, rank + 1);
  m.dissents = engine.living(*group, rank_set::all(group->members->size())) != addressed;
}

nanoseconds cluster::work_of(std::uint64_t broadcast, std::uint32_t rank, nanoseconds usual) const {
  const auto policy = terms_.policies.find(broadcast);
  if (policy == terms_.policies.end()) return usual;
  if (policy->second.hasty.contains(rank)) return nanoseconds(0);
  return extends(rank) ? usual : usual + policy->second.lingers;  // an extension is long enough
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

void cluster::hook_ran(bool plain) noexcept {
  seen_.saw(plain ? mark::plain_hooks : mark::coroutine_hooks);
}

}  // namespace scoll::sim
