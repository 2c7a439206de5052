#include "tools/scoll-sim/exhaust/revoke_engine.hpp"

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/collective/bcast.hpp"
#include "scoll/collective/binomial_graph.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/notice_head.hpp"
#include "scoll/collective/revocation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/node_access.hpp"
#include "scoll/ship/ship.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace scoll::sim {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A service whose members wait until they are stopped, or answer at once.
struct waiting {
  static constexpr service_id id{0x0301};
  static constexpr std::string_view name = "waiting";
  struct request {
    std::uint32_t waits = 0;
  };
  struct reply {
    sum<std::uint32_t> members;
  };
  task<result<reply>> execute(const request& r, bcast_context& c) {
    if (r.waits != 0) {
      const status slept = co_await sleep_for(seconds(30), c.stop());
      if (!slept) co_return slept.error();
    }
    co_return reply{{1}};
  }
};

constexpr remote_function<std::uint32_t, std::uint32_t> wait_for_long{"exhaust.wait"};

/// A member that dies, and how many of its notices leave before.
struct death {
  std::uint32_t rank = 0;
  std::size_t notices = 0;
};

constexpr std::uint32_t all_members = UINT32_MAX;

/// Real nodes in virtual time, with one group that some of them hold. If all do, they have contact with each
/// other.
class small_cluster {
 public:
  explicit small_cluster(std::uint32_t n, std::uint32_t holders = all_members)
      : network_(ex_.world(), 65'536, n), running_(ex_) {
    network_.common_path().model = testing::sim_link_model::ideal(microseconds(10));
    std::vector<target> targets;
    for (std::uint32_t i = 0; i < n; ++i) {
      rails_.push_back(std::make_unique<testing::sim_rail>(network_, ex_, i));
      targets.push_back({i + 1, {}});
    }
    members_ = membership::make(std::move(targets)).value();
    for (std::uint32_t i = 0; i < n; ++i) start(i, n, (holders >> i & 1U) != 0);
    for (std::uint32_t i = 0; i < n && holders == all_members; ++i) running_.spawn(broadcast(i, 0));
    ex_.run_for(milliseconds(5));
  }
  ~small_cluster() {
    for (std::uint32_t i = 0; i < size(); ++i) bring_back(i);
    ex_.run_for(seconds(40));
    sync_wait(ex_, join());
    for (auto& n : nodes_) sync_wait(ex_, n->shutdown(seconds(1))).ignore();
    nodes_.clear();
    ex_.run_until_idle();
  }
  small_cluster(const small_cluster&) = delete;
  small_cluster& operator=(const small_cluster&) = delete;

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(rails_.size()); }
  bool knows(std::uint32_t i) const {
    if (!groups_[i].valid()) return false;
    const auto held = engine(i).find_group(groups_[i].id());
    return held != nullptr && held->revoked != nullptr;
  }
  /// True if a member has begun a broadcast that has not ended.
  bool broadcasts(std::uint32_t i) const noexcept { return begun_[i] != ended_[i]; }
  /// The code of the error with which a member's last broadcast has ended; `ok` if it succeeded.
  errc end_of(std::uint32_t i) const noexcept { return last_end_[i]; }

  /// The members that one tells, in order, if it holds nobody dead.
  std::vector<std::uint32_t> told_by(std::uint32_t i) const {
    detail::notice_head notice;
    const tree_spec tree = node_options().revoke_tree;
    notice.tree_kind = tree.kind;
    notice.tree = tree.params;
    return targets_of(*engine(i).find_group(groups_[i].id()), notice, {}, 0).living;
  }
  /// Makes sure that no more notices of a member get through.
  void silence(const death& d) {
    const auto told = told_by(d.rank);
    for (std::size_t k = d.notices; k < told.size(); ++k)
      network_.path(d.rank, told[k]).model = testing::sim_link_model::ideal(hours(1));
  }
  void begin_broadcasts() {
    for (std::uint32_t i = 0; i < size(); ++i) running_.spawn(broadcast(i, 1));
    ex_.run_for(microseconds(500));
  }
  /// Makes each member call all others more often than they take calls at a time, so that requests wait for
  /// credit everywhere.
  void begin_calls() {
    for (std::uint32_t i = 0; i < size(); ++i) {
      for (std::uint32_t k = 0; k < 40 * size(); ++k) {
        if (k % size() != i) running_.spawn(call(i, k % size()));
      }
    }
  }
  void revoke(std::uint32_t by) { running_.spawn(revoke_now(by)); }
  void run(nanoseconds time) { ex_.run_for(time); }
  void kill(std::uint32_t i) {
    for (std::uint32_t j = 0; j < size(); ++j) {
      if (j == i) continue;
      network_.cut(i, j);
      network_.refuse(j, i);
      network_.refuse(i, j);
    }
  }

 private:
  detail::engine& engine(std::uint32_t i) const { return detail::node_access::engine(*nodes_[i]); }

  void start(std::uint32_t i, std::uint32_t n, bool holds) {
    node_options options;
    options.id = i + 1;
    options.cluster = "exhaust";
    options.incarnation = 1;
    options.link.window = {8, 8, 2, 2};
    nodes_.push_back(std::make_unique<node>(ex_, *rails_[i], options));
    nodes_[i]->listen(testing::sim_network::address_of(i)).value();
    for (std::uint32_t j = 0; j < n; ++j) {
      if (j != i) nodes_[i]->add_peer(j + 1, testing::sim_network::address_of(j)).value();
    }
    nodes_[i]->serve(waiting{}).value();
    const auto wait = [](const std::uint32_t&, call_context& call) -> task<result<std::uint32_t>> {
      const status slept = co_await sleep_for(seconds(30), call.stop());
      if (!slept) co_return slept.error();
      co_return 0;
    };
    nodes_[i]->serve(wait_for_long, wait).value();
    groups_.emplace_back();
    if (holds) groups_[i] = nodes_[i]->adopt_group<waiting>(1, members_, {.tree = flat{}}).value();
    begun_.push_back(0);
    ended_.push_back(0);
    last_end_.push_back(errc::ok);
  }
  task<void> broadcast(std::uint32_t i, std::uint32_t waits) {
    ++begun_[i];
    auto r = co_await bcast(groups_[i], {waits}, {.deadline = seconds(20)});
    last_end_[i] = r.ok() ? errc::ok : r.status().error().code();
    ++ended_[i];
  }
  task<void> call(std::uint32_t from, std::uint32_t to) {
    const std::uint32_t nothing = 0;
    auto r = co_await ship(*nodes_[from], to + 1, wait_for_long, nothing, {.deadline = seconds(10)});
    static_cast<void>(r.has_value());
  }
  task<void> revoke_now(std::uint32_t by) {
    const auto told = co_await groups_[by].revoke(1);
    static_cast<void>(told.has_value());
  }
  task<void> join() { co_await running_.join(); }
  void bring_back(std::uint32_t i) {
    for (std::uint32_t j = 0; j < size(); ++j) {
      if (j == i) continue;
      network_.path(i, j).model = testing::sim_link_model::ideal(microseconds(10));
      network_.admit(j, i);
      network_.admit(i, j);
    }
  }

  testing::virtual_executor ex_;
  testing::sim_network network_;
  membership_ptr members_;
  std::vector<std::unique_ptr<testing::sim_rail>> rails_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::vector<group<waiting>> groups_;
  std::vector<std::uint32_t> begun_, ended_;
  std::vector<errc> last_end_;
  scope running_;
};

