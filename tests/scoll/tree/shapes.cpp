#include <algorithm>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "rack_tree.hpp"
#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/draw.hpp"
#include "scoll/tree/predict.hpp"
#include "tests/catch.hpp"

using scoll::chain;
using scoll::flat;
using scoll::greedy;
using scoll::kary;
using scoll::knomial;
using scoll::tree_fault;
using scoll::tree_params;
using scoll::tree_spec;

namespace {

template <class T>
std::vector<std::uint32_t> children_of(const T& tree, std::uint32_t n, std::uint32_t r) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t child : scoll::children(tree, n, r)) all.push_back(child);
  return all;
}

using ranks = std::vector<std::uint32_t>;

/// Usable at compile time, down to the walk over children.
constexpr std::uint32_t sum_of_children(const auto& tree, std::uint32_t n, std::uint32_t r) {
  std::uint32_t sum = 0;
  for (std::uint32_t child : scoll::children(tree, n, r)) sum += child;
  return sum;
}

static_assert(knomial{2}.parent(16, 13) == 12);
static_assert(knomial{2}.child(16, 0, 0) == 8);
static_assert(knomial{2}.fan_out(16, 0) == 4);
static_assert(knomial{2}.subtree_nodes(13, 8) == 5);
static_assert(knomial{2}.subtree_levels(13, 8) == 3);
static_assert(sum_of_children(knomial{2}, 16, 0) == 1 + 2 + 4 + 8);
static_assert(sum_of_children(kary{3}, 10, 1) == 4 + 5 + 6);
static_assert(sum_of_children(flat{}, 4, 0) == 1 + 2 + 3);
static_assert(sum_of_children(chain{}, 4, 3) == 0);
static_assert(scoll::depth_of(knomial{2}, 16, 15) == 4);
static_assert(scoll::subtree_entities(kary{2}, 7, 1, [](std::uint32_t r) { return r; }) == 1 + 3 + 4);
static_assert(scoll::tree_policy<flat> && scoll::tree_policy<chain> && scoll::tree_policy<kary> &&
              scoll::tree_policy<knomial> && scoll::tree_policy<greedy> && scoll::tree_policy<rack_tree>);
static_assert(scoll::named_tree<scoll::zoned> && !scoll::tree_policy<scoll::zoned> &&
              scoll::spanning_tree<scoll::zoned_table>);
static_assert(scoll::spanning_tree<scoll::any_tree> && scoll::spanning_tree<scoll::greedy_table>);
static_assert(std::is_trivially_copyable_v<tree_spec>);

/// The definition taken literally: sorts the children of r that the digits give.
ranks sorted_knomial_children(std::uint32_t radix, std::uint32_t n, std::uint32_t r) {
  std::uint64_t span = 1;
  if (r == 0) {
    while (span < n) span *= radix;
  } else {
    while (r / span % radix == 0) span *= radix;
  }
  using place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  std::vector<place> found;
  for (std::uint64_t step = 1; step < span; step *= radix) {
    for (std::uint64_t p = 1; p < radix && r + p * step < n; ++p) {
      const auto child = static_cast<std::uint32_t>(r + p * step);
      const std::uint64_t size = std::min<std::uint64_t>(step, n - child);
      std::uint32_t depth = 0;
      for (std::uint64_t d = 1, power = radix; (power - 1) / (radix - 1) <= size - 1; ++d, power *= radix) {
        depth = static_cast<std::uint32_t>(d);
      }
      found.emplace_back(~depth, ~static_cast<std::uint32_t>(size), child);
    }
  }
  std::sort(found.begin(), found.end());
  ranks result;
  for (const place& one : found) result.push_back(std::get<2>(one));
  return result;
}

