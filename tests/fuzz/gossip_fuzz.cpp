#include "gossip_fuzz.hpp"

/// For libFuzzer: clang++ -fsanitize=fuzzer,address,undefined, starting from corpus/gossip.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::gossip_input({data, size});
  return 0;
}
