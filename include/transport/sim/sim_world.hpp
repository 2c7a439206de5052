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

/// A host's clock: what it shows when the world began, and how much too fast it runs.
struct sim_clock {
  nanoseconds offset{std::chrono::seconds(1)};
  std::int64_t drift_ppm = 0;  ///< parts per million, -500,000 to 500,000
};

/// What is traced; the numbers are part of every trace hash.
enum class sim_trace : std::uint8_t {
  turn = 1,        ///< a host ran: how many nodes and timers
  delivery = 2,    ///< bytes reached a host: sender and size, checksum
  connection = 3,  ///< a connection was made: with whom
  broken = 4,      ///< a link ended: with whom, error code
  note = 5,        ///< whatever the driver of the world wants to have in the trace
  datagram = 6,    ///< one reached its port: sender and size, checksum
  lost = 7,        ///< one of this host's did not: receiver and size, `sim_loss`
};

/// One line of a trace.
struct sim_record {
  nanoseconds at{0};
  sim_trace kind = sim_trace::note;
  std::uint32_t host = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// What has to wait until a host has time for it. It may leave the list it is in at any time.
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

/// Nodes that were posted and have not run: first in, first out.
class posted_list {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  void push(posted_node& node) noexcept {
    node.next = nullptr;
    (last_ ? last_->next : first_) = &node;
    last_ = &node;
  }
  /// Moves all of `other` behind what is here.
  void append(posted_list& other) noexcept {
    if (other.empty()) return;
    (last_ ? last_->next : first_) = other.first_;
    last_ = other.last_;
    other.first_ = other.last_ = nullptr;
  }
  /// Runs what is here now, and says how many that were.
  std::size_t run_all() noexcept;

 private:
  posted_node* first_ = nullptr;
  posted_node* last_ = nullptr;
};

/// The executor of one life of one simulated host: its own ready list, timers and clock, driven by its world.
/// A life that has crashed is detached, and can then only be driven to its end in isolation.
class sim_executor : public executor {
 public:
  sim_executor(sim_world& world, std::uint32_t host, sim_clock clock);
  ~sim_executor() override;

  /// The host's own clock, which may be off and drift.
  time_point now() const noexcept override;
  void post(posted_node& node) noexcept override;
  /// The times of `occupy`.
  nanoseconds processor_time() const noexcept override { return worked_; }

  std::uint32_t host() const noexcept { return host_; }
  sim_world& world() const noexcept { return world_; }
  bool attached() const noexcept { return attached_; }

  /// Runs `work` as if on this host's thread, which then is due for a turn.
  template <class Work>
  void enter(Work&& work) {
    {
      const turn as_current(*this);
      std::forward<Work>(work)();
    }
    touch();
  }

  /// Neither runs nor receives until that point of the world's time.
  void stall_until(nanoseconds at) noexcept;
  /// Keeps its processor busy for `d` from now.
  void occupy(nanoseconds d) noexcept;
  /// Runs `waiter` in the world's time, outside the host, as soon as the host is neither stalled nor busy;
  /// after those that wait already. It should keep the host busy then.
  void when_available(sim_waiter& waiter) noexcept;
  /// When it can next do anything.
  nanoseconds available_at() const noexcept { return stalled_ > busy_ ? stalled_ : busy_; }
  /// Has to be called when something was scheduled on it from outside.
  void touch() noexcept;

  /// The world never drives it again; its clock goes on from timer to timer in `run_isolated`.
  void detach() noexcept;
  /// Drives a detached life until `done` returns true. False if it came to a standstill before that, or took
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

  /// What was posted, then what is ready or due: about `limit` nodes and timers. Returns how many ran.
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
  std::unique_ptr<gate> gate_;  // made when somebody has to wait
};

/// Virtual time for many hosts on one thread: picks the earliest event over all hosts and the network,
/// ties by network first, then the lowest host. Everything random comes from its seed; equal seeds give equal
/// traces with every compiler.
class sim_world {
 public:
  /// `remember`: keep the latest records of every host.
  sim_world(std::uint64_t seed, std::uint32_t hosts, bool remember = true);
  sim_world(const sim_world&) = delete;
  sim_world& operator=(const sim_world&) = delete;

  nanoseconds now() const noexcept { return now_; }
  random_generator& random() noexcept { return random_; }
  std::uint32_t hosts() const noexcept { return static_cast<std::uint32_t>(hosts_.size()); }
  /// The present life of a host; null while it is down.
  sim_executor* host(std::uint32_t index) const noexcept { return hosts_[index]; }

  /// A timer in the world's own time, outside all hosts.
  void arm(timer_node& node, nanoseconds at) noexcept;
  void disarm(timer_node& node) noexcept { timers_.remove(node); }

  /// Runs the earliest event, if there is one up to `until`.
  bool step(nanoseconds until) noexcept;
  /// Runs everything up to `until` and leaves the clock there.
  void run_until(nanoseconds until) noexcept;

  void record(sim_trace kind, std::uint32_t host, std::uint64_t first, std::uint64_t second) noexcept;
  /// Over all records so far, with their times.
  std::uint64_t trace_hash() const noexcept { return hash_; }
  /// Deliveries, timers and coroutine steps so far.
  std::uint64_t events() const noexcept { return events_; }
  /// The host that ran without end at one point in time, after which nothing runs any more; or `hosts()`.
  std::uint32_t livelocked() const noexcept { return livelocked_; }

  /// The latest records of a host, oldest first, if they are kept.
  std::vector<sim_record> latest(std::uint32_t host) const;
  /// Called with every record; for printing a trace.
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
