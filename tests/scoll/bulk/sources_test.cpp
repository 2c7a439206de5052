#include "scoll/bulk/sources.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "scoll/bulk/predict.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/bulk/trees.hpp"

using namespace scoll;
using namespace scoll::detail;
using scoll::test::tree_of;

namespace {

const any_tree default_tree;

static_assert(bulk_routes(bulk_plan::chain(), 8, 4, default_tree).intake(3).source(1) == 2);
static_assert(bulk_routes(bulk_plan::circulant(), 9, 5, default_tree).intake(8).fetch(3) == bulk_fetch{2, 3});
static_assert(bulk_routes(bulk_plan::binary(), 7, 1, default_tree).is_consumer(2, 6));

/// Checks all routes of a plan against each other.
class routes_check {
 public:
  routes_check(const bulk_plan& plan, std::uint32_t n, std::uint32_t pieces, const any_tree& control)
      : n_(n),
        pieces_(pieces),
        routes_(plan, n, pieces, control),
        most_hops_(shape_of(plan, {.count = n, .control = shape_of(control, n)}).hops),
        hops_(n * std::size_t{pieces}) {
    if (plan == bulk_plan::circulant()) ++most_hops_;
  }

  /// Returns the first defect, or nothing.
  const char* defect() {
    for (std::uint32_t r = 1; r < n_; ++r) {
      if (const char* found = check_intake(r)) return found;
    }
    for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
      for (std::uint32_t r = 1; r < n_; ++r) {
        if (hops_to(r, piece) > most_hops_) return "the edges of a piece are no tree from the root";
      }
    }
    return check_consumers();
  }

 private:
  using edge = std::pair<std::uint32_t, std::uint32_t>;

  const char* check_intake(std::uint32_t r) {
    const bulk_intake intake = routes_.intake(r);
    std::vector<bool> seen(pieces_);
    std::vector<std::uint32_t> used, sources;
    for (std::uint32_t round = 0; round < intake.rounds(); ++round) {
      const auto fetch = intake.fetch(round);
      if (!fetch) continue;
      if (fetch->piece >= pieces_ || seen[fetch->piece]) return "a piece is fetched twice, or does not exist";
      if (fetch->source >= n_ || fetch->source != intake.source(fetch->piece)) return "a source is wrong";
      seen[fetch->piece] = true;
      used.push_back(fetch->source);
    }
    if (std::ranges::find(seen, false) != seen.end()) return "a piece is never fetched";
    intake.for_each_source([&](std::uint32_t source) { sources.push_back(source); });
    for (const std::uint32_t source : sources) edges_.insert({source, r});
    std::ranges::sort(used);
    std::ranges::sort(sources);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    return used == sources ? nullptr : "the sources are not those that give pieces";
  }

  /// The number of hops by which a piece reaches r, or more than there can be if it does not.
  std::uint32_t hops_to(std::uint32_t r, std::uint32_t piece) {
    if (r == 0) return 0;
    std::uint32_t& known = hops_[r * std::size_t{pieces_} + piece];
    if (known == 0) {
      known = most_hops_ + 1;  // what a circle would find
      known = 1 + hops_to(routes_.intake(r).source(piece), piece);
    }
    return known;
  }

  const char* check_consumers() {
    std::set<edge> found;
    for (std::uint32_t r = 0; r < n_; ++r) {
      bool twice = false;
      routes_.for_each_consumer(r, [&](std::uint32_t c) { twice = !found.insert({r, c}).second || twice; });
      if (twice) return "a consumer is named twice";
    }
    if (found != edges_) return "the consumers are not the inverse of the sources";
    for (std::uint32_t r = 0; r < n_; ++r) {
      for (std::uint32_t other = 0; other < n_; other += 1 + n_ / 32) {
        if (routes_.is_consumer(r, other) != edges_.contains({r, other})) return "is_consumer is wrong";
      }
    }
    return nullptr;
  }

  std::uint32_t n_;
  std::uint32_t pieces_;
  bulk_routes routes_;
  std::uint32_t most_hops_;
  std::vector<std::uint32_t> hops_;  // by rank and piece; 0: not known yet
  std::set<edge> edges_;
};

void check(const bulk_plan& plan, std::uint32_t n, std::uint32_t pieces, const any_tree& control) {
  if (const char* defect = routes_check(plan, n, pieces, control).defect()) {
    FAIL(to_string(plan) << ", n " << n << ", " << pieces << " pieces: " << defect);
  }
}

constexpr std::array all_plans{bulk_plan::whole(),    bulk_plan::chain(),    bulk_plan::binary(),
                               bulk_plan::kary(3),    bulk_plan::kary(255),  bulk_plan::knomial(2),
                               bulk_plan::knomial(5), bulk_plan::circulant()};

std::uint32_t slots_by_width(std::uint32_t n) {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(std::bit_width(n - 1)));
}

}  // namespace

TEST_CASE("each piece takes a tree from the root, in groups of up to 40", "[bulk][routes]") {
  for (const bulk_plan& plan : all_plans) {
    for (std::uint32_t n = 1; n <= 40; ++n) {
      for (std::uint32_t pieces = 0; pieces <= 3 * slots_by_width(n) + 1; ++pieces) {
        check(plan, n, pieces, default_tree);
      }
    }
  }
}

TEST_CASE("each piece takes a tree from the root, in larger groups", "[bulk][routes]") {
  std::mt19937 random(3);
  std::vector<std::uint32_t> sizes{127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024};
  for (std::uint32_t n = 41; n <= 1023; n += 2 + 2 * static_cast<std::uint32_t>(random() % 20))
    sizes.push_back(n);
  for (const std::uint32_t n : sizes) {
    const auto few = static_cast<std::uint32_t>(1 + random() % slots_by_width(n));
    for (const bulk_plan& plan : all_plans) check(plan, n, few, default_tree);
    const auto many = static_cast<std::uint32_t>(1 + random() % (3 * slots_by_width(n) + 1));
    check(bulk_plan::circulant(), n, many, default_tree);
  }
}

TEST_CASE("the plan whole takes the tree of the request", "[bulk][routes]") {
  for (const tree_spec& spec : {tree_spec(flat{}), tree_spec(chain{}), tree_spec(kary{4})}) {
    const any_tree control = tree_of(spec);
    for (const std::uint32_t n : {1U, 2U, 17U, 100U}) {
      check(bulk_plan::whole(), n, 3, control);
      const bulk_routes routes(bulk_plan::whole(), n, 3, control);
      for (std::uint32_t r = 1; r < n; ++r) CHECK(routes.intake(r).source(2) == control.parent(n, r));
    }
  }
}

TEST_CASE("with few pieces most edges of the circulant plan carry nothing and are not named",
          "[bulk][routes]") {
  const bulk_routes routes(bulk_plan::circulant(), 1024, 1, default_tree);
  std::uint32_t edges = 0;
  for (std::uint32_t r = 0; r < 1024; ++r) routes.for_each_consumer(r, [&](std::uint32_t) { ++edges; });
  CHECK(edges == 1023);
}

TEST_CASE("the root is nobody's consumer", "[bulk][routes]") {
  for (const bulk_plan& plan : all_plans) {
    const bulk_routes routes(plan, 33, 40, default_tree);
    for (std::uint32_t r = 0; r < 33; ++r) {
      CHECK_FALSE(routes.is_consumer(r, 0));
      routes.for_each_consumer(r, [&](std::uint32_t consumer) { CHECK(consumer != 0); });
    }
  }
}
