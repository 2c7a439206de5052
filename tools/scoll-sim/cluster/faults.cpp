#include <algorithm>

#include "scoll/collective/engine.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"

// The faults of hosts and wires, and the verdicts of liveness.
namespace scoll::sim {
namespace {

using testing::sim_crash;
using testing::sim_path;

/// The addresses by which a network connects two hosts.
template <class Use>
void each_place(testing::sim_network& n, std::uint32_t from, std::uint32_t to, Use&& use) {
  const std::uint32_t hosts = n.world().hosts();
  for (std::uint32_t here = from; here < n.hosts(); here += hosts) {
    for (std::uint32_t there = to; there < n.hosts(); there += hosts) use(here, there);
  }
}

}  // namespace

bool cluster::are_two(std::uint64_t from, std::uint64_t to) const noexcept {
  return from < hosts() && to < hosts() && from != to;
}

template <class Use>
void cluster::each_network(Use&& use) {
  use(network_);
  if (bulk_network_ != nullptr) use(*bulk_network_);
}

template <class Use>
void cluster::each_path(std::uint32_t from, std::uint32_t to, Use&& use) {
  each_network([&](testing::sim_network& n) {
    each_place(n, from, to, [&](std::uint32_t here, std::uint32_t there) { use(n.path(here, there)); });
  });
}

void cluster::note_fault(number_set on, nanoseconds lasts) {
  faults_.push_back({on, world_.now(), world_.now() + lasts + fault_record::aftermath});
}

/// A fault whose consequences may come at any later time.
/// Members that alter what they have checked break links of bulk data, whenever they do.
void cluster::on(const events::freight& e) {
  freights_.announce(e);
  if (e.altering.empty()) return;
  fault_record altering{number_set::below(hosts()), nanoseconds(0), nanoseconds::max()};
  altering.alters = altering.bulk_only = true;
  faults_.push_back(altering);
}

void cluster::note_lasting_fault(number_set on) {
  faults_.push_back({on, world_.now(), nanoseconds::max()});
}

// ---- connections

void cluster::cut_all(std::uint32_t a, std::uint32_t b) {
  each_network([&](testing::sim_network& n) {
    each_place(n, a, b, [&](std::uint32_t here, std::uint32_t there) { n.cut(here, there); });
  });
}

void cluster::on(const events::cut& e) {
  if (!are_two(e.from, e.to)) return;
  note_fault(pair_of(e.from, e.to), {});
  faults_.back().cut_only = true;
  cut_all(e.from, e.to);
}

/// The other end notices it at its next write.
void cluster::on(const events::half_open& e) {
  if (!are_two(e.from, e.to)) return;
  note_lasting_fault(pair_of(e.from, e.to));
  each_network([&](testing::sim_network& n) {
    each_place(n, e.from, e.to, [&](std::uint32_t here, std::uint32_t there) { n.half_open(here, there); });
  });
}

/// The ends notice it when probes stay unanswered, or much later.
void cluster::on(const events::lose_all& e) {
  if (!are_two(e.from, e.to)) return;
  note_lasting_fault(pair_of(e.from, e.to));
  each_network([&](testing::sim_network& n) {
    each_place(n, e.from, e.to, [&](std::uint32_t here, std::uint32_t there) { n.lose_all(here, there); });
  });
}

/// The last of the frames may come late.
void cluster::on(const events::cut_after& e) {
  if (!are_two(e.from, e.to)) return;
  note_lasting_fault(pair_of(e.from, e.to));
  each_path(e.from, e.to, [&](sim_path& p) { p.cut_after = e.frames; });
}

void cluster::on(const events::storm& e) {
  if (e.host >= hosts()) return;
  note_fault(number_set::below(hosts()), {});
  for (std::uint32_t other = 0; other < hosts(); ++other) {
    if (other != e.host) cut_all(e.host, other);
  }
}

void cluster::on(const events::refuse& e) {
  if (!are_two(e.from, e.to)) return;
  note_fault(pair_of(e.from, e.to), e.lasts);
  const nanoseconds until = world_.now() + e.lasts;
  each_path(e.from, e.to, [&](sim_path& p) { p.refused_until = std::max(p.refused_until, until); });
}

void cluster::on(const events::repeat_connects& e) {
  if (!are_two(e.from, e.to)) return;
  note_lasting_fault(pair_of(e.from, e.to));
  each_path(e.from, e.to, [&](sim_path& p) {
    p.repeat_connects += e.attempts;
    p.repeat_after = e.later;
  });
}

/// Messages go on as before: the outage is a fault of bulk data alone.
void cluster::on(const events::bulk_outage& e) {
  if (!are_two(e.from, e.to) || bulk_network_ == nullptr) return;
  note_fault(pair_of(e.from, e.to), e.lasts);
  faults_.back().bulk_only = true;
  const nanoseconds until = world_.now() + e.lasts;
  outages_.push_back({e.from, e.to, until});
  bulk_network_->cut(e.from, e.to);
  for (sim_path* const way : {&bulk_network_->path(e.from, e.to), &bulk_network_->path(e.to, e.from)})
    way->refused_until = std::max(way->refused_until, until);
}

void cluster::on(const events::bulk_narrow& e) {
  if (!are_two(e.from, e.to) || bulk_network_ == nullptr) return;
  note_fault(pair_of(e.from, e.to), e.lasts);
  faults_.back().bulk_only = true;
  for (sim_path* const way : {&bulk_network_->path(e.from, e.to), &bulk_network_->path(e.to, e.from)}) {
    way->narrowing = std::clamp<std::uint64_t>(e.factor, 1, 10'000);
    way->narrow_until = world_.now() + e.lasts;
  }
}

bool cluster::bulk_is_out(std::uint32_t a, std::uint32_t b) const {
  return std::any_of(outages_.begin(), outages_.end(), [&](const outage& o) {
    return o.until > const_cast<cluster*>(this)->world_.now() &&
           ((o.a == a && o.b == b) || (o.a == b && o.b == a));
  });
}

/// The other rails of the hosts go on.
void cluster::on(const events::rail_down& e) {
  if (e.host >= hosts() || rails_ < 2) return;
  note_fault(e.all_hosts ? number_set::below(hosts()) : number_set::of(e.host), e.lasts);
  faults_.back().rail_only = true;
  const nanoseconds until = world_.now() + e.lasts;
  const std::uint32_t failed = e.rail % rails_;
  for (std::uint32_t host = 0; host < hosts(); ++host) {
    if (host != e.host && !e.all_hosts) continue;
    const std::uint32_t here = place_on_rail(host, failed, world_.hosts());
    for (std::uint32_t there = 0; there < network_.hosts(); ++there) {
      if (there % world_.hosts() == host) continue;
      sim_path& out = network_.path(here, there);
      sim_path& in = network_.path(there, here);
      if (e.how == rail_end::refused) {
        out.refused_until = in.refused_until = std::max(in.refused_until, until);
        network_.cut(here, there);
        continue;
      }
      out.blocked_until = std::max(out.blocked_until, until);
      if (e.how == rail_end::silent) in.blocked_until = std::max(in.blocked_until, until);
    }
  }
}

bool cluster::only_rails_failed() const noexcept {
  return std::all_of(faults_.begin(), faults_.end(), [](const fault_record& f) { return f.rail_only; });
}

// ---- paths

void cluster::block(std::uint32_t from, std::uint32_t to, nanoseconds until) {
  each_path(from, to, [&](sim_path& p) { p.blocked_until = std::max(p.blocked_until, until); });
}

void cluster::on(const events::block& e) {
  if (!are_two(e.from, e.to)) return;
  note_fault(pair_of(e.from, e.to), e.lasts);
  faults_.back().cuts_off = true;
  block(e.from, e.to, world_.now() + e.lasts);
}

void cluster::on(const events::partition& e) {
  note_fault(number_set::below(hosts()), e.lasts);
  faults_.back().cuts_off = true;
  for (std::uint32_t from = 0; from < hosts(); ++from) {
    for (std::uint32_t to = 0; to < hosts(); ++to) {
      if (e.side.contains(from) != e.side.contains(to)) block(from, to, world_.now() + e.lasts);
    }
  }
}

void cluster::on(const events::slow& e) {
  if (!are_two(e.from, e.to)) return;
  note_fault(pair_of(e.from, e.to), e.extra + e.lasts);
  each_path(e.from, e.to, [&](sim_path& p) {
    p.extra = e.extra;
    p.slow_until = world_.now() + e.lasts;
  });
}

void cluster::on(const events::narrow& e) {
  if (!are_two(e.from, e.to)) return;
  note_fault(pair_of(e.from, e.to), e.lasts);
  each_path(e.from, e.to, [&](sim_path& p) {
    p.narrowing = std::clamp<std::uint64_t>(e.factor, 1, 10'000);
    p.narrow_until = world_.now() + e.lasts;
  });
}

/// The next piece may come late.
void cluster::on(const events::corrupt& e) {
  if (!are_two(e.from, e.to)) return;
  note_lasting_fault(pair_of(e.from, e.to));
  faults_.back().alters = true;
  each_path(e.from, e.to, [&](sim_path& p) { p.corrupt_next += e.pieces; });
}

/// The next connection may be made late.
void cluster::on(const events::forge& e) {
  if (!are_two(e.from, e.to)) return;
  note_lasting_fault(pair_of(e.from, e.to));
  faults_.back().alters = true;
  each_path(e.from, e.to, [&](sim_path& p) { p.forge_next += e.writes; });
}

void cluster::on(const events::lossy& e) {
  const std::uint32_t places = network_.hosts();
  for (std::uint32_t pair = 0; pair < places * places; ++pair)
    network_.path(pair / places, pair % places).loss_ppm = std::min(e.loss_ppm, 500'000U);
}

// ---- hosts

void cluster::on(const events::stall& e) {
  if (living(e.host) == nullptr) return;
  note_fault(number_set::of(e.host), e.lasts);
  faults_.back().stalls = true;
  const nanoseconds until = world_.now() + e.lasts;
  stalled_until_ = std::max(stalled_until_, until);
  lives_[e.host]->home.stall_until(until);
}

/// The groups of the host are gone.
void cluster::on(const events::crash& e) {
  if (e.host >= hosts()) return;
  note_lasting_fault(number_set::of(e.host));
  crash(e.host, e.silent ? sim_crash::silent : sim_crash::loud);
}

// ---- liveness

void cluster::on(const events::verdict& e) {
  note_lasting_fault(number_set::of(e.about));
  tell(e.hearer, e.about, e.what);
}

bool cluster::was_accused(std::uint32_t host) const {
  return std::ranges::any_of(accusations_, [=](const auto& a) { return a.second == host; });
}

bool cluster::has_accused(std::uint32_t hearer, std::uint32_t host) const {
  return accusations_.contains({hearer, host});
}

void cluster::tell(std::uint32_t who, std::uint32_t about, news what) {
  if (!are_two(who, about) || lives_[who] == nullptr || has_gossip()) return;
  has_liveness_ = true;
  const std::uint64_t present = lives_[about] == nullptr ? 0 : lives_[about]->incarnation;
  const std::uint64_t incarnation = what == news::dead ? fallen_[about] : present;
  if (incarnation == 0) return;
  if (what != news::alive) accusations_.insert({who, about});
  if (what != news::alive) seen_.saw(mark::invented_death);
  lives_[who]->view_changed = world_.now();
  lives_[who]->home.enter([&] {
    node& hearer = *lives_[who]->member;
    what == news::alive ? hearer.on_alive(about + 1, incarnation) : hearer.on_dead(about + 1, incarnation);
  });
}

void cluster::note_end() {
  each_network([this](testing::sim_network& n) {
    seen_.saw(mark::crossing_connections, n.crossings() != 0);
    seen_.saw(mark::repeated_connection, n.repeated() != 0);
  });
  if (guards_) guards_->note_seen(seen_);
  seen_.saw(mark::gossip, has_gossip());
  seen_.saw(mark::several_rails, rails_ > 1);
  const auto refused = [this](stray_kind kind) { return refusals_[static_cast<std::size_t>(kind)] != 0; };
  seen_.saw(mark::repeated_refused, refused(stray_kind::repeated));
  seen_.saw(mark::stranger_refused, refused(stray_kind::stranger));
  seen_.saw(mark::earlier_life_refused, refused(stray_kind::bygone));
  for (const auto& [number, freight] : freights_.all())
    seen_.saw(mark::freight_went_up, freight.wrong.risen != 0);
  seen_.saw(mark::freight_stranger, freights_.strangers().opens != 0);
  seen_.saw(mark::freight_stale_order, freights_.strangers().orders != 0);
  for (const life& l : all_lives_) {
    if (l.member == nullptr) continue;
    seen_.saw(mark::repair_round, detail::node_access::engine(*l.member).statistics().repair_rounds != 0);
    seen_.saw(mark::freight_again, detail::node_access::engine(*l.member).statistics().bulk_rounds != 0);
    seen_.saw(mark::rail_left, l.member->wire().statistics().path_moves != 0);
    seen_.saw(mark::rail_lost, l.member->wire().statistics().rail_deaths != 0);
    seen_.saw(mark::read_by_right, l.member->wire().statistics().reads != 0);
    seen_.saw(mark::given_up_silent, l.member->wire().statistics().silences != 0);
    seen_.saw(mark::connection_replaced, l.member->wire().statistics().links_half_dead != 0);
    seen_.saw(mark::client_silent, l.member->wire().statistics().clients_silent != 0);
    seen_.saw(mark::client_gone, l.member->wire().statistics().clients_gone != 0);
    seen_.saw(mark::right_recalled, l.member->wire().statistics().recalls != 0);
    if (detail::node_access::engine(*l.member).statistics().late_creations != 0)
      seen_.saw(mark::creation_after_end);
  }
}

bool cluster::deaths_are_known() const noexcept {
  const auto living = std::count_if(lives_.begin(), lives_.end(), [](const life* l) { return l != nullptr; });
  return has_liveness_ && (!has_gossip() || living > 1);
}

void cluster::heal() {
  each_network([](testing::sim_network& n) { n.heal(); });
  outages_.clear();
  if (!has_liveness_ || has_gossip()) return;
  for (std::uint32_t who = 0; who < hosts(); ++who) {
    for (std::uint32_t about = 0; about < hosts(); ++about) {
      tell(who, about, news::alive);
      tell(who, about, news::dead);
    }
  }
}

}  // namespace scoll::sim
