#include "tests/support/corpus.hpp"

#include "tests/fuzz/gossip_fuzz.hpp"

TEST_CASE("the decoder of gossip messages takes the fuzzer's corpus and what grows from it", "[corpus]") {
  scoll::test::replay_corpus("gossip", 1000, [](const auto& data) { fuzz::gossip_input(data); });
}
