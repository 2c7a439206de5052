#include "tools/scoll-sim/exhaust/group_ends.hpp"

#include <chrono>
#include <memory>
#include <string>

#include "scoll/collective/bcast.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/tombstones.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/node_access.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace scoll::sim {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds short_lease = 100ms;
constexpr std::uint32_t told_members = 3, told_creator = 0;

struct idle {
  static constexpr service_id id{0x0302};
  struct request {};
  static void execute(const request&, bcast_context&) {}
};

/// Three nodes in virtual time, and a group that the first one creates.
class three_nodes {
 public:
  explicit three_nodes(lifetime ends_with, nanoseconds lease = short_lease)
      : network_(ex_.world(), 65'536, told_members), lease_(lease) {
    std::vector<target> targets;
    for (std::uint32_t i = 0; i < told_members; ++i) {
      rails_.push_back(std::make_unique<testing::sim_rail>(network_, ex_, i));
      targets.push_back({i + 1, {}});
      start(i);
    }
    for (std::uint32_t i = 0; i < told_members * told_members; ++i) meet(i / told_members, i % told_members);
    group_options options;
    options.tree = flat{};
    options.lifetime = ends_with;
    group_ = sync_wait(ex_, nodes_[told_creator]->create_group<idle>(targets, options)).value();
  }
  ~three_nodes() {
    for (auto& n : nodes_) sync_wait(ex_, n->shutdown(10ms)).ignore();
    nodes_.clear();
    ex_.run_until_idle();
  }
  three_nodes(const three_nodes&) = delete;
  three_nodes& operator=(const three_nodes&) = delete;

  node& operator[](std::uint32_t i) { return *nodes_[i]; }
  void run_for(nanoseconds time) { ex_.run_for(time); }
  bool holds(std::uint32_t i) const {
    return detail::node_access::engine(*nodes_[i]).find_group(group_.id()) != nullptr;
  }
  void destroy() { sync_wait(ex_, nodes_[told_creator]->destroy(group_)).ignore(); }
  void connect(std::uint32_t a, bool open) {
    for (std::uint32_t b = 0; b < told_members; ++b) {
      if (a == b) continue;
      if (!open) network_.cut(a, b);
      for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
        open ? network_.admit(from, to) : network_.refuse(from, to);
    }
  }

 private:
  void start(std::uint32_t i) {
    node_options options;
    options.id = i + 1;
    options.cluster = "ends";
    options.incarnation = 1;
    options.group_lease = lease_;
    nodes_.push_back(std::make_unique<node>(ex_, *rails_[i], options));
    nodes_[i]->serve(idle{}).value();
    nodes_[i]->listen(testing::sim_network::address_of(i)).value();
  }
  void meet(std::uint32_t i, std::uint32_t j) {
    if (i != j) nodes_[i]->add_peer(j + 1, testing::sim_network::address_of(j)).value();
  }

  testing::virtual_executor ex_;
  testing::sim_network network_;
  nanoseconds lease_;
  std::vector<std::unique_ptr<testing::sim_rail>> rails_;
  std::vector<std::unique_ptr<node>> nodes_;
  group<idle> group_;
};

/// A group of its members' lifetime outlives its creator.
exhausted a_creator_dies() {
  exhausted part{"the creator of a lasting group dies", 1, {}, {}};
  three_nodes c(lifetime::members);
  c.connect(told_creator, false);
  for (std::uint32_t i = 1; i < told_members; ++i) c[i].on_dead(told_creator + 1, 1);
  c.run_for(5 * short_lease);
  if (!c.holds(1) || !c.holds(2)) part.violation = "a lasting group ends with its creator";
  return part;
}

/// Another group ends on each member as soon as it hears of the death.
exhausted a_creator_is_called_dead() {
  exhausted part{"the creator of a group dies", 1, {}, {}};
  three_nodes c(lifetime::creator, 1h);
  c.connect(told_creator, false);
  for (std::uint32_t i = 1; i < told_members; ++i) c[i].on_dead(told_creator + 1, 1);
  if (c.holds(1) || c.holds(2)) part.violation = "a group outlives its creator";
  return part;
}

/// A member that asks its creator once in vain keeps a group that nobody has used.
exhausted a_question_is_lost() {
  exhausted part{"a question about a group is lost", 1, {}, {}};
  three_nodes c(lifetime::creator, 1s);
  c.connect(1, false);
  c.run_for(2200ms);  // the first question is given up
  c.connect(1, true);
  c.run_for(10s);
  if (!c.holds(1)) part.violation = "one lost question ends a group";
  return part;
}

/// A member that could not be told of an end is told as soon as it can be reached, long before it asks.
exhausted a_member_is_missed() {
  exhausted part{"a member is out of reach while its group is destroyed", 1, {}, {}};
  three_nodes c(lifetime::creator, 1h);
  c.connect(1, false);
  c.destroy();
  c.connect(1, true);
  c.run_for(30s);
  if (c.holds(1)) part.violation = "a member that was missed is not told";
  return part;
}

/// A full list of tombstones keeps those that may be needed.
exhausted tombstones_are_many() {
  exhausted part{"more tombstones than one life has room for", 0, {}, {}};
  constexpr std::uint64_t most = 16;
  detail::tombstones stones(most);
  const auto group_of = [](std::uint64_t counter) { return group_id{1, 1, counter, {}}; };
  for (std::uint64_t counter = 1; counter <= 2 * most; ++counter, ++part.cases)
    static_cast<void>(stones.bury(group_of(counter), {detail::group_fate::destroyed, 1, 0}, true));
  for (std::uint64_t counter = 1; counter <= most; ++counter) {
    if (!stones.refusal_of(group_of(counter))) part.violation = "a tombstone that may be needed is lost";
  }
  return part;
}

}  // namespace

std::vector<exhausted> tell_of_group_ends() {
  return {a_creator_dies(), a_creator_is_called_dead(), a_question_is_lost(), a_member_is_missed(),
          tombstones_are_many()};
}

}  // namespace scoll::sim
