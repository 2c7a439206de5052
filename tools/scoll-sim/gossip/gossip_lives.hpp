#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "tools/scoll-sim/gossip/gossip_environment.hpp"
#include "tools/scoll-sim/gossip/gossip_life.hpp"

namespace scoll::sim {

/// All lives of a swarm's hosts, in the order of their births. A life stays here after its death.
class gossip_lives {
 public:
  explicit gossip_lives(gossip_environment& e) : environment_(e), present_(e.hosts, nullptr) {}
  ~gossip_lives();
  gossip_lives(const gossip_lives&) = delete;
  gossip_lives& operator=(const gossip_lives&) = delete;

  /// Sets who is told of changes; call this before the first boot.
  void report_to(gossip_change_listener& l) noexcept { listener_ = &l; }

  /// Begins a life, unless the host has one.
  void boot(std::uint32_t host);
  /// Ends the host's present life, if it has one.
  void crash(std::uint32_t host);

  const std::deque<gossip_life>& all() const noexcept { return all_; }
  /// By host; null while the host is down.
  std::span<gossip_life* const> present() const noexcept { return present_; }
  /// The host's present or last life. Null if it has had none.
  const gossip_life* latest(std::uint32_t host) const;
  /// Null if there was no such life.
  const gossip_life* find(std::uint32_t host, std::uint64_t incarnation) const;
  /// The life of the same host before `l`. Null if that is the first.
  const gossip_life* before(const gossip_life& l) const;

 private:
  void end(gossip_life& l);

  gossip_environment& environment_;
  gossip_change_listener* listener_ = nullptr;
  std::deque<gossip_life> all_;
  std::vector<gossip_life*> present_;
};

}  // namespace scoll::sim