bool dies(const std::vector<death>& deaths, std::uint32_t rank) {
  for (const death& d : deaths) {
    if (d.rank == rank) return true;
  }
  return false;
}

/// Returns what went wrong, or nothing.
std::string revoke_with(std::uint32_t n, const std::vector<death>& deaths) {
  small_cluster c(n);
  c.begin_broadcasts();
  for (const death& d : deaths) c.silence(d);
  c.revoke(0);
  // A member dies as soon as the notices that leave it have left, a turn after it has heard.
  std::vector<bool> dead(n);
  for (int step = 0; step < 20; ++step) {
    c.run(microseconds(5));
    for (const death& d : deaths) {
      if (dead[d.rank] || !c.knows(d.rank)) continue;
      c.kill(d.rank);
      dead[d.rank] = true;
    }
  }
  c.run(milliseconds(5));
  std::uint32_t survivors = 0, heard = 0, waiting_still = 0, otherwise = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (dies(deaths, i)) continue;
    ++survivors;
    heard += c.knows(i);
    waiting_still += c.broadcasts(i);
    otherwise += !c.broadcasts(i) && c.end_of(i) != errc::revoked;
  }
  if (heard == 0 || (heard == survivors && waiting_still == 0 && otherwise == 0)) return {};
  std::string text = fmt::format("{} members;", n);
  for (const death& d : deaths) text += fmt::format(" rank {} dies after {} notices;", d.rank, d.notices);
  return text + fmt::format(" {} of {} survivors hear, {} still wait, {} have ended otherwise", heard,
                            survivors, waiting_still, otherwise);
}