/// Checks one rank of a tree too large to build: its children name it, their sizes add up to its own, its
/// levels are one more than the first child's, and they come in order.
template <class T>
std::string spot_defect(const T& tree, std::uint32_t n, std::uint32_t r) {
  std::uint64_t nodes = 1;
  std::uint32_t index = 0;
  std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> before{0, 0, 0};
  const std::uint32_t fan_out = tree.fan_out(n, r);
  for (std::uint32_t child : scoll::children(tree, n, r)) {
    const std::uint32_t levels = tree.subtree_levels(n, child);
    const std::uint32_t size = tree.subtree_nodes(n, child);
    if (child >= n || tree.parent(n, child) != r) return "child " + std::to_string(child) + " is not its own";
    if (tree.child(n, r, index) != child) return "child " + std::to_string(index) + " by index differs";
    if (index == 0 && tree.subtree_levels(n, r) != levels + 1) return "levels";
    const std::tuple now{~levels, ~size, child};
    if (index > 0 && now <= before) return "order of child " + std::to_string(index);
    before = now;
    nodes += size;
    ++index;
  }
  if (index != fan_out) return "fan-out";
  if (nodes != tree.subtree_nodes(n, r)) return "nodes";
  return fan_out == 0 && tree.subtree_levels(n, r) != 1 ? "levels of a leaf" : "";
}

template <class T>
void check_spots(const T& tree, std::uint32_t n) {
  const std::uint64_t radix = tree.radix;
  CAPTURE(radix, n);
  ranks spots{0, 1, n / 2, n - 1};
  for (std::uint64_t at = 1; at < n; at *= radix) {
    for (std::uint64_t r : {at - 1, at, at + 1, n - at, n - at + 1}) {
      if (r < n) spots.push_back(static_cast<std::uint32_t>(r));
    }
  }
  for (std::uint32_t r : spots) {
    CAPTURE(r);
    if (r >= n) continue;
    CHECK(spot_defect(tree, n, r) == "");
    if constexpr (std::is_same_v<T, knomial>)
      CHECK(children_of(tree, n, r) == sorted_knomial_children(tree.radix, n, r));
    // Up from the rank, every ancestor's subtree holds it and has one level more than the way down so far.
    const std::uint32_t depth = scoll::depth_of(tree, n, r);
    CHECK(tree.subtree_levels(n, 0) >= depth + tree.subtree_levels(n, r));
  }
  CHECK(tree.subtree_nodes(n, 0) == n);
}

std::vector<std::uint32_t> sizes_near_powers(std::uint64_t radix) {
  std::vector<std::uint32_t> sizes;
  for (std::uint64_t power = radix; power <= std::uint64_t{1} << 32; power *= radix) {
    for (std::uint64_t n : {power - 1, power, power + 1, 2 * power + 1}) {
      if (n >= 1 && n <= 0xffffffffU) sizes.push_back(static_cast<std::uint32_t>(n));
    }
  }
  sizes.push_back(std::uint32_t{1} << 31);
  sizes.push_back(0xffffffffU);
  return sizes;
}

}  // namespace

TEST_CASE("sizes around large powers of the radix are right at chosen ranks", "[tree]") {
  for (std::uint32_t radix : {2U, 3U, 7U, 8U, 64U, 1000U}) {
    for (std::uint32_t n : sizes_near_powers(radix)) {
      check_spots(knomial{radix}, n);
      check_spots(kary{radix}, n);
    }
  }
}

TEST_CASE("the largest radix and the largest group", "[tree]") {
  const std::uint32_t n = 0xffffffffU;
  const knomial wide{65535};
  CHECK(wide.fan_out(n, 0) == 2 * 65534 + 1);  // 65535^2 < n: one cut child above two complete groups
  CHECK(wide.parent(n, n - 1) == n - 1 - (n - 1) % 65535);
  CHECK(spot_defect(wide, n, 0) == "");
  const kary bush{65535};
  CHECK(bush.fan_out(n, 0) == 65535);
  CHECK(bush.fan_out(n, n - 1) == 0);
  CHECK(spot_defect(bush, n, 65535) == "");
  CHECK(chain{}.subtree_levels(n, 0) == n);
  CHECK(flat{}.fan_out(n, 0) == n - 1);
  CHECK(children_of(knomial{65535}, 5, 0) == ranks{1, 2, 3, 4});
}

