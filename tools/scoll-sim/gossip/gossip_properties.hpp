#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/gossip/gossip_environment.hpp"
#include "tools/scoll-sim/gossip/gossip_faults.hpp"
#include "tools/scoll-sim/gossip/gossip_life.hpp"
#include "tools/scoll-sim/gossip/gossip_lives.hpp"

namespace scoll::sim {

/// The properties that must hold in every run of a swarm (docs/simulator.md). Each check adds what it finds
/// to the report of the environment.
class gossip_properties final : public gossip_change_listener {
 public:
  gossip_properties(gossip_environment& e, const gossip_lives& lives, const gossip_faults& faults)
      : environment_(e), lives_(lives), faults_(faults) {}

  /// Checks the state of every present participant; it may be called at any time.
  void check_states();
  /// Checks a change that a participant tells of.
  void on_change(gossip_life& by, const gossip::liveness_event& e) override;

  /// Checks that all participants hold each other alive. `property` is the name under which a violation is
  /// reported.
  void check_everybody(const char* property);
  /// Checks that all participants hold the host dead.
  void check_death(std::uint32_t host);
  void check_livelock();
  /// From here to the check one rail of all hosts is dead, and nothing else fails: every cycle is answered.
  void begin_dead_switch();
  void check_dead_switch();

  /// From now on no false verdict is forgiven.
  void settle() noexcept { settled_ = true; }
  /// The highest threshold that a participant has had so far, in cycles.
  std::uint32_t highest_threshold() const noexcept { return highest_threshold_; }

 private:
  /// A change, with the view of the same host that the participant had before.
  struct change {
    const gossip_life& by;
    gossip_life::view& before;
    const gossip::liveness_event& event;
    std::string text;
  };

  // Properties of states.
  void check_end(const gossip_life& l);
  void check_stealth(const gossip_life& l);
  void check_clock(const gossip_life& l);
  void check_reach(const gossip_life& l, std::uint32_t host);
  void note_threshold(const gossip_life& l);
  bool may_have_missed_much(std::uint32_t host) const;
  bool may_be_held_alive(const gossip_life& before, nanoseconds born) const;
  bool may_be_reached_by(const gossip_life& l, const gossip_life& gone) const;
  double cycles_to_reach() const { return highest_threshold_ + 6.0; }
  bool time_is_kept(nanoseconds since) const;

  // Properties of changes.
  void check_epoch(const change& c);
  void check_incarnation(const change& c);
  void check_self(const change& c);
  void check_news(const change& c);
  void check_repetition(const change& c);
  bool check_whom(const change& c, const gossip_life* whom);
  void check_verdict(const change& c, const gossip_life& whom);
  void check_revival(const change& c);
  bool cut_off_lately(std::uint32_t host) const;

  // Properties of a calm.
  void check_pair(const gossip_life& by, const gossip_life& of, const char* property);
  void check_odd_one();

  bool expected_to_agree(const gossip_life* l) const {
    return l != nullptr && !environment_.weather.odd(l->host);
  }
  nanoseconds isolated_until(std::uint32_t host) const { return faults_.isolated_until()[host]; }

  gossip_environment& environment_;
  const gossip_lives& lives_;
  const gossip_faults& faults_;
  std::uint32_t highest_threshold_ = 0;
  bool settled_ = false;
  std::vector<std::uint64_t> silent_cycles_;  // by host, when the switch died
};

}  // namespace scoll::sim
