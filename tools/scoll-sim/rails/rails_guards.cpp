#include "tools/scoll-sim/rails/rails_guards.hpp"

#include <algorithm>

namespace scoll::sim {

using testing::sim_handshake;

rails_guards::rails_guards(std::uint64_t seed, const rails_plan& p) : plan_(p) {
  draws random(seed, "rails guards");
  if (!random.chance(1, 3) || !p.by_rdma.empty()) return;  // RDMA carries in the clear
  const auto rounds = static_cast<std::uint32_t>(random.between(1, sim_handshake::most_rounds));
  const auto bytes = static_cast<std::uint32_t>(random.magnitude(32, 4'000));
  const std::uint32_t hosts = p.hosts + p.claimed.has_value();
  keys_.emplace(sim_handshake{rounds, bytes}, seed, hosts);
  if (random.chance(1, 2)) draw_rekeys(random, hosts);
}

void rails_guards::draw_rekeys(draws& random, std::uint32_t hosts) {
  const nanoseconds share = plan_.faults_end / (2 * cluster_keys::last_step);
  for (std::uint32_t step = 1; step <= cluster_keys::last_step; ++step) {
    const nanoseconds from = (2 * step - 1) * share;
    for (std::uint32_t host = 0; host < hosts; ++host)
      rekeys_.push_back({random.moment(from, from + share), events::rekey{host, step}});
  }
  std::ranges::sort(rekeys_, {}, &plan_event::at);
}

std::shared_ptr<transport::link_security> rails_guards::made_for(std::uint32_t host) {
  return keys_ ? keys_->made_for(host) : nullptr;
}

void rails_guards::pass(nanoseconds now) {
  for (; taken_ != rekeys_.size() && rekeys_[taken_].at <= now; ++taken_)
    keys_->take(std::get<events::rekey>(rekeys_[taken_].what));
}

void rails_guards::check(const testing::sim_network& network,
                         const std::vector<std::unique_ptr<rails_host>>& hosts, violations& found) const {
  if (!keys_) return;
  if (network.unbound_frames() != 0)
    found.push_back({"an altered handshake leads nowhere", "frames passed between ends without one channel"});
  if (plan_.weather == rails_weather::altered || may_be_late()) return;
  for (const auto& h : hosts) {
    if (h->wire->statistics().not_authentic != 0)
      found.push_back({"the honest are believed", fmt::format("node {}: {}", h->wire->options().self,
                                                              describe(h->wire->last_refusal()))});
  }
}

bool rails_guards::may_be_late() const noexcept {
  const nanoseconds share = plan_.faults_end / (2 * cluster_keys::last_step);
  return !rekeys_.empty() &&
         std::ranges::any_of(plan_.faults, [&](const rails_fault& f) { return f.until - f.at > share / 2; });
}

void rails_guards::note_seen(coverage& seen) const {
  if (!keys_) return;
  seen.saw(mark::rail_guarded, keys_->counts().proven != 0);
  seen.saw(mark::rail_keys_changed, keys_->changed() && keys_->counts().keys_not_first != 0);
}

}  // namespace scoll::sim
