#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"
#include "scoll/tree/chain.hpp"
#include "scoll/tree/kary.hpp"
#include "scoll/tree/spec.hpp"

namespace bench::bulk_bcast {

/// One process, the root, sends this many bytes to all others. They arrive in chunks, which each process passes
/// on down a tree while later ones are on their way. Each answers when it and all below it have all bytes.
struct setting {
  std::uint32_t nodes = 8;
  std::uint64_t size = 1U << 24U;
  scoll::tree_spec plan = scoll::chain{};
  std::uint32_t chunk = 1U << 18U;
  std::string congestion_control;
};

/// Does the least work that the job needs, without any failure handling. A chunk travels with the XXH3 that the
/// root has made of it. Each process checks that before it passes the chunk on, so it hashes each byte once.
void play_raw_tree(member& me, const setting& s);

struct options {
  std::vector<std::uint32_t> nodes{8, 16};
  std::vector<std::uint64_t> sizes{1U << 20U, 1U << 24U, 1U << 26U};
  /// The raw trees of which the fastest counts.
  std::vector<scoll::tree_spec> plans{scoll::chain{}, scoll::kary{2}, scoll::kary{3}, scoll::kary{4},
                                      scoll::kary{8}};
  std::vector<std::uint32_t> chunks{1U << 16U, 1U << 18U, 1U << 20U};
};

/// Finds the fastest raw tree for so many processes and bytes, by a few broadcasts with each.
setting fastest_raw_tree(const bench::options& common, const options& o, std::uint32_t nodes,
                         std::uint64_t size);

/// Measures the fastest raw tree of each case.
rows run(const bench::options& common, const options& o);

}  // namespace bench::bulk_bcast