TEST_CASE("small trees drawn by hand", "[tree]") {
  CHECK(children_of(knomial{2}, 16, 0) == ranks{8, 4, 2, 1});
  CHECK(children_of(knomial{2}, 16, 8) == ranks{12, 10, 9});
  CHECK(children_of(knomial{2}, 16, 15).empty());
  // 8 has lost most of its subtree to n = 10: two levels, two members, as has 2, which is the lower rank.
  CHECK(children_of(knomial{2}, 10, 0) == ranks{4, 2, 8, 1});
  CHECK(children_of(knomial{2}, 9, 0) == ranks{4, 2, 1, 8});
  // 6 is cut to {6, 7}: as deep as 3's complete subtree, but smaller.
  CHECK(children_of(knomial{3}, 8, 0) == ranks{3, 6, 1, 2});
  // 9 is cut to {9, 10}: below 3 and 6, above the leaves.
  CHECK(children_of(knomial{3}, 11, 0) == ranks{3, 6, 9, 1, 2});
  CHECK(children_of(kary{2}, 6, 0) == ranks{1, 2});
  CHECK(children_of(kary{3}, 6, 1) == ranks{4, 5});
  CHECK(children_of(chain{}, 3, 1) == ranks{2});
  CHECK(children_of(flat{}, 1, 0).empty());
  CHECK(knomial{2}.parent(1, 0) == 0);
  CHECK(knomial{8}.parent(1000, 0777) == 0770);
  CHECK(knomial{8}.parent(1000, 0700) == 0);
}

TEST_CASE("relative ranks follow the root even near 2^32", "[tree]") {
  CHECK(scoll::to_relative(3, 5, 8) == 6);
  CHECK(scoll::to_rank(6, 5, 8) == 3);
  for (std::uint32_t n : {1U, 2U, 9U, 0xffffffffU}) {
    for (std::uint32_t root : {0U, n / 2, n - 1}) {
      CHECK(scoll::to_relative(root, root, n) == 0);
      for (std::uint32_t rank : {0U, n / 3, n - 1}) {
        CHECK(scoll::to_rank(scoll::to_relative(rank, root, n), root, n) == rank);
      }
    }
  }
}

TEST_CASE("the greedy tree reaches as many members as LogP allows", "[tree][greedy]") {
  // P(t) = P(t - gap) + P(t - latency), the most members that can have the message by time t.
  for (std::uint64_t latency : {1U, 2U, 3U, 7U, 20U}) {
    std::vector<std::uint64_t> reachable(latency, 1);
    while (reachable.back() <= 3000) {
      const std::size_t t = reachable.size();
      reachable.push_back(reachable[t - 1] + reachable[t - latency]);
    }
    for (std::uint32_t n = 1; n <= 3000; n += n < 100 ? 1 : 53) {
      const auto first =
          std::find_if(reachable.begin(), reachable.end(), [&](std::uint64_t p) { return p >= n; });
      const scoll::greedy_table tree(n, latency, 1);
      CAPTURE(latency, n);
      CHECK(scoll::predict(tree, n, latency, 1, 0).reached ==
            static_cast<std::uint64_t>(first - reachable.begin()));
    }
  }
}

