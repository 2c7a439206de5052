#include <algorithm>

#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/guards/outsider_visit.hpp"

// The guards of connections, and those who try to get past them.
namespace scoll::sim {
namespace {

using testing::sim_handshake;

sim_handshake form_of(const events::guards& e) {
  sim_handshake form{std::clamp(e.rounds, 1U, sim_handshake::most_rounds), e.flight_bytes};
  if (!form.fits()) form.flight_bytes %= transport::link_guard::most_step_bytes;
  return form;
}

mark mark_of(outsider_manner how) {
  switch (how) {
    case outsider_manner::without_proof: return mark::outsider_without_proof;
    case outsider_manner::wrong_secret: return mark::outsider_wrong_secret;
    case outsider_manner::unknown_key: return mark::outsider_unknown_key;
    case outsider_manner::removed_key: return mark::outsider_removed_key;
    case outsider_manner::replay: return mark::outsider_replay;
    case outsider_manner::silent: return mark::outsider_silent;
    case outsider_manner::cut: return mark::outsider_cut;
    case outsider_manner::downgrade: return mark::outsider_downgrade;
    case outsider_manner::endless: return mark::outsider_endless;
    case outsider_manner::overlong: return mark::outsider_overlong;
  }
  return mark::outsider_silent;
}

}  // namespace

void cluster::guard_connections(const plan& p) {
  for (const plan_event& e : p.events) {
    const auto* const how = std::get_if<events::guards>(&e.what);
    if (how != nullptr) keys_ = std::make_unique<cluster_keys>(form_of(*how), p.seed, p.hosts);
  }
  if (keys_ != nullptr && world_.hosts() > p.hosts)
    outsiders_ = std::make_unique<outsiders>(world_, network_, *keys_);
}

void cluster::on(const events::rekey& e) {
  if (keys_ != nullptr) keys_->take(e);
}

void cluster::on(const events::outsider& e) {
  const life* const visited = living(e.to);
  if (outsiders_ == nullptr || visited == nullptr) return;
  outsiders_->begin(e, place_on_rail(e.to, e.rail % rails_, world_.hosts()), visited->number);
}

std::uint64_t cluster::unbound_frames() const noexcept {
  return network_.unbound_frames() + (bulk_network_ == nullptr ? 0 : bulk_network_->unbound_frames());
}

void cluster::note_guards() {
  if (keys_ == nullptr) return;
  const testing::sim_guard_counts& count = keys_->counts();
  seen_.saw(mark::guarded, count.proven != 0);
  seen_.saw(mark::guard_of_four_rounds, count.proven != 0 && keys_->form().rounds == sim_handshake::most_rounds);
  seen_.saw(mark::guard_in_parts, count.parted_flights != 0);
  seen_.saw(mark::guard_by_other_key, count.keys_not_first != 0);
  seen_.saw(mark::keys_changed, keys_->changed());
  seen_.saw(mark::handshake_altered, count.proofs_refused != 0 && outsiders_ == nullptr);
  seen_.saw(mark::handshake_forged, network_.forged() != 0);
  seen_.saw(mark::record_altered, count.records_refused != 0);
  if (outsiders_ == nullptr) return;
  for (std::size_t i = 0; i < outsider_manners; ++i) {
    const auto how = static_cast<outsider_manner>(i);
    seen_.saw(mark_of(how), outsiders_->turned_away(how) != 0);
  }
  seen_.saw(mark::outsiders_crowded, outsiders_->crowded_out() != 0);
}

}  // namespace scoll::sim
