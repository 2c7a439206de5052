#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/scoll/collective/probe.hpp"

namespace scoll::test {

/// A cluster with one group of all nodes, which makes calls of `agree` on its members.
class agreeing {
 public:
  using value = sum<std::uint64_t>;

  /// The group ends with its creator, so that tests that kill members name another one.
  explicit agreeing(std::uint32_t n, tree_spec tree = knomial{2}, std::uint32_t creator = 0,
                    const node_options& base = {})
      : nodes(n, base), scope_(std::make_unique<scope>(nodes.ex)), answers_(n), at_(n) {
    nodes.serve(probe{});
    id = nodes.make_group<probe>(creator, tree).id();
    nodes.ex.run_for(std::chrono::milliseconds(1));
  }
  ~agreeing() { nodes.run(join()); }
  agreeing(const agreeing&) = delete;
  agreeing& operator=(const agreeing&) = delete;

  group<probe> at(std::uint32_t rank) { return nodes[rank].find_group<probe>(id).value(); }
  std::uint32_t size() const { return nodes.size(); }

  /// A value that tells which ranks are merged in a sum, and how often.
  static std::uint64_t worth(std::uint32_t rank) { return std::uint64_t{1} << (4 * rank); }

  void call(std::uint32_t rank, std::uint64_t instance, agree_options options = {}) {
    answers_[rank].reset();
    scope_->spawn(go(rank, at(rank), instance, options));
    nodes.ex.run_now();
  }
  void call_all(std::uint64_t instance, agree_options options = {}) {
    for (std::uint32_t r = 0; r < size(); ++r) call(r, instance, options);
  }
  /// Waits until all calls have ended.
  void land() {
    if (scope_->running() != 0) nodes.run(idle());
  }
  bool done(std::uint32_t rank) const { return answers_[rank].has_value(); }
  const agreed<value>& answer(std::uint32_t rank) const { return *answers_[rank]; }
  /// When the call of this member ended.
  time_point ended(std::uint32_t rank) const { return at_[rank]; }

  /// Checks that these members, and no others, have the outcome: the values of all outside `failed`, once.
  void check_agreed(const rank_set& members, const rank_set& failed) {
    std::uint64_t expected = 0;
    (rank_set::all(size()) - failed).for_each([&](std::uint32_t r) { expected += worth(r); });
    for (std::uint32_t r = 0; r < size(); ++r) {
      INFO("rank " << r);
      if (!answers_[r]) {
        CHECK_FALSE(members.contains(r));
        continue;
      }
      INFO(std::string(answers_[r]->error().text()));
      CHECK(answers_[r]->ok() == members.contains(r));
      if (!answers_[r]->ok()) continue;
      CHECK((*answers_[r])->value == expected);
      CHECK(to_string(answers_[r]->failed()) == to_string(failed));
    }
  }

  /// Tells everybody else that a member is dead, and cuts it off.
  void kill(std::uint32_t rank) {
    nodes.kill(rank);
    hold_dead(rank);
  }
  void hold_dead(std::uint32_t rank) {
    for (std::uint32_t r = 0; r < size(); ++r) {
      if (r != rank) nodes[r].on_dead(rank + 1, 1);
    }
  }
  std::uint64_t requests_sent() {
    std::uint64_t all = 0;
    for (std::uint32_t r = 0; r < size(); ++r) all += nodes.engine(r).wire().statistics().requests_sent;
    return all;
  }

  virtual_cluster nodes;
  group_id id;

 private:
  task<void> go(std::uint32_t rank, group<probe> g, std::uint64_t instance, agree_options options) {
    agreed<value> a = co_await g.agree(instance, value{worth(rank)}, options);
    answers_[rank].emplace(std::move(a));
    at_[rank] = nodes.ex.now();
  }
  task<void> join() { co_await scope_->join(); }
  task<void> idle() {
    const status s = co_await scope_->idle({});
    s.ignore();
  }

  std::unique_ptr<scope> scope_;
  std::vector<std::optional<agreed<value>>> answers_;
  std::vector<time_point> at_;
};

/// All of `n` members without `some`.
inline rank_set but(std::uint32_t n, const rank_set& some) {
  return rank_set::all(n) - some;
}

inline std::string text_of(const error& e) {
  return std::string(e.text());
}

}  // namespace scoll::test