TEST_CASE("predicted times are those of the model", "[tree][predict]") {
  const std::uint32_t n = 1024;
  CHECK(scoll::predict(greedy{7, 2, 0}, n, 7, 1, 0).reached == 34);
  CHECK(scoll::predict(knomial{2}, n, 7, 1, 0).reached == 70);
  CHECK(scoll::predict(knomial{6}, n, 7, 1, 0).reached == 42);
  CHECK(scoll::predict(flat{}, n, 7, 1, 0).reached == 1022 + 7);
  CHECK(scoll::predict(chain{}, n, 7, 1, 0).reached == 1023 * 7);
  std::uint64_t best_kary = ~std::uint64_t{0};
  for (std::uint32_t radix = 2; radix <= 64; ++radix) {
    best_kary = std::min(best_kary, scoll::predict(kary{radix}, n, 7, 1, 0).reached);
  }
  CHECK(best_kary == 45);

  const auto alone = scoll::predict(knomial{2}, 1, 7, 1, 3);
  CHECK((alone.reached == 0 && alone.merged == 0 && alone.levels == 1 && alone.root_fan_out == 0));
  // Root sends at 0 and 1; replies are back at 14 and 15; merged one after the other.
  CHECK(scoll::predict(flat{}, 3, 7, 1, 5).merged == 14 + 5 + 5);
  CHECK(scoll::predict(chain{}, 3, 7, 1, 5).merged == 14 + 7 + 5 + 7 + 5);
  // Built for the round trip, it beats the tree that is best one way.
  for (std::uint32_t merge : {1U, 4U, 10U}) {
    CAPTURE(merge);
    CHECK(scoll::predict(greedy{7, 1, merge}, n, 7, 1, merge).merged <
          scoll::predict(greedy{7, 2, 0}, n, 7, 1, merge).merged);
    // A heuristic, once merging is serial: within 3 % of the best radix.
    for (std::uint32_t radix = 2; radix <= 32; ++radix) {
      CHECK(scoll::predict(greedy{7, 1, merge}, n, 7, 1, merge).merged * 100 <=
            scoll::predict(knomial{radix}, n, 7, 1, merge).merged * 103);
    }
  }
}

TEST_CASE("greedy tables are shared and safe between threads", "[tree][greedy]") {
  const auto table = greedy{7, 1, 2}.table(500);
  CHECK(greedy{7, 1, 2}.table(500) == table);
  CHECK(greedy{14, 2, 4}.table(500) == table);  // only the ratio matters
  CHECK(greedy{7, 1, 3}.table(500) != table);

  const auto tree = scoll::any_tree::resolve(greedy{7, 1, 2}, 500).value();
  const ranks before = children_of(tree, 500, 0);
  const auto churn = [](std::uint32_t seed) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < 400; ++i)
      sum += greedy{1 + (i * 7 + seed) % 90, 1, 0}.table(40 + i % 5)->fan_out(40 + i % 5, 0);
    return sum;
  };
  std::vector<std::uint64_t> sums(4);
  std::vector<std::thread> threads;
  for (std::uint64_t& sum : sums) threads.emplace_back([&sum, &churn] { sum = churn(3); });
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<std::uint64_t>(4, sums[0]));
  CHECK(children_of(tree, 500, 0) == before);
  CHECK(greedy{7, 1, 2}.table(500) != table);  // let go by the cache, alive here
  CHECK(table->members() == 500);
}

TEST_CASE("greedy takes extreme parameters", "[tree][greedy]") {
  const std::uint32_t most = 0xffffffffU;
  CHECK(greedy{1, most, 0}.subtree_levels(100, 0) > 7);  // sending is dear: deeper than binomial
  CHECK(greedy{most, 1, 0}.fan_out(100, 0) == 99);       // latency is dear: flat
  CHECK(greedy{most, most, most}.subtree_nodes(1000, 0) == 1000);
  CHECK(greedy{most, 1, most}.table(greedy::max_members)->members() == greedy::max_members);
}

