#include "tools/scoll-sim/guards/cluster_keys.hpp"

#include <algorithm>

#include "tools/scoll-sim/plan/draws.hpp"

namespace scoll::sim {
namespace {

testing::sim_key drawn_key(std::uint64_t seed, std::uint32_t number) {
  draws random(seed, "keys", number);
  return {number, random.next()};
}

}  // namespace

cluster_keys::cluster_keys(const testing::sim_handshake& form, std::uint64_t seed, std::uint32_t hosts)
    : form_(form), seed_(seed), steps_(hosts), present_(hosts) {}

testing::sim_ring cluster_keys::ring_after(std::uint32_t step) const {
  const testing::sim_key before = drawn_key(seed_, 1);
  const testing::sim_key after = drawn_key(seed_, 2);
  switch (step) {
    case 0: return {before};
    case 1: return {before, after};
    case 2: return {after, before};
    default: return {after};
  }
}

/// The side that connects comes to the end of its handshake first.
std::uint64_t cluster_keys::repeated_handshakes() const noexcept {
  const std::uint64_t made = counts_->proven - counts_->proven_accepting;
  return counts_->proven_accepting - std::min(counts_->proven_accepting, made);
}

std::uint32_t cluster_keys::offered_id() const {
  return ring_after(*std::ranges::max_element(steps_)).front().id;
}

testing::sim_key cluster_keys::foreign_key() const {
  return drawn_key(seed_, 3);
}

void cluster_keys::certify() noexcept {
  draws random(seed_, "authority");
  authority_ = random.next() | 1;
}

std::uint8_t cluster_keys::mode() const noexcept {
  constexpr std::uint8_t psk = 1;
  constexpr std::uint8_t tls = 2;
  return certified() ? tls : psk;
}

std::shared_ptr<transport::link_security> cluster_keys::made_for(std::uint32_t host, std::uint32_t named) {
  draws random(seed_, "nonces", ++lives_);
  present_[host] =
      std::make_shared<testing::sim_security>(form_, ring_after(steps_[host]), random.next(), counts_);
  if (certified()) present_[host]->certify(testing::sim_certificate::issued(authority_, named + 1));
  return present_[host];
}

bool cluster_keys::take(const events::rekey& e) {
  if (e.host >= steps_.size() || e.step > last_step || steps_[e.host] + 1 != e.step) return false;
  if (std::ranges::any_of(steps_, [&](std::uint32_t s) { return s + 1 < e.step; })) return false;
  steps_[e.host] = e.step;
  if (present_[e.host] != nullptr) present_[e.host]->use(ring_after(e.step));
  return true;
}

bool cluster_keys::changed() const noexcept {
  return std::ranges::all_of(steps_, [](std::uint32_t s) { return s == last_step; });
}

}  // namespace scoll::sim
