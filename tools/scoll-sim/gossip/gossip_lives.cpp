#include "tools/scoll-sim/gossip/gossip_lives.hpp"

#include <utility>

namespace scoll::sim {

gossip_lives::~gossip_lives() {
  for (gossip_life& l : all_) {
    if (l.home.attached()) end(l);
  }
}

void gossip_lives::boot(std::uint32_t host) {
  if (present_[host] != nullptr) return;
  gossip_life& l = all_.emplace_back(environment_, *listener_, host);
  present_[host] = &l;
  l.begin();
}

void gossip_lives::crash(std::uint32_t host) {
  if (present_[host] == nullptr) return;
  gossip_life& l = *std::exchange(present_[host], nullptr);
  l.died = environment_.now();
  end(l);
  ++environment_.report.faults;
}

void gossip_lives::end(gossip_life& l) {
  if (!l.end()) environment_.violated("every life ends", l.name());
}

const gossip_life* gossip_lives::latest(std::uint32_t host) const {
  const gossip_life* found = nullptr;
  for (const gossip_life& l : all_) {
    if (l.host == host) found = &l;
  }
  return found;
}

const gossip_life* gossip_lives::find(std::uint32_t host, std::uint64_t incarnation) const {
  for (const gossip_life& l : all_) {
    if (l.host == host && l.incarnation == incarnation) return &l;
  }
  return nullptr;
}

const gossip_life* gossip_lives::before(const gossip_life& l) const {
  const gossip_life* found = nullptr;
  for (const gossip_life& other : all_) {
    if (other.host == l.host && other.born < l.born) found = &other;
  }
  return found;
}

}  // namespace scoll::sim