TEST_CASE("a tree named by a root is the tree its members decode", "[tree][wire]") {
  REQUIRE(scoll::register_tree<rack_tree>());
  const tree_spec specs[] = {flat{},
                             chain{},
                             kary{65535},
                             knomial{2},
                             greedy{0xfffffffeU, 0x01020304, 5},
                             scoll::zoned{2, 65535},
                             rack_tree{16}};
  for (const tree_spec& spec : specs) {
    std::array<std::byte, scoll::tree_spec_bytes> bytes{};
    scoll::encode_tree(spec, bytes);
    CHECK(scoll::decode_tree(bytes) == spec);
    CHECK(scoll::parse_tree(scoll::to_string(spec)) == spec);
    CHECK(scoll::check_tree(spec, 10) == tree_fault::none);
    const auto tree = scoll::any_tree::resolve(spec, 10);
    REQUIRE(tree);
    CHECK(tree->spec() == spec);
  }
  std::array<std::byte, scoll::tree_spec_bytes> bytes{};
  scoll::encode_tree(kary{0x0102}, bytes);
  CHECK((bytes[0] == std::byte{2} && bytes[1] == std::byte{2} && bytes[2] == std::byte{1} &&
         bytes[3] == std::byte{0}));
  CHECK(tree_spec{} == tree_spec(knomial{8}));
  CHECK(children_of(scoll::any_tree{}, 20, 0) == children_of(knomial{8}, 20, 0));
}

TEST_CASE("what is not a tree is refused with a reason", "[tree][wire]") {
  const auto fault = [](std::uint8_t kind, tree_params params, std::uint32_t n = 10) {
    const tree_spec spec(kind, params);
    const tree_fault why = scoll::check_tree(spec, n);
    CHECK(scoll::any_tree::resolve(spec, n).has_value() == (why == tree_fault::none));
    return why;
  };
  for (std::uint8_t kind : {kary::kind, knomial::kind}) {
    CHECK(fault(kind, {0, 0, 0}) == tree_fault::bad_parameters);
    CHECK(fault(kind, {1, 0, 0}) == tree_fault::bad_parameters);
    CHECK(fault(kind, {2, 0, 0}) == tree_fault::none);
    CHECK(fault(kind, {65535, 0, 0}) == tree_fault::none);
    CHECK(fault(kind, {65536, 0, 0}) == tree_fault::bad_parameters);
    CHECK(fault(kind, {2, 1, 0}) == tree_fault::bad_parameters);
    CHECK(fault(kind, {2, 0, 1}) == tree_fault::bad_parameters);
  }
  CHECK(fault(flat::kind, {1, 0, 0}) == tree_fault::bad_parameters);
  CHECK(fault(chain::kind, {0, 0, 7}) == tree_fault::bad_parameters);
  CHECK(fault(greedy::kind, {0, 1, 0}) == tree_fault::bad_parameters);
  CHECK(fault(greedy::kind, {1, 0, 0}) == tree_fault::bad_parameters);
  CHECK(fault(greedy::kind, {1, 1, 0}, greedy::max_members + 1) == tree_fault::too_many_members);
  CHECK(fault(scoll::zoned::kind, {2, 2, 0}) == tree_fault::none);
  CHECK(fault(scoll::zoned::kind, {65535, 65535, 0}) == tree_fault::none);
  for (const tree_params wrong :
       {tree_params{1, 2, 0}, {2, 1, 0}, {0, 2, 0}, {2, 0, 0}, {65536, 2, 0}, {2, 65536, 0}, {2, 2, 1}})
    CHECK(fault(scoll::zoned::kind, wrong) == tree_fault::bad_parameters);
  CHECK(fault(scoll::zoned::kind, {2, 2, 0}, scoll::zoned::max_members + 1) == tree_fault::too_many_members);
  CHECK(fault(flat::kind, {}, 0) == tree_fault::no_members);
  for (unsigned kind : {6U, 127U, 128U, 255U}) {
    CHECK(fault(static_cast<std::uint8_t>(kind), {2, 0, 0}) == tree_fault::unknown_kind);
  }
  CHECK(scoll::describe(tree_fault::unknown_kind) ==
        std::string("this member knows no spanning tree of that kind"));

  for (const char* text :
       {"", "oak", "knomial", "knomial:", "knomial:1", "knomial:x", "knomial:2,", "knomial:2,1", "kary:-2",
        "flat:1", "zoned", "zoned:2", "zoned:2,1", "zoned:1,2", "zoned:2,2,2", "greedy:1", "greedy:1,1,1,1",
        "knomial:99999999999", "knomial:8 "}) {
    CAPTURE(text);
    CHECK_FALSE(scoll::parse_tree(text));
  }
  CHECK(scoll::parse_tree("greedy:7,1") == tree_spec(greedy{7, 1, 0}));
  CHECK(scoll::to_string(greedy{7, 1, 0}) == "greedy:7,1");
  CHECK(scoll::to_string(tree_spec(250, {1, 0, 2})) == "250:1,0,2");
}

