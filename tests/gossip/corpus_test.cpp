#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "../catch.hpp"
#include "../fuzz/gossip_fuzz.hpp"
#include "coro/random.hpp"

TEST_CASE("the decoder of gossip messages takes the fuzzer's corpus and what grows from it", "[corpus]") {
  std::vector<std::filesystem::path> files;
  const auto folder = std::filesystem::path(SCOLL_TESTS_DIR) / "fuzz/corpus/gossip";
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.push_back(file.path());
  std::ranges::sort(files);
  REQUIRE(files.size() >= 5);
  scoll::random_generator random(7);
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<std::uint8_t> data{std::istreambuf_iterator<char>(file),
                                         std::istreambuf_iterator<char>()};
    INFO(path);
    REQUIRE_FALSE(data.empty());
    fuzz::gossip_input(data);
    for (int round = 0; round < 1000; ++round) {
      std::vector<std::uint8_t> altered = data;
      altered[random.below(altered.size())] = static_cast<std::uint8_t>(random.next());
      if (random.chance(1, 3)) altered.resize(random.below(altered.size()) + 1);
      fuzz::gossip_input(altered);
    }
  }
}
