#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "judge.hpp"
#include "scoll/coro/random.hpp"
#include "tests/cluster/process_cluster.hpp"

namespace scoll::test {

/// What a series of kills came to.
struct kill_report {
  std::uint64_t seed = 0;
  std::uint32_t kills = 0;      ///< each of an interior server, while a broadcast was under way
  std::uint32_t too_late = 0;   ///< storms that were over before the kill, and were repeated
  std::uint32_t comebacks = 0;  ///< of kills: how often the server was back while its loss was being repaired
  std::uint64_t broadcasts = 0, losses = 0, unknown = 0, not_reached = 0, refused = 0,
                executed = 0;     // see `verdict`
  std::uint64_t rounds = 0;       ///< further rounds in which the root asked again
  std::uint32_t asked_again = 0;  ///< kills after which it did
  std::uint32_t late_groups = 0;  ///< attempts to make a group before the killed server could be reached
  std::int64_t longest_ns = 0;    ///< the longest broadcast
  std::vector<std::string> faults;
};

/// Kills interior servers of a cluster of real processes again and again, each at a drawn moment of broadcasts
/// that are repaired, and starts each of them anew. Everything is drawn from a seed; what the processes and
/// the network make of it is not.
class kill_series {
 public:
  static constexpr std::uint32_t servers = 16;

  explicit kill_series(std::uint64_t seed);

  /// Kills one server. Throws if processes do not do as told, or are silent for half a minute.
  void kill_one();
  const kill_report& report() const noexcept { return report_; }
  /// Ends all processes in order.
  void end() { cluster_.quit_all(); }

 private:
  struct draw {
    tree_spec tree;
    std::uint32_t victim = 0;
    tally_board::plan how;
    std::uint32_t broadcasts_before = 0;  ///< the kill
    std::uint32_t us_before = 0;          ///< likewise, after that
    bool back_at_once = false;
  };

  draw next_draw();
  bool strike(const draw& d);
  void take(const verdict& v, const draw& d);

  random_generator random_;
  process_cluster cluster_;
  kill_report report_;
};

}  // namespace scoll::test
