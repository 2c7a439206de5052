#include "guard_fuzz.hpp"

/// For libFuzzer: clang++ -fsanitize=fuzzer,address,undefined, starting from corpus/guard.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::guard_input({data, size});
  return 0;
}