/// The numbers of notices that each member may have sent.
std::vector<std::size_t> degrees(std::uint32_t n) {
  const small_cluster c(n);
  std::vector<std::size_t> all;
  all.reserve(n);
  for (std::uint32_t i = 0; i < n; ++i) all.push_back(c.told_by(i).size());
  return all;
}

class deaths_in_order {
 public:
  deaths_in_order(std::uint32_t n, exhausted& part) : n_(n), degrees_(degrees(n)), part_(part) {}

  /// Tries all ways in which so many members die, beside those that do already.
  bool all_with(std::uint32_t more, std::vector<death>& so_far) {
    if (more == 0) {
      ++part_.cases;
      part_.violation = revoke_with(n_, so_far);
      return part_.violation.empty();
    }
    const std::uint32_t from = so_far.empty() ? 0 : so_far.back().rank + 1;
    for (std::uint32_t rank = from; rank < n_; ++rank) {
      for (std::size_t notices = 0; notices <= degrees_[rank]; ++notices) {
        so_far.push_back({rank, notices});
        const bool held = all_with(more - 1, so_far);
        so_far.pop_back();
        if (!held) return false;
      }
    }
    return true;
  }

 private:
  std::uint32_t n_;
  std::vector<std::size_t> degrees_;
  exhausted& part_;
};

}  // namespace

exhausted revoke_beside_calls(std::uint32_t most_members) {
  exhausted part{
      fmt::format("nodes, up to {} members, beside calls that wait for credit", most_members), 0, {}, {}};
  for (std::uint32_t n = 2; n <= most_members; ++n) {
    small_cluster c(n);
    c.begin_calls();
    c.revoke(0);
    c.run(microseconds(100));  // each hop takes 10 us, and all calls together 400 us
    std::uint32_t heard = 0;
    for (std::uint32_t i = 0; i < n; ++i) heard += c.knows(i);
    ++part.cases;
    if (heard == n) continue;
    part.violation = fmt::format("only {} of {} members hear of a revoke within 100 us", heard, n);
    return part;
  }
  return part;
}

namespace {

/// Revokes a group that these members hold, from rank 0. Returns false if one of them does not hear.
bool reaches_holders(exhausted& part, std::uint32_t n, std::uint32_t holders) {
  small_cluster c(n, holders);
  c.revoke(0);
  c.run(milliseconds(5));
  std::uint32_t heard = 0;
  for (std::uint32_t i = 0; i < n; ++i) heard |= static_cast<std::uint32_t>(c.knows(i)) << i;
  ++part.cases;
  if (heard != holders)
    part.violation = fmt::format("{} members, {:#x} hold the group: {:#x} hear", n, holders, heard);
  return heard == holders;
}

}  // namespace

exhausted revoke_unknown_groups(std::uint32_t most_members, std::uint32_t most_for_two) {
  exhausted part{fmt::format("nodes, up to {} members, of whom some hold the group, and {}, of whom two do",
                             most_members, most_for_two),
                 0,
                 {},
                 {}};
  for (std::uint32_t n = 2; n <= most_members; ++n) {
    for (std::uint32_t holders = 1; holders < 1U << n; holders += 2) {
      if (!reaches_holders(part, n, holders)) return part;
    }
  }
  // Among so many members, some are neither neighbours of rank 0 nor its children in the tree.
  for (std::uint32_t other = 1; other < most_for_two; ++other) {
    if (!reaches_holders(part, most_for_two, 1U | 1U << other)) return part;
  }
  return part;
}

exhausted kill_at_each_notice(std::uint32_t most_members, std::uint32_t most_deaths) {
  exhausted part{
      fmt::format("nodes, up to {} members, up to {} die at each notice", most_members, most_deaths),
      0,
      {},
      {}};
  for (std::uint32_t n = 2; n <= most_members; ++n) {
    deaths_in_order tried(n, part);
    for (std::uint32_t dead = 0; dead <= most_deaths && dead < detail::binomial_degree(n); ++dead) {
      std::vector<death> none;
      if (!tried.all_with(dead, none)) return part;
    }
  }
  return part;
}

}  // namespace scoll::sim
