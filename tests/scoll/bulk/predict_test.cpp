#include "scoll/bulk/predict.hpp"

#include <random>
#include <vector>

#include "scoll/tree/chain.hpp"
#include "scoll/tree/flat.hpp"
#include "tests/catch.hpp"

using namespace scoll;

namespace {

constexpr std::uint64_t mib = 1U << 20U;
constexpr std::uint64_t gib = 1U << 30U;
constexpr bulk_costs unmeasured{};

/// Members each of which has a host of its own.
constexpr bulk_members apart(std::uint32_t n) {
  return {.count = n, .on_one_host = 1, .control = shape_of(knomial{8}, n)};
}
constexpr bulk_members together(std::uint32_t n) {
  return {.count = n, .on_one_host = n, .control = shape_of(knomial{8}, n)};
}
constexpr bulk_pieces pieces_of(std::uint64_t length, std::uint32_t piece_bytes) {
  return bulk_pieces::divide(length, piece_bytes).value();
}
bulk_choice choose(const bulk_members& members, std::uint64_t length,
                   const bulk_choice_options& options = {}) {
  return choose_bulk(members, length, unmeasured, options).value();
}

// 15 members behind each other, 16 pieces of 1 MiB: 30 rounds of 40 us and 1 MiB * 0.36 ns.
static_assert(predict_bulk(bulk_plan::chain(), apart(16), pieces_of(16 * mib, 1U << 20U), unmeasured) ==
              (30 * (40'000'000 + mib * 360) + 999) / 1000);
static_assert(choose_bulk(apart(2), 1, unmeasured)->plan == bulk_plan::whole());

/// The least time over the sizes of pieces.
std::uint64_t best_time(const bulk_plan& plan, const bulk_members& members, std::uint64_t length,
                        const bulk_costs& costs) {
  return choose_bulk(members, length, costs, {.pinned = plan})->predicted_ns;
}

bulk_plan any_plan(std::mt19937& random) {
  const auto radix = static_cast<std::uint8_t>(2 + random() % 254);
  switch (random() % 5) {
    case 0: return bulk_plan::whole();
    case 1: return bulk_plan::chain();
    case 2: return bulk_plan::kary(radix);
    case 3: return bulk_plan::knomial(radix);
    default: return bulk_plan::circulant();
  }
}

}  // namespace

TEST_CASE("the shapes of plans are those of their trees", "[bulk][predict]") {
  CHECK(shape_of(bulk_plan::whole(), {.count = 9, .control = shape_of(flat{}, 9)}) ==
        bulk_shape{1, 8, bulk_ways({1, 8, 8}), 0});
  CHECK(shape_of(bulk_plan::chain(), apart(16)) == bulk_shape{15, 1, bulk_ways({15, 15, 15}), 0});
  // To member 14 a piece goes by 2 and 6, the last child each time. Both children of the root have two.
  CHECK(shape_of(bulk_plan::binary(), apart(15)) == bulk_shape{3, 2, bulk_ways({3, 6, 6}), 1});
  CHECK(shape_of(bulk_plan::binary(), apart(6)) == bulk_shape{2, 2, bulk_ways({2, 3, 4}), 0});
  CHECK(shape_of(bulk_plan::kary(4), apart(3)) == bulk_shape{1, 2, bulk_ways({1, 2, 2}), 0});
  CHECK(shape_of(bulk_plan::circulant(), apart(16)) == bulk_shape{4, 1, bulk_ways({4, 4, 4}), 0});
  CHECK(shape_of(bulk_plan::circulant(), apart(17)) == bulk_shape{5, 1, bulk_ways({5, 5, 5}), 0});
  // One member has no children, and levels beyond 1,024 are not walked.
  CHECK(shape_of(knomial{8}, 1).hops == 0);
  CHECK(shape_of(chain{}, 5000) == bulk_shape{4999, 1, bulk_ways({4999, 4999, 4999}), 0});
}

TEST_CASE("the ways of a shape are the longest of all, whatever hops and sends cost", "[bulk][predict]") {
  const auto longest = [](const auto& ways, std::uint32_t hop, std::uint32_t send, std::uint32_t all) {
    std::uint32_t most = 0;
    for (const bulk_way& w : ways) most = std::max(most, hop * w.hops + send * w.sends + all * w.all_sends);
    return most;
  };
  for (const std::uint32_t n : {2U, 7U, 12U, 36U, 64U, 113U, 1024U}) {
    for (const std::uint32_t k : {2U, 3U, 8U}) {
      const auto check = [&](const auto& tree) {
        std::vector<bulk_way> all(n);
        for (std::uint32_t r = 0; r < n; ++r) {
          std::uint32_t sends = 0;
          for (const std::uint32_t child : children(tree, n, r))
            all[child] = {all[r].hops + 1, all[r].sends + ++sends, all[r].all_sends + tree.fan_out(n, r)};
        }
        const bulk_shape shape = shape_of(tree, n);
        CAPTURE(n, k);
        CHECK(longest(shape.ways, 1, 0, 0) == longest(all, 1, 0, 0));
        CHECK(longest(shape.ways, 1, 2, 0) == longest(all, 1, 2, 0));
        CHECK(longest(shape.ways, 5, 0, 9) == longest(all, 5, 0, 9));
        CHECK(longest(shape.ways, 10, 20, 3) == longest(all, 10, 20, 3));
      };
      check(kary{k});
      check(knomial{k});
    }
  }
}

