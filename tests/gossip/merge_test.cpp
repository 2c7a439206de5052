#include "gossip/liveness/merge.hpp"

#include <algorithm>
#include <vector>

#include "tests/catch.hpp"

using namespace scoll::gossip;

namespace {

int moved(int age, int shift) {
  return age >= old_age ? age : std::clamp(age + shift, 0, int{old_age});
}

}  // namespace

TEST_CASE("merging keeps the fresher of two ages, for all ages and all clocks") {
  // An odd length, so that both whole vectors and the remainder are tested.
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

TEST_CASE("only what is fresher by so many cycles is told, for all ages and all clocks") {
  std::vector<std::uint8_t> own(256 * 256 + 7), heard(own.size());
  for (const int shift : {0, 1, 2, 3, 40, 253, 254}) {
    for (const int least : {1, 2, 5, 254, 255}) {
      for (std::size_t i = 0; i < own.size(); ++i) {
        own[i] = static_cast<std::uint8_t>(i >> 8);
        heard[i] = static_cast<std::uint8_t>(i);
      }
      const auto before = heard;
      keep_fresher_ages(heard.data(), own.data(), own.size(), shift, least);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < own.size(); ++i) {
        const bool told = moved(before[i], shift) - own[i] >= least;
        wrong += heard[i] != (told ? own[i] : never_heard);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("one age above the limit is found wherever it is") {
  for (const std::size_t count : {1U, 15U, 16U, 17U, 64U, 83U}) {
    for (const int most : {0, 1, 11, 127, 128, 254}) {
      std::vector<std::uint8_t> ages(count, static_cast<std::uint8_t>(most));
      CHECK(none_older(ages.data(), count, static_cast<std::uint8_t>(most)));
      for (std::uint8_t& age : ages) {
        ++age;
        CHECK_FALSE(none_older(ages.data(), count, static_cast<std::uint8_t>(most)));
        --age;
      }
    }
  }
}
