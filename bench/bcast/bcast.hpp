#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../kit/member.hpp"
#include "../kit/options.hpp"
#include "scoll/tree/spec.hpp"

namespace bench::bcast {

/// One process, the root, sends so many bytes to all others over a tree; each answers with its rank plus one,
/// and the sum of all comes back. Process i is rank i, and rank 0 the root.
struct setting {
  std::uint32_t nodes = 16;
  std::uint32_t size = 64;
  scoll::tree_spec tree;
  std::string congestion_control;
  bool chosen = false;  ///< the tree is what was measured to be the best

  std::uint64_t expected_sum() const noexcept { return std::uint64_t{nodes} * (nodes + 1) / 2; }
};

/// scoll: a group, a service, `bcast`. Understands every kind of order.
void play_scoll(member& me, const setting& s);
/// The least that does the job, without any failure handling: fixed sizes, connections made beforehand.
/// With epoll and a system call per transfer.
void play_raw_epoll(member& me, const setting& s);
/// The same on a ring with deferred task work: what a process sends leaves with its next wait.
void play_raw_uring(member& me, const setting& s);

struct options {
  std::vector<std::uint32_t> nodes{16, 64};
  std::vector<std::uint32_t> sizes{64, 4096};
  std::vector<std::string> trees{"knomial:4"};  ///< "auto": what `scoll::choose_tree` says
  std::vector<std::uint32_t> in_flight{16};     ///< broadcasts at once, measured beside
  std::optional<scoll::tree_spec> pinned{};     ///< by an administrator: what "auto" takes
  bool background = false;                      ///< also under bulk traffic that never ends
  bool peers = false;                           ///< other libraries beside it (peers.hpp)
};

/// All cases: scoll beside the raw tree of the same shape.
rows run(const bench::options& common, const options& o);

}  // namespace bench::bcast
