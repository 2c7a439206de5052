#include "gossip/liveness/merge.hpp"

#include <algorithm>
#include <vector>

#include "../catch.hpp"

using namespace scoll::gossip;

namespace {

int moved(int age, int shift) {
  return age >= old_age ? age : std::clamp(age + shift, 0, int{old_age});
}

}  // namespace

TEST_CASE("merging keeps the fresher of two ages, for all ages and all clocks") {
  // An odd length, so that vectors and what is left over are both seen.
  std::vector<std::uint8_t> own(256 * 256 + 7), heard(own.size());
  for (int shift = -254; shift <= 254; shift += shift > -4 && shift < 4 ? 1 : 5) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = static_cast<std::uint8_t>(i >> 8);
      heard[i] = static_cast<std::uint8_t>(i);
    }
    const auto before = own;
    merge_ages(own.data(), heard.data(), own.size(), shift);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < own.size(); ++i)
      wrong += own[i] != std::min(int{before[i]}, moved(heard[i], shift));
    CHECK(wrong == 0);
  }
}

TEST_CASE("ages move with the clock, and old and never stay what they are") {
  for (const int cycles : {-254, -3, -1, 0, 1, 2, 17, 254}) {
    std::vector<std::uint8_t> ages(256 + 13);
    for (std::size_t i = 0; i < ages.size(); ++i) ages[i] = static_cast<std::uint8_t>(i);
    const auto before = ages;
    shift_ages(ages.data(), ages.size(), cycles);
    for (std::size_t i = 0; i < ages.size(); ++i) CHECK(ages[i] == moved(before[i], cycles));
  }
}
