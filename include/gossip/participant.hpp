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

/// One member of the gossip, on a datagram port for each of its addresses. It pings one other participant in
/// each cycle, answers pings, and reports which participants are alive. Memory is O(participants) and
/// reserved before the first cycle; afterwards it allocates nothing. Thread: its executor's only.
class participant {
 public:
  /// Makes a participant that has one address. `self` is that address, one of `shared`, as the port prints
  /// it. The executor, the port and what `chosen` refers to must outlive the participant.
  participant(executor& home, transport::datagram_port& port, configuration_ptr shared, std::string self,
              options chosen);
  /// Makes a participant by its id, one of `shared`. `ports` has a port for each of its addresses, in the
  /// order of the rails. The executor, the ports and what `chosen` refers to must outlive the participant.
  participant(executor& home, std::vector<transport::datagram_port*> ports, configuration_ptr shared,
              participant_id self, options chosen);
  ~participant();
  participant(const participant&) = delete;
  participant& operator=(const participant&) = delete;

  const configuration& shared() const noexcept { return *shared_; }
  participant_index self() const noexcept { return self_; }
  /// Takes in that the participant with an id has just been heard in an incarnation, but not by a message of
  /// the gossip: an answered probe of a session, say. It has the effect of a message from that participant.
  /// An unknown id, an earlier incarnation than the known one, and this participant itself have none. The
  /// caller must know that the other's own gossip still runs: this keeps it alive for all participants.
  void heard(participant_id who, std::uint64_t incarnation) noexcept;

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

  status check_self() const;
  void close_ports() noexcept;
  bool ports_open() const noexcept;

  executor& home_;
  std::vector<transport::datagram_port*> ports_;  // by rail
  configuration_ptr shared_;
  std::string given_self_;  // as the caller named it
  options options_;
  participant_index self_ = nobody;
  std::size_t bound_ = 0;  // of the ports; another owner may have bound one of the others
  intrusive_list<event_listener, event_listener> listeners_;
  participation told_ = participation::idle;
  scoll::event left_stealth_;  // set for good when it is active or has ended
  std::unique_ptr<loop> loop_;
};

/// Binds each port at the participant's own address on that rail and takes part until stopped; a stop is
/// success. Errors: `invalid_argument` (what is wrong with options, addresses or configuration, or there are
/// more or fewer ports than own addresses); `duplicate_target` (two addresses are the same); the errors of
/// `bind`; `wrong_cluster` (it disagrees with the others about the configuration; the text names parameter
/// and peer); `version_mismatch` (it disagrees with the others about the protocol version); `stale` (a later
/// life of it is already known). The ports are closed when this returns. Call it once per participant.
task<status> run(participant& p, stop_token stop);

/// Waits until `p` takes part. Until then it only listens, because others may still know its previous life,
/// and broadcasts must wait. Errors: `closed` (it has ended, or could not begin), `cancelled`.
task<status> active(participant& p, stop_token stop);

}  // namespace scoll::gossip
