#include "tests/support/corpus.hpp"

#include "tests/fuzz/collective_fuzz.hpp"

TEST_CASE("the decoders of collective messages take the fuzzer's corpus and what grows from it", "[corpus]") {
  scoll::test::replay_corpus("collective", 3000, [](const auto& data) { fuzz::collective_input(data); });
}
