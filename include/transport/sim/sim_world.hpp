#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/random.hpp"
#include "transport/sim/wake_queue.hpp"

namespace scoll::testing {

class sim_world;

/// A host's clock: the time that it showed when the world began, and how much too fast it runs.
struct sim_clock {
  nanoseconds offset{std::chrono::seconds(1)};
  std::int64_t drift_ppm = 0;  ///< parts per million, -500,000 to 500,000
};

/// The kinds of trace records. The numbers are part of every trace hash.
enum class sim_trace : std::uint8_t {
  turn = 1,        ///< a host ran: how many nodes and timers
  delivery = 2,    ///< bytes reached a host: sender and size, checksum
  connection = 3,  ///< a connection was made: with whom
  broken = 4,      ///< a link ended: with whom, error code
  note = 5,        ///< a record that the driver of the world adds
  datagram = 6,    ///< a datagram reached its port: sender and size, checksum
  lost = 7,        ///< a datagram of this host was lost: receiver and size, `sim_loss`
};

/// One record of a trace.
struct sim_record {
  nanoseconds at{0};
  sim_trace kind = sim_trace::note;
  std::uint32_t host = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// Work that waits until a host has time for it. It may leave its list at any time.
class sim_waiter : public list_hook<sim_waiter> {
 public:
  using function = void (*)(sim_waiter&) noexcept;

 protected:
  explicit sim_waiter(function run) noexcept : run_(run) {}
  ~sim_waiter() = default;

 private:
  friend class sim_executor;
  function run_;
};

/// The nodes that were posted and have not run: first in, first out.
class posted_list {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  void push(posted_node& node) noexcept {
    node.next = nullptr;
    (last_ ? last_->next : first_) = &node;
    last_ = &node;
  }
  /// Moves all nodes of `other` to the end of this list.
  void append(posted_list& other) noexcept {
    if (other.empty()) return;
    (last_ ? last_->next : first_) = other.first_;
    last_ = other.last_;
    other.first_ = other.last_ = nullptr;
  }
  /// Runs the nodes that are in the list now. Returns how many they were.
  std::size_t run_all() noexcept;

 private:
  posted_node* first_ = nullptr;
  posted_node* last_ = nullptr;
};

/// The executor of one life of one simulated host. It has its own ready list, timers and clock, and its world
/// drives it. The executor of a crashed life is detached and can then only be driven to its end in isolation.
class sim_executor : public executor {
 public:
  sim_executor(sim_world& world, std::uint32_t host, sim_clock clock);
  ~sim_executor() override;

  /// The time of the host's own clock, which may be off and drift.
  time_point now() const noexcept override;
  void post(posted_node& node) noexcept override;
  /// The sum of the times given to `occupy`.
  nanoseconds processor_time() const noexcept override { return worked_; }

  std::uint32_t host() const noexcept { return host_; }
  sim_world& world() const noexcept { return world_; }
  bool attached() const noexcept { return attached_; }

  /// Runs `work` as if on this host's thread. The host is then due for a turn.
  template <class Work>
  void enter(Work&& work) {
    {
      const turn as_current(*this);
      std::forward<Work>(work)();
    }
    touch();
  }

  /// The host neither runs nor receives until that point of the world's time.
  void stall_until(nanoseconds at) noexcept;
  /// Keeps the host's processor busy for `d` from now.
  void occupy(nanoseconds d) noexcept;
  /// Runs `waiter` in the world's time, outside the host, as soon as the host is neither stalled nor busy,
  /// and after earlier waiters. The waiter should then keep the host busy.
  void when_available(sim_waiter& waiter) noexcept;
  /// The time at which the host can next do anything.
  nanoseconds available_at() const noexcept { return stalled_ > busy_ ? stalled_ : busy_; }
  /// Call this after scheduling something on the executor from outside.
  void touch() noexcept;

