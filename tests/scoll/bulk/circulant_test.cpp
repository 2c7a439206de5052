#include "scoll/bulk/circulant.hpp"

#include <random>
#include <utility>
#include <vector>

#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::detail;

namespace {

constexpr std::uint32_t slots_of(std::uint32_t n) {
  return circulant_skips(n).slots();
}

/// The schedules of all members, as they meet.
class meeting {
 public:
  meeting(std::uint32_t n, std::uint32_t pieces) : n_(n), pieces_(pieces), has_(n * std::size_t{pieces}) {
    for (std::uint32_t piece = 0; piece < pieces; ++piece) has_[piece] = true;
    for (std::uint32_t r = 1; r < n; ++r) schedules_.emplace_back(n, r, pieces);
  }

  /// Plays all rounds, and returns what went wrong first, or nothing.
  const char* play() {
    const std::uint32_t rounds = slots_of(n_) - 1 + pieces_;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      if (const char* defect = play(round)) return defect;
    }
    for (const bool has : has_) {
      if (!has) return "a piece is missing";
    }
    return nullptr;
  }

 private:
  const char* play(std::uint32_t round) {
    arrived_.clear();
    sent_.assign(n_, false);
    for (std::uint32_t r = 1; r < n_; ++r) {
      const circulant_schedule& schedule = schedules_[r - 1];
      const auto piece = schedule.piece_in(round);
      if (!piece) continue;
      const std::uint32_t slot = schedule.slot_in(round);
      const std::uint32_t source = schedule.source(slot);
      if (*piece >= pieces_ || schedule.slot_of(*piece) != slot) return "the slot of a piece is wrong";
      if (!schedule.brings_any(slot)) return "a slot brings something that should bring nothing";
      if (!has_[at(source, *piece)]) return "the source does not have the piece yet";
      if (has_[at(r, *piece)]) return "a piece arrives twice";
      if (sent_[source]) return "a member sends two pieces in a round";
      sent_[source] = true;
      arrived_.push_back(at(r, *piece));
    }
    for (const std::size_t place : arrived_) has_[place] = true;
    return nullptr;
  }

  std::size_t at(std::uint32_t r, std::uint32_t piece) const { return r * std::size_t{pieces_} + piece; }

  std::uint32_t n_;
  std::uint32_t pieces_;
  std::vector<bool> has_;
  std::vector<circulant_schedule> schedules_;
  std::vector<bool> sent_;
  std::vector<std::size_t> arrived_;
};

void play(std::uint32_t n, std::uint32_t pieces) {
  if (const char* defect = meeting(n, pieces).play())
    FAIL("n " << n << ", " << pieces << " pieces: " << defect);
}

/// The hops that a piece takes to r, each by the schedule of the member that it reaches.
std::uint32_t hops_to(std::uint32_t n, std::uint32_t r, std::uint32_t piece, std::uint32_t pieces) {
  std::uint32_t hops = 0;
  for (; r != 0 && hops <= 2 * slots_of(n); ++hops) {
    const circulant_schedule schedule(n, r, pieces);
    r = schedule.source(schedule.slot_of(piece));
  }
  return hops;
}

/// The pieces that r gets, with their sources.
using arrivals = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

arrivals arrivals_of(std::uint32_t n, std::uint32_t r, std::uint32_t pieces) {
  arrivals found;
  const circulant_schedule schedule(n, r, pieces);
  for (std::uint32_t round = 0; round < schedule.rounds(); ++round) {
    if (const auto piece = schedule.piece_in(round)) {
      found.emplace_back(*piece, schedule.source(schedule.slot_in(round)));
    }
  }
  return found;
}

constexpr circulant_schedule of_nine(9, 8, 5);
static_assert(of_nine.rounds() == 4 - 1 + 5);
static_assert(of_nine.source(3) == 3 && of_nine.source(0) == 7);
static_assert(sizeof(circulant_schedule) < 200);

}  // namespace

TEST_CASE("up to 128 members have all pieces after q - 1 + b rounds, one send and one receive each",
          "[bulk][circulant]") {
  for (std::uint32_t n = 2; n <= 128; ++n) {
    for (std::uint32_t pieces = 1; pieces <= 3 * slots_of(n) + 1; ++pieces) play(n, pieces);
  }
}

TEST_CASE("up to 1,025 members have all pieces after q - 1 + b rounds, one send and one receive each",
          "[bulk][circulant]") {
  std::mt19937 random(1);
  for (std::uint32_t n = 129; n <= 1025; n += 2) {
    for (int i = 0; i < 3; ++i) play(n, 1 + static_cast<std::uint32_t>(random() % (3 * slots_of(n) + 1)));
  }
  for (const std::uint32_t n : {255U, 256U, 257U, 511U, 512U, 513U, 1023U, 1024U, 1025U}) {
    const std::uint32_t q = slots_of(n);
    for (const std::uint32_t pieces : {1U, 2U, q - 1, q, q + 1, 2 * q, 3 * q + 1}) play(n, pieces);
  }
}

TEST_CASE("a piece takes at most q + 1 hops in groups of any size", "[bulk][circulant]") {
  std::mt19937 random(2);
  for (int i = 0; i < 20'000; ++i) {
    const auto n = static_cast<std::uint32_t>(2 + (random() >> random() % 31) % 0xfffffffe);
    const auto r = static_cast<std::uint32_t>(1 + random() % (n - 1));
    const auto pieces = static_cast<std::uint32_t>(1 + (random() >> random() % 32) % 65'536);
    const auto piece = static_cast<std::uint32_t>(random() % pieces);
    if (hops_to(n, r, piece, pieces) > slots_of(n) + 1) {
      FAIL("n " << n << ", rank " << r << ", piece " << piece << " of " << pieces);
    }
  }
}

TEST_CASE("members of every version compute these schedules", "[bulk][circulant]") {
  CHECK(arrivals_of(2, 1, 3) == arrivals{{0, 0}, {1, 0}, {2, 0}});
  CHECK(arrivals_of(5, 3, 4) == arrivals{{2, 0}, {1, 2}, {0, 1}, {3, 0}});
  CHECK(arrivals_of(9, 8, 5) == arrivals{{2, 3}, {1, 7}, {0, 6}, {3, 5}, {4, 3}});
  CHECK(arrivals_of(17, 1, 6) == arrivals{{0, 0}, {5, 0}, {1, 16}, {3, 15}, {2, 13}, {4, 9}});
  CHECK(arrivals_of(17, 16, 7) == arrivals{{0, 11}, {2, 7}, {1, 15}, {4, 14}, {3, 13}, {5, 11}, {6, 7}});
  CHECK(arrivals_of(100, 77, 9) ==
        arrivals{{0, 52}, {2, 27}, {1, 76}, {6, 75}, {4, 73}, {3, 70}, {5, 64}, {7, 52}, {8, 27}});
}
