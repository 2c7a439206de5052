#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agreeing.hpp"

namespace scoll::test {

/// A cluster with one group of all nodes, whose members shrink it.
class shrinking : public agreeing {
 public:
  using shrunk = result<group<probe>>;

  explicit shrinking(std::uint32_t n, tree_spec tree = knomial{2}, std::uint32_t creator = 0)
      : agreeing(n, tree, creator), shrinks_(std::make_unique<scope>(nodes.ex)), shrunk_(n) {}
  ~shrinking() { nodes.run(join_shrinks()); }
  shrinking(const shrinking&) = delete;
  shrinking& operator=(const shrinking&) = delete;

  void shrink(std::uint32_t rank, agree_options options = {}) { shrink(rank, at(rank), options); }
  /// Makes the member shrink another group, which it holds.
  void shrink(std::uint32_t rank, group<probe> which, agree_options options = {}) {
    shrunk_[rank].reset();
    shrinks_->spawn(go_shrink(rank, std::move(which), options));
    nodes.ex.run_now();
  }
  void shrink_all(agree_options options = {}) {
    for (std::uint32_t r = 0; r < size(); ++r) shrink(r, options);
  }
  void land_shrinks() {
    if (shrinks_->running() != 0) nodes.run(idle_shrinks());
  }
  /// Leaves a member that is down out of the next check.
  void forget(std::uint32_t rank) { shrunk_[rank].reset(); }
  bool has_shrunk(std::uint32_t rank) const { return shrunk_[rank].has_value(); }
  const shrunk& made(std::uint32_t rank) const { return *shrunk_[rank]; }
  std::string text_at(std::uint32_t rank) const {
    if (!shrunk_[rank]) return "none";
    return *shrunk_[rank] ? "ok" : std::string(shrunk_[rank]->error().text());
  }

  /// Checks that these members, and no others, got one group, that they hold it, and that it has the members
  /// outside `failed` in their old order. Gives its id.
  group_id check_shrunk(const rank_set& members, const rank_set& failed) {
    std::vector<node_id> expected;
    (rank_set::all(size()) - failed).for_each([&](std::uint32_t r) { expected.push_back(r + 1); });
    std::optional<group_id> first;
    for (std::uint32_t r = 0; r < size(); ++r) {
      INFO("rank " << r << ": " << text_at(r));
      CHECK((shrunk_[r] && shrunk_[r]->has_value()) == members.contains(r));
      if (!shrunk_[r] || !*shrunk_[r]) continue;
      const group<probe>& g = **shrunk_[r];
      if (!first) first = g.id();
      CHECK(g.id() == *first);
      std::vector<node_id> there;
      for (const target& t : g.members().targets()) there.push_back(t.node);
      CHECK(there == expected);
      CHECK(g.tree() == at_least(r).tree());
      CHECK(g.state()->ends_with == lifetime::members);
      CHECK(nodes[r].find_group<probe>(g.id()).has_value());
    }
    return first.value_or(group_id{});
  }

  /// Broadcasts to the group that this member got. True if every member of it was merged.
  bool reaches_all(std::uint32_t rank) { return nodes.bcast(**shrunk_[rank], probe::request{}).ok(); }

 private:
  group<probe> at_least(std::uint32_t rank) {
    const auto held = nodes[rank].find_group<probe>(id);
    return held ? *held : **shrunk_[rank];
  }
  task<void> go_shrink(std::uint32_t rank, group<probe> g, agree_options options) {
    shrunk got = co_await g.shrink(options);
    shrunk_[rank].emplace(std::move(got));
  }
  task<void> join_shrinks() { co_await shrinks_->join(); }
  task<void> idle_shrinks() {
    const status s = co_await shrinks_->idle({});
    s.ignore();
  }

  std::unique_ptr<scope> shrinks_;
  std::vector<std::optional<shrunk>> shrunk_;
};

}  // namespace scoll::test
