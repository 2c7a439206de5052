#include "tools/scoll-sim/exhaust/groups_check.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "scoll/collective/bcast.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/exhaust/ending.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace scoll::sim {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds lease = 100ms;
constexpr nanoseconds until_death_is_known = 10ms;
constexpr nanoseconds longest_group_story = 60s;

/// The number of times that each rank has executed each of the two broadcasts.
using executions = std::vector<std::uint32_t>;

struct counted {
  static constexpr service_id id{0x0301};
  struct request {
    std::uint32_t broadcast = 0;
  };
  std::shared_ptr<std::vector<executions>> log;
  void execute(const request& r, bcast_context& c) { ++(*log)[r.broadcast][c.rank()]; }
};

/// The outcomes that the root has heard in one run.
struct story {
  std::optional<result<group<counted>>> immediate, delayed;
  std::array<std::optional<outcome>, 2> broadcasts;
  bool second_undisturbed = false;  ///< all who died had been known to be dead when it began
  bool over = false;
};

/// One run: some nodes in virtual time, of which one may die.
class group_trial {
 public:
  group_trial(const tree_spec& tree, std::uint32_t members);
  ~group_trial();
  group_trial(const group_trial&) = delete;
  group_trial& operator=(const group_trial&) = delete;

  /// Runs so many steps of the story, or to its end. Returns the number of steps.
  std::size_t run(std::size_t steps);
  void kill(std::uint32_t victim);
  void finish();
  /// The first thing that is wrong; empty if nothing is.
  std::string fault() const;

 private:
  task<void> tell();
  bool lives(std::uint32_t i) const { return i != victim_; }
  detail::engine& engine(std::uint32_t i) const { return detail::node_access::engine(*nodes_[i]); }
  std::string fault_of_broadcast(std::uint32_t number) const;
  std::string fault_of_groups() const;

  tree_spec tree_;
  std::uint32_t members_;
  testing::virtual_executor ex_;
  testing::sim_network network_;
  std::vector<std::unique_ptr<testing::sim_rail>> rails_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::shared_ptr<std::vector<executions>> log_;
  story told_;
  std::optional<std::uint32_t> victim_;
  std::optional<time_point> died_;
  bool verdict_ = false;
  scope work_;
};

group_trial::group_trial(const tree_spec& tree, std::uint32_t members)
    : tree_(tree),
      members_(members),
      network_(ex_.world(), testing::sim_network::usual_chunk_bytes, members),
      log_(std::make_shared<std::vector<executions>>(2, executions(members))),
      work_(ex_) {
  network_.common_path().model = testing::sim_link_model::ideal(10us);
  for (std::uint32_t i = 0; i < members_; ++i) {
    rails_.push_back(std::make_unique<testing::sim_rail>(network_, ex_, i));
    node_options options;
    options.id = i + 1;
    options.cluster = "exhaust";
    options.incarnation = 1;
    options.rtt_estimate = 1ms;
    options.level_margin = 100us;
    options.group_lease = lease;
    nodes_.push_back(std::make_unique<node>(ex_, *rails_[i], options));
    nodes_[i]->listen(testing::sim_network::address_of(i)).value();
    nodes_[i]->serve(counted{log_}).value();
  }
  for (std::uint32_t i = 0; i < members_; ++i) {
    for (std::uint32_t j = 0; j < members_; ++j) {
      if (j != i) nodes_[i]->add_peer(j + 1, testing::sim_network::address_of(j)).value();
    }
  }
  work_.spawn(tell());
}

group_trial::~group_trial() {
  end_nodes(ex_, work_, nodes_, 100ms);
}

task<void> group_trial::tell() {
  std::vector<target> targets;
  for (node_id id = 1; id <= members_; ++id) targets.push_back({id, {}});
  group_options options;
  options.tree = tree_;
  options.deadline = 1s;
  told_.immediate.emplace(co_await nodes_[0]->create_group<counted>(targets, options));
  options.populate = populate::delayed;
  told_.delayed.emplace(co_await nodes_[0]->create_group<counted>(targets, options));
  const group<counted> delayed = told_.delayed->value();
  for (std::uint32_t i = 0; i < 2; ++i) {
    if (i == 1) co_await sleep_for(2 * until_death_is_known);
    const bool known = verdict_;
    const counted::request asked{i};
    bcast_options how;
    how.dead = dead_members::try_others;
    const group<counted> to = i == 1 ? delayed.alive() : delayed;
    const auto heard = co_await scoll::bcast(to, asked, how);
    told_.broadcasts[i] = heard.outcome();
    if (i == 1) told_.second_undisturbed = known || !victim_;
  }
  const status ended = co_await nodes_[0]->destroy(delayed);
  static_cast<void>(ended);  // those that were not told find out
  told_.over = true;
}