  /// Detaches the executor: the world never drives it again, and its clock goes from timer to timer in
  /// `run_isolated`.
  void detach() noexcept;
  /// Drives a detached life until `done` returns true. False if nothing was left to run before that, or after
  /// `limit` turns.
  template <class Done>
  bool run_isolated(Done&& done, std::size_t limit) {
    while (limit-- != 0) {
      run_turn(turn_limit);
      if (done()) return true;
      if (!has_ready() && !advance_isolated()) return false;
    }
    return false;
  }

 protected:
  static constexpr std::size_t turn_limit = 1'000'000;

  /// Runs what was posted, then what is ready or due: about `limit` nodes and timers. Returns how many ran.
  std::size_t run_turn(std::size_t limit) noexcept;
  time_point local_time(nanoseconds global) const noexcept;
  nanoseconds global_time(time_point local) const noexcept;

  posted_list posted_;

 private:
  friend class sim_world;
  struct gate;

  bool advance_isolated() noexcept;
  nanoseconds wake_at() const noexcept;

  sim_world& world_;
  std::uint32_t host_;
  sim_clock clock_;
  bool attached_ = true;
  time_point isolated_now_{};
  nanoseconds stalled_{0};
  nanoseconds busy_{0};
  nanoseconds worked_{0};
  std::unique_ptr<gate> gate_;  // made when the first waiter has to wait
};

/// Virtual time for many hosts on one thread. The world picks the earliest event over all hosts and the
/// network; among equal times the network comes first, then the lowest host. Everything random comes from its
/// seed. Equal seeds give equal traces with every compiler.
class sim_world {
 public:
  /// If `remember`, the world keeps the latest records of every host.
  sim_world(std::uint64_t seed, std::uint32_t hosts, bool remember = true);
  sim_world(const sim_world&) = delete;
  sim_world& operator=(const sim_world&) = delete;

  nanoseconds now() const noexcept { return now_; }
  random_generator& random() noexcept { return random_; }
  std::uint32_t hosts() const noexcept { return static_cast<std::uint32_t>(hosts_.size()); }
  /// The present life of a host; null while the host is down.
  sim_executor* host(std::uint32_t index) const noexcept { return hosts_[index]; }

  /// Arms a timer in the world's own time, outside all hosts.
  void arm(timer_node& node, nanoseconds at) noexcept;
  void disarm(timer_node& node) noexcept { timers_.remove(node); }

  /// Runs the earliest event if there is one up to `until`. Returns true if it did.
  bool step(nanoseconds until) noexcept;
  /// Runs everything up to `until` and leaves the clock there.
  void run_until(nanoseconds until) noexcept;

  void record(sim_trace kind, std::uint32_t host, std::uint64_t first, std::uint64_t second) noexcept;
  /// The hash of all records so far, with their times.
  std::uint64_t trace_hash() const noexcept { return hash_; }
  /// The number of deliveries, timers and coroutine steps so far.
  std::uint64_t events() const noexcept { return events_; }
  /// The host that ran without end at one point in time, after which nothing runs any more. `hosts()` if
  /// there is none.
  std::uint32_t livelocked() const noexcept { return livelocked_; }

  /// The latest records of a host, oldest first, if they are kept.
  std::vector<sim_record> latest(std::uint32_t host) const;
  /// A function called with every record, for printing a trace.
  using observer = void (*)(const sim_record&);
  void observe(observer function) noexcept { observer_ = function; }

 private:
  friend class sim_executor;
  friend class virtual_executor;
  static constexpr std::size_t remembered = 8;
  static constexpr nanoseconds no_time = wake_queue::no_time;
  struct history {
    std::array<sim_record, remembered> records;
    std::size_t next = 0;
  };

  nanoseconds now_{0};
  random_generator random_;
  timer_heap timers_;
  std::vector<sim_executor*> hosts_;
  wake_queue wakes_;
  std::vector<history> histories_;
  std::uint64_t hash_ = 0xcbf29ce484222325;
  std::uint64_t events_ = 0;
  std::uint32_t livelocked_;
  observer observer_ = nullptr;
};

}  // namespace scoll::testing
