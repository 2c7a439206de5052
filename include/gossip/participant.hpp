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

/// One member of the gossip on a datagram port. It pings one other participant in each cycle, answers pings,
/// and reports which participants are alive. Memory is O(participants) and reserved before the first cycle;
/// afterwards it allocates nothing. Thread: its executor's only.
class participant {
 public:
  /// `self` is the participant's own address, one of `shared`, as the port prints it. The executor, the port
  /// and what `chosen` refers to must outlive the participant.
  participant(executor& home, transport::datagram_port& port, configuration_ptr shared, std::string self,
              options chosen);
  ~participant();
  participant(const participant&) = delete;
  participant& operator=(const participant&) = delete;

  const configuration& shared() const noexcept { return *shared_; }
  participant_index self() const noexcept { return self_; }
  /// The incarnation that the options gave.
  std::uint64_t own_incarnation() const noexcept { return options_.incarnation; }
  executor& get_executor() const noexcept { return home_; }
  participation stage() const noexcept;

  /// Subscribes a listener to all further changes, in order. It gets no event for the present state.
  void subscribe(event_listener& listener) noexcept { listeners_.push_back(listener); }
  /// The epoch of the latest event; 0 before the first.
  std::uint64_t epoch() const noexcept;

  // These are cheap and may be called at any time. The participant itself is alive in its own incarnation.
  liveness state(participant_index who) const noexcept;
  std::uint64_t incarnation(participant_index who) const noexcept;  ///< 0: not known yet
  reachability reach(participant_index who) const noexcept;
  std::uint64_t clock() const noexcept;
  std::uint32_t threshold() const noexcept;

  verdict explain(participant_index who) const noexcept;
  const counters& counts() const noexcept;
  /// The whole state. It allocates.
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
  scoll::event left_stealth_;  // set for good when it is active or has ended
  std::unique_ptr<loop> loop_;
};

/// Binds the port at the participant's own address and takes part until stopped; a stop is success. Errors:
/// `invalid_argument` (what is wrong with options, address or configuration); the errors of `bind`;
/// `wrong_cluster` (it disagrees with the others about the configuration; the text names parameter and peer);
/// `version_mismatch` (it disagrees with the others about the protocol version); `stale` (a later life of it
/// is already known). The port is closed when this returns. Call it once per participant.
task<status> run(participant& p, stop_token stop);

/// Waits until `p` takes part. Until then it only listens, because others may still know its previous life,
/// and broadcasts must wait. Errors: `closed` (it has ended, or could not begin), `cancelled`.
task<status> active(participant& p, stop_token stop);

}  // namespace scoll::gossip
