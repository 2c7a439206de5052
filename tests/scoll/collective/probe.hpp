#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "cluster.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/sleep.hpp"
#include "tests/catch.hpp"

namespace scoll::test {

/// A record of the actions in a cluster of probes, and the orders for each probe, by rank.
struct probe_log {
  std::map<std::uint32_t, int> executed, replied, stopped;
  std::map<std::uint32_t, nanoseconds> work;  ///< time that `execute` takes; `usual` without an entry
  nanoseconds usual{0};
  std::set<std::uint32_t> stuck;  ///< `execute` ignores stops until `release`
  std::map<std::uint32_t, error> failing;
  event release;

  void clear() {
    executed.clear();
    replied.clear();
    stopped.clear();
  }
};

/// Adds up rank + 1 and follows the orders in the log.
struct probe {
  static constexpr service_id id{0x0201};
  static constexpr std::string_view name = "probe";
  static constexpr nanoseconds processing_bound = std::chrono::seconds(1);
  struct request {
    std::uint64_t factor = 1;
  };
  struct reply {
    sum<std::uint64_t> total;
    sum<std::uint32_t> members;
  };
  std::shared_ptr<probe_log> log = std::make_shared<probe_log>();

  task<result<reply>> execute(const request& r, bcast_context& c) {
    ++log->executed[c.rank()];
    const auto found = log->work.find(c.rank());
    const nanoseconds work = found == log->work.end() ? log->usual : found->second;
    if (work.count() != 0) {
      const status slept = co_await sleep_for(work, c.stop());
      if (!slept) {
        ++log->stopped[c.rank()];
        co_return slept.error();
      }
    }
    if (log->stuck.contains(c.rank())) co_await log->release.wait();
    if (log->failing.contains(c.rank())) co_return log->failing[c.rank()];
    co_return reply{{r.factor * (c.rank() + 1)}, {1}};
  }
  void replied(bcast_context& c) noexcept { ++log->replied[c.rank()]; }
};

inline std::uint64_t triangle(std::uint64_t n) {
  return n * (n + 1) / 2;
}

/// The tree of a group, in ranks.
class tree_view {
 public:
  tree_view(const tree_spec& spec, std::uint32_t n, std::uint32_t root)
      : tree_(any_tree::resolve(spec, n).value()), n_(n), root_(root) {}
  /// The tree of members that have places.
  tree_view(const tree_spec& spec, const std::vector<target>& members, std::uint32_t root)
      : tree_(any_tree::resolve(spec, static_cast<std::uint32_t>(members.size()), places(members, root))
                  .value()),
        n_(static_cast<std::uint32_t>(members.size())),
        root_(root) {}

  std::uint32_t parent(std::uint32_t rank) const {
    return to_rank(tree_.parent(n_, to_relative(rank, root_, n_)), root_, n_);
  }
  std::vector<std::uint32_t> children(std::uint32_t rank) const {
    std::vector<std::uint32_t> found;
    const std::uint32_t relative = to_relative(rank, root_, n_);
    for (std::uint32_t i = 0; i < tree_.fan_out(n_, relative); ++i)
      found.push_back(to_rank(tree_.child(n_, relative, i), root_, n_));
    return found;
  }
  /// Includes `top` itself.
  std::set<std::uint32_t> subtree(std::uint32_t top) const {
    std::set<std::uint32_t> found{top};
    for (const std::uint32_t child : children(top)) found.merge(subtree(child));
    return found;
  }
  std::uint32_t levels(std::uint32_t rank) const {
    return tree_.subtree_levels(n_, to_relative(rank, root_, n_));
  }
  std::uint32_t depth(std::uint32_t rank) const { return rank == root_ ? 0 : 1 + depth(parent(rank)); }

 private:
  static std::vector<member_place> places(const std::vector<target>& members, std::uint32_t root) {
    const auto n = static_cast<std::uint32_t>(members.size());
    std::vector<member_place> all;
    for (std::uint32_t r = 0; r < n; ++r) {
      const target& t = members[to_rank(r, root, n)];
      all.push_back({t.zone, t.host});
    }
    return all;
  }

  any_tree tree_;
  std::uint32_t n_;
  std::uint32_t root_;
};

/// Checks what holds for every answer, whatever happened: states agree with the executions, and the value
/// consists of exactly the merged members.
inline void check_account(const bcast_result<probe::reply>& r, probe_log& log, std::uint32_t n,
                          std::uint64_t factor = 1) {
  const outcome& o = r.outcome();
  INFO(describe(o));
  REQUIRE(o.members() == n);
  std::uint64_t total = 0;
  std::uint32_t members = 0;
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    INFO("rank " << rank << " executed " << log.executed[rank]);
    const member_state state = o.state(rank);
    REQUIRE(log.executed[rank] <= 1);
    if (state == member_state::merged || state == member_state::executed) REQUIRE(log.executed[rank] == 1);
    if (state == member_state::not_reached) REQUIRE(log.executed[rank] == 0);
    if (state == member_state::merged) {
      total += factor * (rank + 1);
      ++members;
      REQUIRE(o.why(rank).where == phase::none);
    } else {
      REQUIRE(o.why(rank).what.code() != errc::ok);
    }
  }
  REQUIRE(r.has_value() == (members != 0));
  if (r.has_value()) {
    REQUIRE(r->total.value == total);
    REQUIRE(r->members.value == members);
  }
  REQUIRE(r.ok() == (members == n));
  REQUIRE(o.clean() == r.ok());
}

/// Checks that every one of `ranks` is in this state for this reason.
inline void check_members(const outcome& o, const std::set<std::uint32_t>& ranks, member_state state,
                          phase where, errc code, std::uint32_t reporter) {
  for (const std::uint32_t rank : ranks) {
    INFO("rank " << rank << ": " << describe(o));
    REQUIRE(to_string(o.state(rank)) == to_string(state));
    REQUIRE(to_string(o.why(rank).where) == to_string(where));
    REQUIRE(to_string(o.why(rank).what.code()) == to_string(code));
    REQUIRE(o.why(rank).reporter == reporter);
  }
}

/// The groups that the running nodes hold, each counted at every node.
inline std::size_t groups_left(cluster& c) {
  std::size_t sum = 0;
  for (std::uint32_t i = 0; i < c.size(); ++i) sum += c.alive(i) ? c.engine(i).groups() : 0;
  return sum;
}

}  // namespace scoll::test
