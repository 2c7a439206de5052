#include "scoll/tree/zoned.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/verify.hpp"
#include "tests/catch.hpp"

using scoll::any_tree;
using scoll::knomial;
using scoll::member_place;
using scoll::to_rank;
using scoll::zoned;
using scoll::zoned_table;

namespace {

using places = std::vector<member_place>;
using members = std::vector<std::uint32_t>;

/// The members at one k-nomial tree's places: the parent of the one at `index`.
std::uint32_t knomial_parent(const members& all, std::uint32_t of, std::uint32_t radix) {
  const auto index = static_cast<std::uint32_t>(std::find(all.begin(), all.end(), of) - all.begin());
  return all[knomial{radix}.parent(static_cast<std::uint32_t>(all.size()), index)];
}

/// The definition of the tree, taken literally.
class definition {
 public:
  definition(const places& where, const zoned& tree) : where_(where), tree_(tree) {}

  std::uint32_t parent(std::uint32_t r) const {
    if (host_of(r).front() != r) return knomial_parent(host_of(r), r, tree_.within);
    if (hosts_of(where_[r].zone).front() != r)
      return knomial_parent(hosts_of(where_[r].zone), r, tree_.within);
    members leaders;
    for (const std::uint16_t zone : zones()) leaders.push_back(hosts_of(zone).front());
    std::sort(leaders.begin(), leaders.end());
    return knomial_parent(leaders, r, tree_.across);
  }
  /// The members that share a host with r.
  members host_of(std::uint32_t r) const {
    if (where_[r].host == 0) return {r};
    return those([&](std::uint32_t other) { return where_[other] == where_[r]; });
  }
  /// The first member of each host of a zone.
  members hosts_of(std::uint16_t zone) const {
    return those([&](std::uint32_t r) { return where_[r].zone == zone && host_of(r).front() == r; });
  }
  std::set<std::uint16_t> zones() const {
    std::set<std::uint16_t> all;
    for (const member_place& each : where_) all.insert(each.zone);
    return all;
  }
  /// The most levels that the tree can have: those of the zones, of the largest zone's hosts, and of the
  /// largest host.
  std::uint32_t most_levels() const {
    const auto edges = [](std::uint32_t radix, std::size_t count) {
      return knomial{radix}.subtree_levels(static_cast<std::uint32_t>(count), 0) - 1;
    };
    std::uint32_t hosts = 0, in_host = 0;
    for (const std::uint16_t zone : zones())
      hosts = std::max(hosts, edges(tree_.within, hosts_of(zone).size()));
    for (std::uint32_t r = 0; r < where_.size(); ++r)
      in_host = std::max(in_host, edges(tree_.within, host_of(r).size()));
    return 1 + edges(tree_.across, zones().size()) + hosts + in_host;
  }

 private:
  template <class Test>
  members those(const Test& test) const {
    members found;
    for (std::uint32_t r = 0; r < where_.size(); ++r) {
      if (test(r)) found.push_back(r);
    }
    return found;
  }

