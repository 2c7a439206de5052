#include <string>
#include <utility>
#include <vector>

#include "rack_tree.hpp"
#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/verify.hpp"
#include "tests/catch.hpp"

namespace {

using scoll::tree_spec;

constexpr std::uint32_t most_members = 4096;
constexpr std::uint32_t radices[] = {2, 3, 4, 7, 8, 16, 32, 64};

/// Checks every rank of every n in [1, last].
template <class Make>
std::string first_defect_of_each(std::uint32_t last, Make make) {
  scoll::tree_verifier verifier;
  for (std::uint32_t n = 1; n <= last; ++n) {
    if (const auto defect = verifier.check(make(n), n)) {
      return "n=" + std::to_string(n) + " rank " + std::to_string(defect->rank) + ": " + defect->what;
    }
  }
  return "";
}

template <scoll::spanning_tree T>
std::string first_defect(std::uint32_t last, const T& tree) {
  return first_defect_of_each(last, [&](std::uint32_t) { return tree; });
}

std::uint32_t weight_of(std::uint32_t r) {
  return (r * 2654435761U) >> 7;
}

/// Compares entity counts, and the members that the walk visits, with sums from the leaves upwards.
template <class T>
std::string first_wrong_entities(const T& tree, std::uint32_t n) {
  std::vector<std::uint32_t> weights(n);
  for (std::uint32_t r = 0; r < n; ++r) weights[r] = weight_of(r);
  std::vector<std::uint32_t> order{0};
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (std::uint32_t child : scoll::children(tree, n, order[at])) order.push_back(child);
  }
  std::vector<std::uint64_t> sums(weights.begin(), weights.end());
  for (std::size_t at = order.size(); at-- > 1;) sums[tree.parent(n, order[at])] += sums[order[at]];
  for (std::uint32_t r = 0; r < n; ++r) {
    std::uint32_t visited = 0;
    std::uint32_t first = n;
    scoll::for_each_in_subtree(tree, n, r,
                               [&](std::uint32_t member) { first = visited++ == 0 ? member : first; });
    if (first != r || visited != tree.subtree_nodes(n, r) ||
        scoll::subtree_entities(tree, n, r, weights) != sums[r]) {
      return "n=" + std::to_string(n) + " rank " + std::to_string(r);
    }
  }
  return "";
}

/// The same policy without its short cuts, to check the generic walk.
template <class P>
struct plain {
  P policy;
  std::uint32_t parent(std::uint32_t n, std::uint32_t r) const { return policy.parent(n, r); }
  std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const { return policy.fan_out(n, r); }
  std::uint32_t child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const {
    return policy.child(n, r, i);
  }
  std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const { return policy.subtree_nodes(n, r); }
  std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const { return policy.subtree_levels(n, r); }
};

}  // namespace

TEST_CASE("k-nomial trees of 1 to 4096 members are right at every rank", "[tree][exhaustive]") {
  for (std::uint32_t radix : radices) {
    CAPTURE(radix);
    CHECK(first_defect(most_members, scoll::knomial{radix}) == "");
  }
}

TEST_CASE("k-ary trees of 1 to 4096 members are right at every rank", "[tree][exhaustive]") {
  for (std::uint32_t radix : radices) {
    CAPTURE(radix);
    CHECK(first_defect(most_members, scoll::kary{radix}) == "");
  }
}

TEST_CASE("flat trees and chains of 1 to 4096 members are right at every rank", "[tree][exhaustive]") {
  CHECK(first_defect(most_members, scoll::flat{}) == "");
  CHECK(first_defect(most_members, scoll::chain{}) == "");
}

TEST_CASE("greedy trees of 1 to 4096 members are right at every rank", "[tree][exhaustive]") {
  const scoll::greedy parameters[] = {{1, 1, 0}, {7, 1, 0}, {7, 2, 3}, {1, 50, 0}, {100, 1, 1}};
  for (const scoll::greedy& g : parameters) {
    CAPTURE(g.latency, g.gap, g.merge);
    // Built past the cache: 4096 tables of one use each.
    const auto make = [&](std::uint32_t n) {
      return scoll::greedy_table(n, 2 * std::uint64_t{g.latency} + g.merge, std::uint64_t{g.gap} + g.merge);
    };
    CHECK(first_defect_of_each(most_members, make) == "");
  }
}

TEST_CASE("a user's tree of 1 to 1024 members is right at every rank", "[tree][exhaustive]") {
  for (std::uint32_t width : {2U, 3U, 16U, 5000U}) {
    CAPTURE(width);
    CHECK(first_defect(1024, rack_tree{width}) == "");
  }
}

