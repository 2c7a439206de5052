#include "tests/support/corpus.hpp"

#include "tests/fuzz/guard_fuzz.hpp"

TEST_CASE("guards take the fuzzer's corpus and what grows from it", "[corpus][security]") {
  scoll::test::replay_corpus("guard", 300, [](const auto& data) { fuzz::guard_input(data); });
}
