#include "tools/scoll-sim/rails/rails_guards.hpp"

#include <algorithm>
#include <chrono>

#include "tools/scoll-sim/guards/outsider_visit.hpp"
#include "tools/scoll-sim/plan/outsider_draws.hpp"

namespace scoll::sim {

using std::chrono::milliseconds;
using testing::sim_handshake;

rails_guards::rails_guards(std::uint64_t seed, const rails_plan& p) : plan_(p) {
  draws random(seed, "rails guards");
  if (!random.chance(1, 3) || !p.by_rdma.empty()) return;  // RDMA carries in the clear
  const auto rounds = static_cast<std::uint32_t>(random.between(1, sim_handshake::most_rounds));
  const auto bytes = static_cast<std::uint32_t>(random.magnitude(32, 4'000));
  const std::uint32_t hosts = p.hosts + p.claimed.has_value();
  keys_.emplace(sim_handshake{rounds, bytes}, seed, hosts);
  if (random.chance(1, 2)) draw_rekeys(random, hosts);
  draws names(seed, "rails certificates");
  if (names.chance(1, 2)) keys_->certify();
  draw_visits(seed);
}

rails_guards::~rails_guards() = default;

void rails_guards::draw_visits(std::uint64_t seed) {
  draws random(seed, "rails outsiders");
  if (!random.chance(1, 2)) return;
  for (std::uint64_t i = random.magnitude(4, most_outsiders); i-- != 0;) {
    const nanoseconds at = random.moment(milliseconds(10), plan_.faults_end);
    const std::size_t manners = keys_->certified() ? outsider_manners : manners_without_certificates;
    visits_.push_back({at, drawn_outsider(random, plan_.hosts, plan_.rails, manners)});
  }
  std::ranges::sort(visits_, {}, &plan_event::at);
}

void rails_guards::begin(testing::sim_world& world, testing::sim_network& network) {
  if (!visits_.empty()) strangers_ = std::make_unique<outsiders>(world, network, *keys_, "rails");
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

std::shared_ptr<transport::link_security> rails_guards::made_for_claimant() {
  return keys_ ? keys_->made_for(plan_.hosts, *plan_.claimed) : nullptr;
}

void rails_guards::pass(nanoseconds now) {
  for (; taken_ != rekeys_.size() && rekeys_[taken_].at <= now; ++taken_)
    keys_->take(std::get<events::rekey>(rekeys_[taken_].what));
  for (; strangers_ != nullptr && come_ != visits_.size() && visits_[come_].at <= now; ++come_) {
    const auto& visit = std::get<events::outsider>(visits_[come_].what);
    strangers_->begin(visit, rails_host::place(visit.to, visit.rail, plan_.hosts), 0);
  }
}

void rails_guards::check(const testing::sim_network& network,
                         const std::vector<std::unique_ptr<rails_host>>& hosts, violations& found) const {
  if (!keys_) return;
  if (network.unbound_frames() != 0)
    found.push_back({"an altered handshake leads nowhere", "frames passed between ends without one channel"});
  if (strangers_ != nullptr) return check_outsiders(hosts, network.world().now(), found);
  if (plan_.weather == rails_weather::altered || may_be_late()) return;
  for (const auto& h : hosts) {
    if (h->wire->statistics().not_authentic != 0)
      found.push_back({"the honest are believed", fmt::format("node {}: {}", h->wire->options().self,
                                                              describe(h->wire->last_refusal()))});
  }
}

/// A fault may keep from a host that its outsider is there, and from that one that it was turned away.
void rails_guards::check_outsiders(const std::vector<std::unique_ptr<rails_host>>& hosts, nanoseconds now,
                                   violations& found) const {
  constexpr nanoseconds leave_taking = milliseconds(500);
  for (const outsider_visit& v : strangers_->visits()) {
    const nanoseconds limit = hosts[v.how.to]->wire->options().hello_limit;
    const bool stays = v.connected && !v.over;
    if (v.let_in)
      found.push_back({"only holders of a key are let in",
                       fmt::format("an outsider of manner {} was", static_cast<int>(v.how.manner))});
    if (stays && now - v.came > limit + limit / 20 + leave_taking + longest_fault())
      found.push_back({"outsiders are turned away in time",
                       fmt::format("one of manner {} is there for {} ms", static_cast<int>(v.how.manner),
                                   (now - v.came) / milliseconds(1))});
  }
  for (const auto& h : hosts) {
    h->wire->sessions([&](const transport::session& s) {
      if (s.peer_incarnation() == outsiders::incarnation)
        found.push_back({"only holders of a key are let in",
                         fmt::format("an outsider has a session as node {}", s.peer())});
    });
  }
}

nanoseconds rails_guards::longest_fault() const noexcept {
  nanoseconds longest(0);
  for (const rails_fault& f : plan_.faults) longest = std::max(longest, f.until - f.at);
  return longest;
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
  if (strangers_ == nullptr) return;
  strangers_->note_seen(seen);
  seen.saw(mark::rail_outsider, std::ranges::any_of(strangers_->visits(), [](const outsider_visit& v) {
             return v.connected && v.over && !v.let_in;
           }));
}

}  // namespace scoll::sim