std::size_t group_trial::run(std::size_t steps) {
  std::size_t done = 0;
  while (done < steps && !told_.over && ex_.run_until_idle(1) != 0) ++done;
  return done;
}

void group_trial::kill(std::uint32_t victim) {
  victim_ = victim;
  died_ = ex_.now();
  for (std::uint32_t j = 0; j < members_; ++j) {
    if (j == victim) continue;
    network_.cut(victim, j);
    network_.refuse(j, victim);
    network_.refuse(victim, j);
  }
}

/// Lets the survivors hear of the death, the story end, and the sweeps find what is left.
void group_trial::finish() {
  ex_.run_for(until_death_is_known);
  verdict_ = victim_.has_value();
  for (std::uint32_t i = 0; i < members_ && victim_; ++i) {
    if (lives(i)) nodes_[i]->on_dead(*victim_ + 1, 1);
  }
  const time_point limit = ex_.now() + longest_group_story;
  while (!told_.over && ex_.now() < limit) ex_.run_for(1ms);
  ex_.run_for(5 * lease);
}

std::string group_trial::fault() const {
  if (!told_.over && lives(0)) return "the story does not end";
  for (std::uint32_t number = 0; number < 2 && told_.over; ++number) {
    if (std::string found = fault_of_broadcast(number); !found.empty()) return found;
  }
  return fault_of_groups();
}

std::string group_trial::fault_of_broadcast(std::uint32_t number) const {
  const outcome& account = *told_.broadcasts[number];
  for (std::uint32_t rank = 0; rank < members_; ++rank) {
    const std::uint32_t times = (*log_)[number][rank];
    const member_state state = account.state(rank);
    if (times > 1) return fmt::format("rank {} executed broadcast {} {} times", rank, number, times);
    const bool did = state == member_state::merged || state == member_state::executed;
    const bool did_not = state == member_state::not_reached;
    if ((did && times == 0) || (did_not && times != 0))
      return fmt::format("rank {} executed broadcast {} {} times: {}", rank, number, times,
                         describe(account));
    const bool must = number == 1 && told_.second_undisturbed && lives(0) && lives(rank);
    if (must && state != member_state::merged)
      return fmt::format("rank {} lives and misses the second broadcast: {}", rank, describe(account));
  }
  return {};
}

std::string group_trial::fault_of_groups() const {
  const bool kept = lives(0) && told_.immediate && told_.immediate->has_value();
  for (std::uint32_t i = 0; i < members_; ++i) {
    if (!lives(i)) continue;
    if (engine(i).groups() != (kept ? 1 : 0))
      return fmt::format("node {} holds {} groups at rest", i + 1, engine(i).groups());
    if (kept && engine(i).find_group(told_.immediate->value().id()) == nullptr)
      return fmt::format("node {} has lost the group that all members joined", i + 1);
    if (engine(i).operations() != 0 || engine(i).admissions_waiting() != 0)
      return fmt::format("node {} has work left at rest", i + 1);
  }
  return {};
}

}  // namespace

exhausted kill_at_each_step(const tree_spec& tree, std::uint32_t members) {
  exhausted part{fmt::format("{} over {} members: create, delayed, destroy, one dies at each step",
                             to_string(tree), members),
                 0,
                 {},
                 {}};
  std::size_t steps = 0;
  {
    group_trial undisturbed(tree, members);
    steps = undisturbed.run(SIZE_MAX);
    undisturbed.finish();
    part.violation = undisturbed.fault();
  }
  for (std::size_t step = 0; step <= steps && part.violation.empty(); ++step) {
    for (std::uint32_t victim = 0; victim < members && part.violation.empty(); ++victim) {
      group_trial one(tree, members);
      one.run(step);
      one.kill(victim);
      one.finish();
      ++part.cases;
      part.violation = one.fault();
      if (!part.violation.empty()) part.way = {fmt::format("rank {} dies at step {}", victim, step)};
    }
  }
  return part;
}

std::vector<exhausted> exhaust_groups(const exhaust_settings&) {
  constexpr std::uint32_t most_members = 17, most_in_all_trees = 6;
  std::vector<exhausted> parts;
  for (std::uint32_t members = 2; members <= most_members; ++members) {
    parts.push_back(kill_at_each_step(knomial{2}, members));
    if (members > most_in_all_trees) continue;
    parts.push_back(kill_at_each_step(flat{}, members));
    parts.push_back(kill_at_each_step(chain{}, members));
  }
  return parts;
}

}  // namespace scoll::sim
