#include "tools/scoll-sim/guards/cluster_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tools/scoll-sim/plan/draws.hpp"

namespace scoll::sim {
namespace {

std::string key_text(std::uint64_t seed, std::uint64_t number) {
  draws random(seed, "keys", number);
  std::string text;
  for (int word = 0; word < 4; ++word) text += fmt::format("{:016x}", random.next());
  return text + "\n";
}

}  // namespace

cluster_keys::cluster_keys(const testing::sim_handshake& form, std::uint64_t seed, std::uint32_t hosts)
    : form_(form), seed_(seed), steps_(hosts), present_(hosts) {}

transport::key_ring cluster_keys::ring_after(std::uint32_t step) const {
  const std::string before = key_text(seed_, 1);
  const std::string after = key_text(seed_, 2);
  const std::string rings[]{before, before + after, after + before, after};
  return transport::key_ring::parse(rings[std::min(step, last_step)]).value();
}

std::uint32_t cluster_keys::offered_id() const {
  return ring_after(*std::ranges::max_element(steps_)).sealing().id;
}

transport::key_ring cluster_keys::foreign_ring() const {
  return transport::key_ring::parse(key_text(seed_, 3)).value();
}

std::shared_ptr<transport::link_security> cluster_keys::made_for(std::uint32_t host) {
  draws random(seed_, "nonces", ++lives_);
  present_[host] =
      std::make_shared<testing::sim_security>(form_, ring_after(steps_[host]), random.next(), counts_);
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