TEST_CASE("whatever arrives as a tree is refused or is one", "[tree][wire]") {
  std::uint64_t state = 42;
  const auto draw = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state >> 32) >> (state >> 27 & 31);
  };
  int trees = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto kind = static_cast<std::uint8_t>(draw() % 8);
    const tree_params params{draw(), draw() % 4, draw() % 2};
    const tree_spec sent(kind, params);
    std::array<std::byte, scoll::tree_spec_bytes> bytes{};
    scoll::encode_tree(sent, bytes);
    const bool has_table = sent.kind == greedy::kind || sent.kind == scoll::zoned::kind;
    const std::uint32_t n = has_table ? draw() % 1000 : draw();
    const auto tree = scoll::any_tree::resolve(scoll::decode_tree(bytes), n);
    if (!tree) continue;
    ++trees;
    const std::uint32_t r = draw() % n;
    if (tree->fan_out(n, r) > 5000) continue;
    INFO(scoll::to_string(sent) << " n=" << n << " r=" << r);
    CHECK(spot_defect(*tree, n, r) == "");
  }
  CHECK(trees > 1000);
}

namespace {

struct impostor : rack_tree {
  static constexpr std::string_view name = "other";
  static std::optional<impostor> from_params(const tree_params&) { return impostor{}; }
};
struct namesake : rack_tree {
  static constexpr std::uint8_t kind = 131;
  static std::optional<namesake> from_params(const tree_params&) { return namesake{}; }
};
struct false_flat : namesake {
  static constexpr std::string_view name = "flat";
  static std::optional<false_flat> from_params(const tree_params&) { return false_flat{}; }
};

}  // namespace

TEST_CASE("a tree can be registered twice but not under another's number or name", "[tree][wire]") {
  CHECK(scoll::register_tree<rack_tree>());
  CHECK(scoll::register_tree<rack_tree>());
  CHECK_FALSE(scoll::register_tree<impostor>());
  CHECK_FALSE(scoll::register_tree<namesake>());
  CHECK_FALSE(scoll::register_tree<false_flat>());
  CHECK(scoll::check_tree(tree_spec(rack_tree::kind, {1, 0, 0}), 10) == tree_fault::bad_parameters);
  CHECK(scoll::to_string(rack_tree{16}) == "rack:16");
}

TEST_CASE("trees are drawn as text and for Graphviz", "[tree][draw]") {
  std::ostringstream text;
  scoll::draw_text(text, knomial{2}, 6, [](std::uint32_t r) { return "node" + std::to_string(r); });
  CHECK(text.str() ==
        "node0 (6)\n"
        "├─ node2 (2)\n"
        "│  └─ node3\n"
        "├─ node4 (2)\n"
        "│  └─ node5\n"
        "└─ node1\n");

  std::ostringstream deep;
  scoll::draw_text(deep, chain{}, 3);
  CHECK(deep.str() == "0 (3)\n└─ 1 (2)\n   └─ 2\n");

  std::ostringstream dot;
  scoll::draw_dot(dot, flat{}, 3, [](std::uint32_t r) { return r == 0 ? "the \"root\"" : "a\nb"; });
  CHECK(dot.str() ==
        "digraph tree {\n  ordering=out;\n  node [shape=box];\n"
        "  0 [label=\"the \\\"root\\\"\"];\n  0 -> 1;\n  0 -> 2;\n"
        "  1 [label=\"a\\nb\"];\n  2 [label=\"a\\nb\"];\n}\n");
}
