#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"
#include "scoll/bulk/plan.hpp"
#include "scoll/tree/chain.hpp"
#include "scoll/tree/kary.hpp"
#include "scoll/tree/link_map.hpp"
#include "scoll/tree/spec.hpp"

namespace bench::bulk_bcast {

/// One process, the root, sends this many bytes to all others. Each answers with its rank plus one when it
/// has all bytes, and the sum of all answers comes back. Process i has rank i.
struct job {
  std::uint32_t nodes = 8;
  std::uint64_t size = 1U << 24U;
  std::string congestion_control;

  std::uint64_t expected_sum() const noexcept { return std::uint64_t{nodes} * (nodes + 1) / 2; }
};

/// A broadcast of scoll with bulk data. Every member has a place for the bytes.
struct setting {
  job what;
  std::optional<scoll::bulk_plan> plan;  ///< nothing: scoll chooses
  std::uint32_t piece = 0;               ///< bytes; 0: scoll chooses
  scoll::link_map links{};               ///< measured: scoll chooses by them, and predicts the time
};
/// Uses a node in each process, a group, and a service whose `prepare` gives the place.
void play_scoll(member& me, const setting& s);

/// A raw tree. The bytes arrive in chunks, which each process passes on while later ones are on their way.
struct raw_setting {
  job what;
  scoll::tree_spec tree = scoll::chain{};
  std::uint32_t chunk = 1U << 18U;
};
/// Does the least work that the job needs, without any failure handling. A chunk travels with the XXH3 that the
/// root has made of it. Each process checks that before it passes the chunk on, so it hashes each byte once.
void play_raw_tree(member& me, const raw_setting& s);

struct options {
  std::vector<std::uint32_t> nodes{8, 16};
  std::vector<std::uint64_t> sizes{1U << 20U, 1U << 24U, 1U << 26U};
  std::vector<std::string> plans{"auto", "whole", "kary:2"};
  std::vector<std::uint32_t> pieces{0};
  /// The raw trees of which the fastest counts.
  std::vector<scoll::tree_spec> raw_trees{scoll::chain{}, scoll::kary{2}, scoll::kary{3}, scoll::kary{4},
                                          scoll::kary{8}};
  std::vector<std::uint32_t> raw_pieces{1U << 16U, 1U << 18U, 1U << 20U};
  bool peers = false;  ///< also Open MPI (kit/peers.hpp)
};

/// Finds the fastest raw tree for a job, by a few broadcasts with each.
raw_setting fastest_raw_tree(const bench::options& common, const options& o, const job& j);

/// Measures each plan with each size of pieces beside the fastest raw tree.
rows run(const bench::options& common, const options& o);

}  // namespace bench::bulk_bcast
