#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"
#include "scoll/tree/flat.hpp"
#include "scoll/tree/spec.hpp"

namespace bench::stream {

/// Every process but the first has so many bytes, and all of them come to the first.
struct setting {
  std::uint32_t nodes = 16;
  std::uint64_t size = 1U << 24U;
  scoll::tree_spec tree = scoll::flat{};
  bool pulls = false;  ///< they are pulled from all at once, to a place for each; otherwise they are streamed
  std::string congestion_control;
};
void play(member& me, const setting& s);

struct options {
  std::vector<std::uint32_t> nodes{16};
  std::vector<std::uint64_t> sizes{1U << 24U};
  std::vector<std::string> trees{"flat", "knomial:4"};
};

/// Measures streams over each tree beside parallel pulls.
rows run(const bench::options& common, const options& o);

}  // namespace bench::stream
