#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gossip/liveness/cluster_clock.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/study/gossip_study.hpp"
#include "tools/scoll-sim/study/gossip_wheel.hpp"

namespace scoll::sim {

constexpr std::int64_t study_interval = 1'000'000;  ///< virtual time is counted in millionths of an interval

/// One participant of a studied cluster.
struct study_node {
  explicit study_node(const study_case& c) : clock(c.clock, c.interval) {}

  gossip::cluster_clock clock;
  std::int64_t period = study_interval;
  std::int64_t phase = 0;
  std::int64_t stalled_until = 0;
  bool alive = true;
  bool answered = false;
  std::uint32_t attempts = 0;
  std::uint64_t cycle = 0;
  std::array<std::uint32_t, 16> tried{};
};

/// An object that a cluster tells what happens. Each function does nothing unless it is overridden.
class study_watcher {
 public:
  /// A node has begun a cycle with these ages; its clock may have waited for others.
  virtual void on_tick(std::uint32_t /*host*/, std::span<const std::uint8_t> /*ages*/, bool /*waited*/) {}
  virtual void on_ping() {}
  /// A message has arrived: the receiver's clock, and the clock in the message.
  virtual void on_arrival(std::uint64_t /*own*/, std::uint64_t /*heard*/) {}
  /// A node answers with these ages; those that it leaves out are `never_heard`.
  virtual void on_answer(std::span<const std::uint8_t> /*ages*/) {}

 protected:
  ~study_watcher() = default;
};

/// A cluster as docs/gossip.md describes it, made of the clocks, ages and thresholds of the real participant.
/// It is a function of its case, including the seed.
class study_cluster {
 public:
  explicit study_cluster(const study_case& c);

  const study_case& described() const noexcept { return case_; }
  /// The number of participants, from the first, whose ages are tracked.
  std::uint32_t columns() const noexcept { return columns_; }
  std::uint32_t threshold() const noexcept { return threshold_; }
  std::uint32_t living() const noexcept { return living_; }
  bool alive(std::uint32_t host) const noexcept { return nodes_[host].alive; }
  std::int64_t now() const noexcept { return now_; }

  /// The highest clock of the living, except for the fast node's.
  std::uint64_t highest_clock() const;
  /// The lowest clock of those that live and do not stand still.
  std::uint64_t lowest_clock() const;

  void run_until(std::int64_t end);
  /// Draws a number below `bound` with the cluster's own generator.
  std::int64_t draw(std::int64_t bound);

  void kill(std::uint32_t host);
  /// The node returns with the state it had, and begins a cycle at a random time of the next interval.
  void revive(std::uint32_t host);
  /// If so, nodes now and then ping one that they hold dead; otherwise they never do.
  void probe_the_dead(bool so) noexcept { probes_the_dead_ = so; }

  /// From now on `w` is told what happens, or nobody if it is null.
  void tell(study_watcher* w) noexcept { watcher_ = w; }

 private:
  struct letter {
    std::uint32_t from = 0, to = 0;
    bool reply = false;
    std::uint64_t clock = 0;
    std::uint64_t cycle = 0;  // of the node that pings
  };

  void make_nodes();
  void set_apart(study_node& n, std::uint32_t index);
  void forget_the_dead();
  void schedule(std::int64_t at, std::uint32_t index, study_event what);
  time_point local(const study_node& n) const;
  void happen(const study_occasion& o);
  void stall_somebody();

  bool stamps() const noexcept { return case_.ages == gossip::age_rule::guarded_stamps; }
  std::uint8_t* ages_of(std::uint32_t host) noexcept { return ages_.data() + std::size_t{host} * columns_; }
  std::uint8_t* content_of(std::uint32_t slot) noexcept {
    return contents_.data() + std::size_t{slot} * columns_;
  }
  void keep_own_age(std::uint32_t host) noexcept {
    if (host < columns_) ages_of(host)[host] = 0;
  }
  void move_clock(std::uint32_t host, std::uint64_t before, std::uint64_t after);
  void tick(std::uint32_t host, study_node& n);
  void begin_cycle(std::uint32_t host, study_node& n);
  void ping(std::uint32_t host, study_node& n);
  void retry(std::uint32_t host, study_node& n);
  std::uint32_t choose(std::uint32_t host, const study_node& n);
  bool held_dead(std::uint32_t host, std::uint32_t whom);
  std::uint32_t loss_ppm(const letter& l) const;
  void post(const letter& l, const std::uint8_t* ages);
  std::uint32_t take_slot();
  void arrive(std::uint32_t slot, study_node& n);
  void answer(const letter& l, std::uint8_t* heard, int shift);

  const study_case case_;
  random_generator random_;
  const std::uint32_t columns_;
  const std::uint32_t threshold_;
  study_watcher* watcher_ = nullptr;
  std::vector<study_node> nodes_;
  std::vector<std::uint8_t> ages_;  // a row of columns for each node
  std::uint32_t living_ = 0;
  bool probes_the_dead_ = false;

  gossip_wheel queue_;
  std::uint64_t order_ = 0;
  std::int64_t now_ = 0;
  std::vector<letter> letters_;
  std::vector<std::uint8_t> contents_;  // a row of columns for each letter
  std::vector<std::uint32_t> idle_;     // letters
  std::vector<std::uint8_t> reply_;
};

}  // namespace scoll::sim