TEST_CASE("any_tree is right at every rank for every kind", "[tree][exhaustive]") {
  REQUIRE(scoll::register_tree<rack_tree>());
  const tree_spec specs[] = {scoll::flat{},          scoll::chain{},     scoll::kary{3}, scoll::knomial{4},
                             scoll::greedy{7, 1, 2}, scoll::zoned{2, 3}, rack_tree{16}};
  for (const tree_spec& spec : specs) {
    CAPTURE(scoll::to_string(spec));
    CHECK(first_defect_of_each(
              400, [&](std::uint32_t n) { return scoll::any_tree::resolve(spec, n).value(); }) == "");
  }
}

TEST_CASE("subtrees have the right members and entities", "[tree]") {
  REQUIRE(scoll::register_tree<rack_tree>());
  for (std::uint32_t n = 1; n <= 150; ++n) {
    CAPTURE(n);
    CHECK(first_wrong_entities(scoll::knomial{2}, n) == "");
    CHECK(first_wrong_entities(scoll::knomial{5}, n) == "");
    CHECK(first_wrong_entities(scoll::kary{2}, n) == "");
    CHECK(first_wrong_entities(scoll::kary{7}, n) == "");
    CHECK(first_wrong_entities(scoll::flat{}, n) == "");
    CHECK(first_wrong_entities(scoll::chain{}, n) == "");
    CHECK(first_wrong_entities(scoll::greedy{5, 1, 1}, n) == "");
    CHECK(first_wrong_entities(plain<scoll::knomial>{{3}}, n) == "");
    CHECK(first_wrong_entities(plain<scoll::chain>{{}}, n) == "");
    CHECK(first_wrong_entities(rack_tree{8}, n) == "");
    CHECK(first_wrong_entities(scoll::any_tree::resolve(scoll::kary{4}, n).value(), n) == "");
    CHECK(first_wrong_entities(scoll::any_tree::resolve(scoll::greedy{9, 1, 0}, n).value(), n) == "");
    CHECK(first_wrong_entities(scoll::any_tree::resolve(rack_tree{4}, n).value(), n) == "");
    CHECK(first_wrong_entities(scoll::any_tree::resolve(scoll::zoned{2, 4}, n).value(), n) == "");
  }
  CHECK(first_wrong_entities(scoll::knomial{8}, 4095) == "");
  CHECK(first_wrong_entities(scoll::kary{8}, 4097) == "");
}

namespace {

/// Wraps a k-nomial tree and breaks one answer of it.
struct broken {
  enum class fault { none, parent, fan_out, repeated, missing, out_of_range, nodes, levels, order, cursor };
  fault what = fault::none;
  scoll::knomial good{3};

  std::uint32_t parent(std::uint32_t n, std::uint32_t r) const {
    return what == fault::parent && r == 5 ? 0 : good.parent(n, r);
  }
  std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const {
    if (what == fault::missing && r == 3) return good.fan_out(n, r) - 1;
    return what == fault::fan_out && r == 3 ? good.fan_out(n, r) + 1 : good.fan_out(n, r);
  }
  std::uint32_t child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const {
    if (what == fault::fan_out && r == 3 && i == 2) return 4;
    if (what == fault::repeated && r == 3 && i == 1) return 4;
    if (what == fault::out_of_range && r == 3 && i == 1) return n;
    if (what == fault::order && r == 3) i = 1 - i;
    return good.child(n, r, i);
  }
  std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const {
    return good.subtree_nodes(n, r) + (what == fault::nodes && r == 3 ? 1 : 0);
  }
  std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const {
    return good.subtree_levels(n, r) + (what == fault::levels && r == 3 ? 1 : 0);
  }
  scoll::indexed_children<broken> cursor(std::uint32_t n, std::uint32_t r) const {
    broken other = *this;
    if (what == fault::cursor && r == 3) other.what = fault::order;
    return {other, n, r};
  }
};

}  // namespace

TEST_CASE("the verifier finds each kind of defect", "[tree]") {
  using fault = broken::fault;
  const std::pair<fault, std::string> faults[] = {
      {fault::parent, "it names another parent"},        {fault::fan_out, "it is reached twice"},
      {fault::repeated, "it is reached twice"},          {fault::missing, "not every member is reached"},
      {fault::out_of_range, "a child is out of range"},  {fault::nodes, "subtree_nodes is wrong"},
      {fault::levels, "subtree_levels is wrong"},        {fault::order, "it comes too late in send order"},
      {fault::cursor, "child() and the cursor disagree"}};
  scoll::tree_verifier verifier;
  CHECK_FALSE(verifier.check(broken{}, 20));
  for (const auto& [what, message] : faults) {
    const auto defect = verifier.check(broken{what, {3}}, 20);
    REQUIRE(defect);
    CHECK(defect->what == message);
  }
}