TEST_CASE("a plan takes the time that the formula gives", "[bulk][predict]") {
  const bulk_costs costs{.piece_ns = 1000, .link_ps = 2000, .hash_ps = 1000, .host_ps = 0};
  const bulk_pieces pieces = pieces_of(4 * 65'536, 65'536);
  const std::uint64_t link = 65'536 * 2, landing = 1000 + 65'536, piece = landing + link;
  CHECK(predict_bulk(bulk_plan::chain(), apart(8), pieces, costs) == 10 * piece);
  // 0.27 * 9 + 1.3 * 3 - 0.5 rounds more than the best schedule.
  CHECK(predict_bulk(bulk_plan::circulant(), apart(8), pieces, costs) ==
        6 * piece + (27 * 9 + 390 - 50) * 65'536 / 100 * 2);
  // Members 2 and 6 are last children, and take longer than the first ones 1, 3 and 7. Member 2 has two children,
  // as the root, and begins when member 1 has 4 pieces, not one.
  CHECK(predict_bulk(bulk_plan::binary(), apart(8), pieces, costs) == 5 * landing + (3 * 2 + 4 + 3) * link);
  CHECK(predict_bulk(bulk_plan::knomial(2), apart(8), pieces, costs) == 6 * landing + (3 * 3 + 6) * link);
  bulk_members members = apart(8);
  members.control = {.hops = 2, .fan_out = 3, .ways = bulk_ways({2, 4, 6})};
  CHECK(predict_bulk(bulk_plan::whole(), members, pieces, costs) == 2 * 4 * landing + 4 * 4 * link);
  // A source answers up to four orders of a child at once. So the first four pieces reach a child after they have
  // gone to all others; the fifth goes to one child after the other.
  const bulk_pieces five = pieces_of(5 * 65'536, 65'536);
  CHECK(predict_bulk(bulk_plan::whole(), members, five, costs) == 2 * 5 * landing + (4 * 6 + 1 * 4) * link);
  bulk_costs far = costs;
  far.hop_ns = 5000;
  CHECK(predict_bulk(bulk_plan::chain(), apart(8), pieces, far) == 10 * piece + 9 * 5000);
  const bulk_costs bytes_alone{.piece_ns = 0, .link_ps = 1000, .hash_ps = 0, .host_ps = 0};
  CHECK(predict_bulk(bulk_plan::chain(), apart(2), pieces_of(65'537, 65'536), bytes_alone) >= 65'537);
}

TEST_CASE("the busiest host bounds every plan", "[bulk][predict]") {
  const bulk_pieces pieces = pieces_of(16 * mib, 1U << 20U);
  const bulk_costs costs{.piece_ns = 1, .link_ps = 1, .hash_ps = 1, .host_ps = 1000};
  for (const auto& plan :
       {bulk_plan::chain(), bulk_plan::binary(), bulk_plan::circulant(), bulk_plan::whole()}) {
    CHECK(predict_bulk(plan, together(16), pieces, costs) == 15 * 16 * mib);
    CHECK(predict_bulk(plan, {.count = 16, .on_one_host = 4, .control = shape_of(knomial{8}, 16)}, pieces,
                       costs) == 4 * 16 * mib);
  }
}

TEST_CASE("on a long way, pieces come no faster than their orders", "[bulk][predict]") {
  const bulk_costs far{.piece_ns = 0, .link_ps = 100, .hash_ps = 0, .host_ps = 0, .hop_ns = 1'000'000};
  const auto time_in = [&](std::uint32_t piece_bytes) {
    return predict_bulk(bulk_plan::chain(), apart(3), pieces_of(64 * mib, piece_bytes), far);
  };
  // Seven pieces of 64 KiB, or two of 1 MiB, in each 2 ms there and back.
  CHECK(time_in(65'536) >= 1023 * 2'000'000 / 7);
  CHECK(time_in(1U << 20U) >= 63 * 2'000'000 / 2);
  CHECK(time_in(1U << 20U) < 80'000'000);
  CHECK(choose_bulk(apart(3), 64 * mib, far)->piece_bytes == 1U << 20U);
}

TEST_CASE("a host whose small pieces cost less gets small pieces", "[bulk][predict]") {
  bulk_costs costs{.piece_ns = 100, .link_ps = 10, .hash_ps = 10, .host_ps = 1000};
  CHECK(choose_bulk(together(16), 16 * mib, costs)->piece_bytes == 1U << 18U);
  costs.host_small_ps = 900;
  const bulk_choice small = choose_bulk(together(16), 16 * mib, costs).value();
  CHECK(small.piece_bytes == 1U << 18U);
  CHECK(small.predicted_ns == 15 * 16 * mib * 900 / 1000);
  CHECK(predict_bulk(bulk_plan::chain(), together(16), pieces_of(16 * mib, 1U << 19U), costs) ==
        15 * 16 * mib * 950 / 1000);
  costs.host_small_ps = 1200;  // between two members
  CHECK(choose_bulk(together(16), 16 * mib, costs)->piece_bytes == 1U << 18U);
  CHECK(predict_bulk(bulk_plan::chain(), together(16), pieces_of(16 * mib, 1U << 18U), costs) ==
        15 * 16 * mib);
}

TEST_CASE("no prediction is below the time in which a link carries all bytes", "[bulk][predict]") {
  std::mt19937_64 numbers(4);
  std::mt19937 random(5);
  for (int i = 0; i < 50'000; ++i) {
    const std::uint64_t length = (numbers() >> numbers() % 64) % (most_bulk_bytes + 1);
    bulk_members members = apart(static_cast<std::uint32_t>(2 + (random() >> random() % 31) % 100'000));
    members.on_one_host = static_cast<std::uint32_t>(1 + random() % members.count);
    const bulk_costs costs{.piece_ns = random() % 1'000'000,
                           .link_ps = random() % 100'000,
                           .hash_ps = random() % 1000,
                           .host_ps = random() % 1000};
    const bulk_plan plan = any_plan(random);
    const auto best = choose_bulk(members, length, costs, {.pinned = plan}).value();
    if (best.plan != plan || best.predicted_ns < length * costs.link_ps / 1000) {
      FAIL(to_string(plan) << ", n " << members.count << ", " << length << " bytes: " << best.predicted_ns);
    }
  }
}

TEST_CASE("times beyond all measure do not start again from 0", "[bulk][predict]") {
  const bulk_costs costs{.piece_ns = UINT64_MAX, .link_ps = UINT64_MAX, .hash_ps = 1, .host_ps = UINT64_MAX};
  const auto choice = choose_bulk(together(0xffffffff), most_bulk_bytes, costs).value();
  CHECK(choice.predicted_ns == UINT64_MAX / 1000 + 1);
  CHECK(choice.plan == bulk_plan::chain());
}

TEST_CASE("there is a choice at every extreme", "[bulk][predict]") {
  for (const std::uint32_t n : {1U, 2U, 3U, 1024U, 0xffffffffU}) {
    CAPTURE(n);
    CHECK(choose(apart(n), 0) == bulk_choice{bulk_plan::whole(), 65'536, 0});
    CHECK(choose(apart(n), 1).piece_bytes == 65'536);
    CHECK(choose(apart(n), most_bulk_bytes).piece_bytes == 1U << 20U);
    CHECK_FALSE(choose_bulk(apart(n), most_bulk_bytes + 1, unmeasured));
    CHECK((choose(apart(n), mib).predicted_ns == 0) == (n == 1));
  }
}

TEST_CASE("two members need no pieces", "[bulk][predict]") {
  for (const std::uint64_t length : {std::uint64_t{1}, mib, 64 * gib}) {
    CHECK(choose(apart(2), length).plan == bulk_plan::whole());
    CHECK(choose(together(2), length).plan == bulk_plan::whole());
  }
}

TEST_CASE("large objects go along a chain in small groups and on the circulant graph in large ones",
          "[bulk][predict]") {
  CHECK(choose(apart(4), gib).plan == bulk_plan::chain());
  CHECK(choose(apart(16), 64 * gib).plan == bulk_plan::chain());
  CHECK(choose(apart(64), 16 * mib).plan == bulk_plan::circulant());
  CHECK(choose(apart(1024), 64 * mib).plan == bulk_plan::circulant());
}

TEST_CASE("small objects go down a tree", "[bulk][predict]") {
  const bulk_choice choice = choose(apart(64), 65'536);
  CHECK(choice.plan.kind() == bulk_plan_kind::kary);
  CHECK(choice.piece_bytes == 65'536);
}

TEST_CASE("where all members share a host, all of them are kept busy by the simplest plan",
          "[bulk][predict]") {
  bulk_costs costs;
  costs.host_ps = 1000;
  for (const std::uint32_t n : {4U, 8U, 16U}) {
    const auto large = choose_bulk(together(n), 64 * mib, costs).value();
    CHECK(large.plan == bulk_plan::chain());  // what has come whole would have left the caches
    CHECK(large.piece_bytes == 1U << 18U);
    CHECK(large.predicted_ns == (n - 1) * 64 * mib);
    CHECK(choose_bulk(together(n), 65'536, costs)->plan == bulk_plan::whole());  // there are no two pieces
  }
  const auto choice_for = [&](std::uint32_t n) { return *choose_bulk(together(n), mib, costs); };
  CHECK(choice_for(4) == bulk_choice{bulk_plan::chain(), 1U << 17U, 3 * mib});
  CHECK(choice_for(8) == bulk_choice{bulk_plan::chain(), 1U << 16U, 7 * mib});
  CHECK(choice_for(16) == bulk_choice{bulk_plan::binary(), 1U << 17U, 15 * mib});
}

TEST_CASE("pieces have 256 KiB unless another size is faster", "[bulk][predict]") {
  const bulk_costs quick{.piece_ns = 100};
  CHECK(choose_bulk(apart(2), 16 * mib, quick)->piece_bytes == 1U << 18U);
  CHECK(choose_bulk(apart(2), (1U << 17U) + 1, quick)->piece_bytes == 1U << 18U);
  CHECK(choose_bulk(apart(2), 1U << 17U, quick)->piece_bytes == 1U << 17U);
  CHECK(choose(apart(2), 16 * mib).piece_bytes == 1U << 20U);  // each takes 40 us by itself
}

TEST_CASE("members that keep few pieces get a plan with one source, in order", "[bulk][predict]") {
  for (std::uint32_t n = 1; n <= 256; ++n) {
    for (const std::uint64_t length : {std::uint64_t{0}, 5 * mib, 10 * gib}) {
      const bulk_plan plan = choose(apart(n), length, {.passing = true}).plan;
      if (plan == bulk_plan::whole() || plan == bulk_plan::circulant())
        FAIL("n " << n << ": " << to_string(plan));
    }
  }
}

TEST_CASE("the choice is the simplest plan within 5 % of the fastest", "[bulk][predict]") {
  const std::vector<bulk_plan> simplest_first{bulk_plan::whole(),    bulk_plan::chain(), bulk_plan::binary(),
                                              bulk_plan::kary(3),    bulk_plan::kary(4), bulk_plan::kary(5),
                                              bulk_plan::kary(6),    bulk_plan::kary(8), bulk_plan::kary(16),
                                              bulk_plan::circulant()};
  std::mt19937_64 random(6);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t length = 1 + (random() >> random() % 64) % most_bulk_bytes;
    const bulk_members members = apart(static_cast<std::uint32_t>(2 + random() % 300));
    const bulk_costs costs{.piece_ns = random() % 500'000, .link_ps = 1 + random() % 9999, .hash_ps = 60};
    const bulk_choice choice = choose_bulk(members, length, costs).value();
    std::uint64_t least = UINT64_MAX;
    for (std::uint32_t size = least_bulk_piece_bytes; size <= most_bulk_piece_bytes; size *= 2) {
      const auto pieces = bulk_pieces::divide(length, size);
      for (const bulk_plan& plan : simplest_first) {
        const bool few = plan == bulk_plan::circulant() && pieces && pieces->count() < 4;
        if (pieces && !few) least = std::min(least, predict_bulk(plan, members, *pieces, costs));
      }
    }
    bool is_right = choice.predicted_ns <= least + least / 20;
    const bool whole_last = length > mib && members.count > 2;
    for (const bulk_plan& plan : simplest_first) {
      if (plan == bulk_plan::whole() && whole_last) continue;
      if (plan == choice.plan) break;
      for (std::uint32_t size = least_bulk_piece_bytes; size <= most_bulk_piece_bytes; size *= 2) {
        const auto pieces = bulk_pieces::divide(length, size);
        is_right = is_right && (!pieces || predict_bulk(plan, members, *pieces, costs) > least + least / 20);
      }
    }
    if (!is_right) FAIL(to_string(choice.plan) << ", n " << members.count << ", " << length << " bytes");
  }
}

TEST_CASE("from 128 KiB on no other radix is much faster", "[bulk][predict]") {
  for (const std::uint32_t n : {3U, 5U, 10U, 22U, 41U, 64U, 128U, 400U, 1024U}) {
    for (std::uint64_t length = 128U << 10U; length <= 16 * mib; length *= 2) {
      const std::uint64_t chosen = choose(apart(n), length).predicted_ns;
      for (unsigned radix = 2; radix < 256; ++radix) {
        const auto k = static_cast<std::uint8_t>(radix);
        const std::uint64_t other = std::min(best_time(bulk_plan::kary(k), apart(n), length, unmeasured),
                                             best_time(bulk_plan::knomial(k), apart(n), length, unmeasured));
        if (chosen > other + other / 10) FAIL("n " << n << ", " << length << " bytes, radix " << radix);
      }
    }
  }
}
