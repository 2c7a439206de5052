#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "scoll/coro/random.hpp"
#include "support.hpp"
#include "tests/fuzz/wire_fuzz.hpp"
#include "tests/support/tests_folder.hpp"

namespace {

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  const auto folder = scoll::test::tests_folder() / "fuzz/corpus/wire";
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.push_back(file.path());
  std::ranges::sort(files);
  return files;
}

std::vector<std::uint8_t> content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("the fuzzer's corpus and what grows from it by chance") {
  const auto files = corpus();
  REQUIRE(files.size() >= 8);
  scoll::random_generator random(5);
  for (const auto& file : files) {
    const std::vector<std::uint8_t> data = content(file);
    INFO(file);
    REQUIRE_FALSE(data.empty());
    fuzz::wire_input(data);
    for (int round = 0; round < 2000; ++round) {
      std::vector<std::uint8_t> altered = data;
      altered[random.below(altered.size())] = static_cast<std::uint8_t>(random.next());
      if (random.chance(1, 3)) altered.resize(random.below(altered.size()));
      fuzz::wire_input(altered);
    }
  }
}
