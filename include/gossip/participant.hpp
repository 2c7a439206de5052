#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gossip/event.hpp"
#include "gossip/options.hpp"
#include "gossip/snapshot.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/datagram.hpp"

namespace scoll::gossip {

/// One member of the gossip on a datagram port: pings another participant once in a
/// cycle, answers those who ping it, and tells who is alive. Memory is O(participants), reserved before the
/// first cycle; afterwards nothing is allocated. For its executor's thread.
class participant {
 public:
  /// `self` is its own address, one of `shared`, as the port prints it. Whatever is referred to outlives it.
  participant(executor& home, transport::datagram_port& port, configuration_ptr shared, std::string self,
              options chosen);
  ~participant();
  participant(const participant&) = delete;
  participant& operator=(const participant&) = delete;

  const configuration& shared() const noexcept { return *shared_; }
  participant_index self() const noexcept { return self_; }
  /// The incarnation it was made with.
  std::uint64_t own_incarnation() const noexcept { return options_.incarnation; }
  executor& get_executor() const noexcept { return home_; }
  participation stage() const noexcept;

  /// Told from now on, in order; the present state comes as no event.
  void subscribe(event_listener& listener) noexcept { listeners_.push_back(listener); }
  /// Of the latest event; 0 before the first.
  std::uint64_t epoch() const noexcept;

  // Cheap, at any time; of oneself: alive, in one's own life.
  liveness state(participant_index who) const noexcept;
  std::uint64_t incarnation(participant_index who) const noexcept;  ///< 0: not known yet
  reachability reach(participant_index who) const noexcept;
  std::uint64_t clock() const noexcept;
  std::uint32_t threshold() const noexcept;

  verdict explain(participant_index who) const noexcept;
  const counters& counts() const noexcept;
  /// Everything; allocates.
  snapshot take_snapshot() const;

 private:
  friend task<status> run(participant& p, stop_token stop);
  friend task<status> active(participant& p, stop_token stop);
  class loop;

  status prepare();
  void tell_stage(participation now) noexcept;
  template <class Tell>
  void tell(const Tell& tell) noexcept;

  executor& home_;
  transport::datagram_port& port_;
  configuration_ptr shared_;
  std::string own_address_;
  options options_;
  participant_index self_ = nobody;
  intrusive_list<event_listener, event_listener> listeners_;
  participation told_ = participation::idle;
  scoll::event left_stealth_;  // for good: it is active, or has ended
  std::unique_ptr<loop> loop_;
};

/// Binds the port at the participant's own address and takes part until stopped, which is success. Errors:
/// `invalid_argument` (what is wrong with options, address or configuration), what `bind` gives,
/// `wrong_cluster` (it disagrees with the others about the configuration: the text names parameter and peer),
/// `version_mismatch` (the same for the protocol version), `stale` (a later life of it is known already).
/// The port is closed when it returns. Once per participant.
task<status> run(participant& p, stop_token stop);

/// Waits until `p` takes part. Before that it only listens: others may still know the life before this one,
/// and broadcasts are to wait. Errors: `closed` (it has ended, or could not begin), `cancelled`.
task<status> active(participant& p, stop_token stop);

}  // namespace scoll::gossip
