#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "scoll/coro/random.hpp"
#include "tests/catch.hpp"
#include "tests/support/tests_folder.hpp"

namespace scoll::test {

/// Feeds every file of a fuzzer's corpus to `input`, and this many altered and shortened forms of each file.
template <class Input>
void replay_corpus(std::string_view name, int altered_forms, Input input) {
  std::vector<std::filesystem::path> files;
  const auto folder = tests_folder() / "fuzz/corpus" / name;
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.push_back(file.path());
  std::ranges::sort(files);
  REQUIRE(files.size() >= 5);
  random_generator random(7);
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<std::uint8_t> data{std::istreambuf_iterator<char>(file),
                                         std::istreambuf_iterator<char>()};
    INFO(path);
    REQUIRE_FALSE(data.empty());
    input(data);
    for (int i = 0; i < altered_forms; ++i) {
      std::vector<std::uint8_t> altered = data;
      altered[random.below(altered.size())] = static_cast<std::uint8_t>(random.next());
      if (random.chance(1, 3)) altered.resize(random.below(altered.size()) + 1);
      input(altered);
    }
  }
}

}  // namespace scoll::test
