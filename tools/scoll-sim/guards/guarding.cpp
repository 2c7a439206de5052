#include "tools/scoll-sim/guards/guarding.hpp"

#include <algorithm>

namespace scoll::sim {
namespace {

using testing::sim_handshake;

sim_handshake form_of(const events::guards& e) {
  return sim_handshake{std::clamp(e.rounds, 1U, sim_handshake::most_rounds), e.flight_bytes}.fitted();
}

}  // namespace

std::uint32_t guarding::outsiders_of(const plan& p) {
  return std::ranges::any_of(
      p.events, [](const plan_event& e) { return std::holds_alternative<events::outsider>(e.what); });
}

std::optional<guarding> guarding::of(const plan& p, testing::sim_world& world, testing::sim_network& network,
                                     const testing::sim_network* bulk) {
  std::optional<guarding> made;
  for (const plan_event& e : p.events) {
    const auto* const how = std::get_if<events::guards>(&e.what);
    if (how != nullptr) made = guarding(std::make_unique<cluster_keys>(form_of(*how), p.seed, p.hosts));
  }
  if (!made) return made;
  made->messages_ = &network;
  made->bulk_ = bulk;
  if (outsiders_of(p) != 0)
    made->strangers_ = std::make_unique<outsiders>(world, network, *made->keys_, "sim");
  return made;
}

void guarding::guard(std::uint32_t host, transport::endpoint_options& link) {
  link.security = keys_->made_for(host);
  if (strangers_ != nullptr) link.handshakes_per_host = outsiders::few_greetings;
}

void guarding::begin(const events::outsider& e, std::uint32_t place, std::uint64_t life) {
  if (strangers_ != nullptr) strangers_->begin(e, place, life);
}

std::uint64_t guarding::unbound_frames() const noexcept {
  return messages_->unbound_frames() + (bulk_ == nullptr ? 0 : bulk_->unbound_frames());
}

void guarding::note_seen(coverage& seen) const {
  const testing::sim_guard_counts& count = keys_->counts();
  seen.saw(mark::guarded, count.proven != 0);
  seen.saw(mark::guard_of_four_rounds,
           count.proven != 0 && keys_->form().rounds == sim_handshake::most_rounds);
  seen.saw(mark::guard_in_parts, count.parted_flights != 0);
  seen.saw(mark::guard_by_other_key, count.keys_not_first != 0);
  seen.saw(mark::keys_changed, keys_->changed());
  seen.saw(mark::handshake_altered, count.proofs_refused != 0 && strangers_ == nullptr);
  seen.saw(mark::handshake_forged, messages_->forged() != 0);
  seen.saw(mark::record_altered, count.records_refused != 0);
  if (strangers_ != nullptr) strangers_->note_seen(seen);
}

}  // namespace scoll::sim
