#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "scoll/coro/time.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/verbs/verbs_options.hpp"

namespace scoll::transport {
class verbs_api;
}  // namespace scoll::transport

namespace scoll::testing {

class fake_fabric;

/// What has happened on a fabric that only a bug brings about, and other counts.
struct fake_verbs_statistics {
  std::uint64_t receivers_not_ready = 0;  ///< SENDs that found no place
  std::uint64_t illegal_calls = 0;        ///< calls that a real device refuses
  std::uint64_t protection_errors = 0;    ///< memory that is not registered
  std::uint64_t access_errors = 0;        ///< READs without a right
  std::uint64_t stalled_reads = 0;        ///< READs beyond the depth of their queue pair
  std::uint64_t overruns = 0;             ///< of queues of completions
  std::uint64_t sends = 0;                ///< that were delivered
  std::uint64_t sends_under_way = 0;      ///< now
  std::uint64_t reads = 0;                ///< that were served to their end
  std::uint64_t read_bytes = 0;           ///< that were READ
  std::uint64_t most_reads = 0;           ///< under way at a time on a queue pair
  std::uint64_t largest_read = 0;         ///< in bytes
  std::uint64_t registrations = 0;        ///< of memory
  std::uint64_t queue_pairs = 0;          ///< that exist now
  std::uint64_t address_handles = 0;      ///< that exist now
  std::uint64_t windows_bound = 0;        ///< in all
  std::uint64_t windows_bound_now = 0;
  std::uint64_t not_taken = 0;  ///< completions that nobody has taken yet
  std::uint64_t wakeups = 0;    ///< of those who wait for completions
  std::uint64_t datagrams = 0;  ///< that were delivered

  // Datagrams that a device has dropped:
  std::uint64_t datagrams_too_long = 0;
  std::uint64_t wrong_queue_keys = 0;
  std::uint64_t datagrams_without_place = 0;
};

/// RDMA devices in virtual time, one for each host of a simulated network, whose wires they share. They
/// behave as real ones do where it matters: queue pairs have states; SENDs arrive in order, need a posted
/// place, and are tried again as often as their queue pair says; the memory of a SEND is read when it
/// arrives; bytes are there before their completion, which comes late; of several sends only those that were
/// signalled complete, and all of them after a failure, the first with its reason; READs move bytes piece by
/// piece at later moments, as long as queue pair and key allow it; queues have limits, and the overrun of a
/// queue of completions is fatal; calls that change queue pairs take time. Datagrams are lost, repeated, late
/// and out of order as the paths of the network say; those that are too long, or have the wrong queue key, or
/// find no place, are dropped without a word to anybody.
class fake_verbs {
 public:
  /// The network must outlive it.
  explicit fake_verbs(sim_network& network);
  ~fake_verbs();
  fake_verbs(const fake_verbs&) = delete;
  fake_verbs& operator=(const fake_verbs&) = delete;

  /// The devices of a host, for a `verbs_rail` of the same executor. Both must go before this.
  std::shared_ptr<transport::verbs_api> api(sim_executor& home, std::uint32_t host);
  fake_verbs_statistics statistics() const;

  // Faults:
  /// Call this after `sim_network::thaw`: a frozen host takes what has arrived meanwhile.
  void thaw(std::uint32_t host);
  /// The next SEND from one host to another is delivered, and then nothing gets through between their queue
  /// pairs, acknowledgements neither, until `heal`.
  void lose_all_after_next(std::uint32_t from, std::uint32_t to);
  void heal();
  /// The devices of a host register no more memory for READs, or do so again.
  void refuse_memory(std::uint32_t host, bool refused = true);
  /// The device of a host takes this many more sends and READs, then refuses the next, once.
  void refuse_send_after(std::uint32_t host, std::uint32_t count);
  /// The port of a host goes down, or comes up again. If `told` is false, no event says so.
  void set_port(std::uint32_t host, bool up, bool told = true);
  /// The device of a host fails, with all its queues.
  void fail_device(std::uint32_t host);
  /// How long calls take that change something.
  void set_control_time(nanoseconds time);
  /// The MTU of all ports, in bytes; 4096 before the first call.
  void set_mtu(std::uint32_t bytes);

 private:
  std::unique_ptr<fake_fabric> fabric_;
};

/// Options with few places and slabs, so that links wait for them, and with none of the patience that would
/// hide a SEND without a place.
transport::verbs_options scarce_verbs();

}  // namespace scoll::testing
