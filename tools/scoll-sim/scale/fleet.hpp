#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "scoll/collective/membership.hpp"
#include "scoll/node.hpp"
#include "scoll/node_pools.hpp"
#include "tools/scoll-sim/scale/station.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

/// Real nodes on simulated hosts, in LogP's time. All of them hold one shared membership in which rank r has
/// the id r + 1, and work in shared pools. Each knows the addresses of the members that it will talk to.
class fleet {
 public:
  static constexpr std::uint64_t progress_step = 1U << 16;

  /// `called` names the run where its progress is shown on standard error; empty: it is not shown.
  fleet(std::uint32_t nodes, const testing::sim_link_model& wire, std::uint64_t seed, std::string called);

  std::uint32_t size() const noexcept { return size_; }
  const membership_ptr& members() const noexcept { return members_; }
  testing::sim_world& world() noexcept { return world_; }
  node& at(std::uint32_t rank) noexcept { return *stations_[rank].self; }

  /// Starts the next rank. `prepare` runs on its host, as its program.
  void boot(std::span<const std::uint32_t> neighbours, const std::function<void(node&)>& prepare);
  /// Ends a rank without a word: its connections stay half open, and nobody learns of its death by them for
  /// seconds.
  void kill(std::uint32_t rank);
  /// Runs `work` on the host of a rank.
  template <class Work>
  void enter(std::uint32_t rank, Work&& work) {
    stations_[rank].home.enter(std::forward<Work>(work));
  }
  /// Runs the world until `done` returns true, which is asked after each event. Returns false if nothing is
  /// left to happen before.
  template <class Done>
  bool run_until(const Done& done, const char* what, const std::uint32_t& count) {
    for (std::uint64_t steps = 0; !done(); ++steps) {
      if (!world_.step(time_limit)) return false;
      if (steps % (progress_step * 4) == 0) show(what, count);
    }
    return true;
  }

  /// Runs everything that happens in the next `d`.
  void run_for(nanoseconds d) noexcept { world_.run_until(world_.now() + d); }

  /// The sum of one number over the statistics of all endpoints.
  std::uint64_t sum_of(std::uint64_t transport::endpoint_statistics::* number);
  std::uint64_t events() const noexcept { return world_.events(); }
  std::uint64_t bytes() const noexcept { return network_.bytes_carried(); }

 private:
  static constexpr nanoseconds time_limit = std::chrono::hours(1);

  void show(const char* what, std::uint32_t count) const;

  std::uint32_t size_;
  std::string called_;
  testing::sim_world world_;
  testing::sim_network network_;
  std::shared_ptr<node_pools> pools_;
  membership_ptr members_;
  std::deque<station> stations_;
};

}  // namespace scoll::sim
