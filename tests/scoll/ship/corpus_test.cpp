#include "tests/support/corpus.hpp"

#include "tests/fuzz/ship_fuzz.hpp"

TEST_CASE("calls and descriptors take the fuzzer's corpus and what grows from it", "[corpus]") {
  scoll::test::replay_corpus("ship", 300, [](const auto& data) { fuzz::ship_input(data); });
}