  const places& where_;
  zoned tree_;
};

/// Says what is wrong with the tree of these members; empty if nothing is.
std::string defect_of(const any_tree& tree, const places& where, const zoned& spec) {
  const auto n = static_cast<std::uint32_t>(where.size());
  if (const auto found = scoll::tree_verifier().check(tree, n))
    return std::string(found->what) + ", rank " + std::to_string(found->rank);
  const definition expected(where, spec);
  std::size_t crossings = 0;
  std::map<std::uint16_t, int> entered;
  for (std::uint32_t r = 1; r < n; ++r) {
    const std::uint32_t parent = tree.parent(n, r);
    if (parent != expected.parent(r)) return "another parent of rank " + std::to_string(r);
    const bool crosses = where[parent].zone != where[r].zone;
    const bool on_one_host = where[parent] == where[r] && where[r].host != 0;
    crossings += crosses;
    if (crosses && ++entered[where[r].zone] > 1) return "a zone is entered twice";
    if (tree.distance(n, r) != (crosses ? 2U : on_one_host ? 0U : 1U)) return "a wrong distance";
  }
  if (crossings != expected.zones().size() - 1) return std::to_string(crossings) + " crossings";
  if (tree.subtree_levels(n, 0) > expected.most_levels()) return "too deep";
  return {};
}

/// Compares the ranges of each subtree with a walk over its children.
std::string wrong_range(const any_tree& tree, std::uint32_t n) {
  for (std::uint32_t top = 0; top < n; ++top) {
    std::set<std::uint32_t> walked{top}, ranged;
    std::vector<std::uint32_t> pending{top};
    while (!pending.empty()) {
      const std::uint32_t r = pending.back();
      pending.pop_back();
      for (std::uint32_t child : scoll::children(tree, n, r)) {
        walked.insert(child);
        pending.push_back(child);
      }
    }
    std::size_t sum = 0;
    bool begins = false;
    tree.subtree_ranges(n, top, [&](std::uint32_t first, std::uint32_t last) {
      if (sum == 0) begins = first == top;
      sum += last - first;
      for (; first != last; ++first) ranged.insert(first);
    });
    if (!begins || ranged != walked || sum != walked.size()) return "the subtree of " + std::to_string(top);
  }
  return {};
}

/// Places drawn at random: zones that are all alike, dealt in turn, in blocks or mixed, with few hosts or none.
class drawn_places {
 public:
  explicit drawn_places(std::uint64_t seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  places draw(std::uint32_t n) {
    const std::uint32_t zones = 1 + below(8);
    const std::uint32_t hosts = 1 + below(5);
    const std::uint32_t manner = below(4);
    places all(n);
    for (std::uint32_t r = 0; r < n; ++r) {
      const std::uint32_t zone = manner == 0   ? 0
                                 : manner == 1 ? r % zones
                                 : manner == 2 ? r * zones / n
                                               : below(zones);
      all[r] = {static_cast<std::uint16_t>(zone * 9001), static_cast<std::uint16_t>(below(hosts))};
    }
    return all;
  }
  zoned draw_tree() { return {2 + below(7), 2 + below(9)}; }
  /// Some of n ranks, at least one.
  members draw_subset(std::uint32_t n) {
    members some;
    const std::uint32_t of_ten = 1 + below(10);
    for (std::uint32_t r = 0; r < n; ++r) {
      if (below(10) < of_ten) some.push_back(r);
    }
    if (some.empty()) some.push_back(below(n));
    return some;
  }

 private:
  std::mt19937_64 random_;
};

/// The places of some ranks by relative rank, for a root.
places seen_from(const places& all, const members& some, std::uint32_t root) {
  const auto n = static_cast<std::uint32_t>(some.size());
  places relative;
  for (std::uint32_t r = 0; r < n; ++r) relative.push_back(all[some[to_rank(r, root, n)]]);
  return relative;
}

}  // namespace

TEST_CASE("a zoned tree is the one that is defined, for every root of 1 to 70 members", "[tree][zoned]") {
  drawn_places drawn(1);
  for (std::uint32_t n = 1; n <= 70; ++n) {
    const places all = drawn.draw(n);
    const zoned spec = drawn.draw_tree();
    members everybody(n);
    for (std::uint32_t r = 0; r < n; ++r) everybody[r] = r;
    for (std::uint32_t root = 0; root < n; ++root) {
      const places where = seen_from(all, everybody, root);
      const any_tree tree = any_tree::resolve(spec, n, where).value();
      INFO("n=" << n << " root=" << root << " " << to_string(spec));
      REQUIRE(defect_of(tree, where, spec) == "");
      if (root % 8 == 0) REQUIRE(wrong_range(tree, n) == "");
    }
  }
}

TEST_CASE("a zoned tree is the one that is defined, for subsets of members at random", "[tree][zoned]") {
  drawn_places drawn(2);
  std::size_t several = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint32_t n = 1 + drawn.below(70);
    const places all = drawn.draw(n);
    const zoned spec = drawn.draw_tree();
    const members some = drawn.draw_subset(n);
    const auto count = static_cast<std::uint32_t>(some.size());
    const places where = seen_from(all, some, drawn.below(count));
    const any_tree tree = any_tree::resolve(spec, count, where).value();
    INFO("case " << i << " n=" << count << " " << to_string(spec));
    REQUIRE(defect_of(tree, where, spec) == "");
    if (i % 10 == 0) REQUIRE(wrong_range(tree, count) == "");
    several += definition(where, spec).zones().size() > 2;
  }
  CHECK(several > 500);
}

TEST_CASE("a zoned tree without places is the k-nomial tree within a zone", "[tree][zoned]") {
  for (std::uint32_t n = 1; n <= 300; ++n) {
    const any_tree tree = any_tree::resolve(zoned{2, 5}, n).value();
    for (std::uint32_t r = 0; r < n; ++r) {
      REQUIRE(tree.parent(n, r) == knomial{5}.parent(n, r));
      REQUIRE(tree.subtree_levels(n, r) == knomial{5}.subtree_levels(n, r));
      REQUIRE(tree.fan_out(n, r) == knomial{5}.fan_out(n, r));
      for (std::uint32_t i = 0; i < tree.fan_out(n, r); ++i)
        REQUIRE(tree.child(n, r, i) == knomial{5}.child(n, r, i));
    }
  }
}

TEST_CASE("a member sends to other zones first, then to other hosts", "[tree][zoned]") {
  // Relative ranks 0 to 8: zones 1 and 2, and one member of zone 3, which comes first although it is a leaf.
  const places where{{1, 1}, {1, 1}, {1, 2}, {1, 2}, {1, 2}, {2, 0}, {2, 0}, {3, 7}, {1, 1}};
  const zoned_table tree(where, 4, 8);
  members order;
  for (std::uint32_t child : scoll::children(tree, 9, 0)) order.push_back(child);
  CHECK(order == members{5, 7, 2, 1, 8});
  CHECK(tree.subtree_nodes(9, 2) == 3);
  CHECK(tree.distance(9, 7) == 2);
  CHECK(tree.distance(9, 2) == 1);
  CHECK(tree.distance(9, 8) == 0);
  CHECK(tree.parent(9, 6) == 5);
}

TEST_CASE("a zoned tree takes as many members as a group", "[tree][zoned]") {
  places where(zoned::max_members);
  for (std::uint32_t r = 0; r < zoned::max_members; ++r)
    where[r] = {static_cast<std::uint16_t>(r % 60'000), static_cast<std::uint16_t>(r % 7)};
  const zoned_table tree(where, 65535, 2);
  CHECK(tree.members() == zoned::max_members);
  CHECK(tree.subtree_nodes(zoned::max_members, 0) == zoned::max_members);
}
