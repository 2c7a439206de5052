#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"
#include "scoll/tree/spec.hpp"

namespace bench::bcast {

/// One process, the root, sends this many bytes to all others over a tree. Each answers with its rank plus
/// one, and the sum of all answers comes back. Process i has rank i, and rank 0 is the root.
struct setting {
  std::uint32_t nodes = 16;
  std::uint32_t size = 64;
  scoll::tree_spec tree;
  std::string congestion_control;
  bool chosen = false;      ///< the tree was chosen from measurements
  std::string keys{};       ///< the file of the ring that guards scoll's connections; empty: in the clear
  std::uint32_t zones = 0;  ///< the processes are dealt to so many zones in turn; 0: their places are unknown

  std::uint64_t expected_sum() const noexcept { return std::uint64_t{nodes} * (nodes + 1) / 2; }
  /// The zone of a process, from 1 on; 0 if it is unknown.
  std::uint16_t zone_of(std::uint32_t process) const noexcept {
    return zones == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(process % zones + 1);
  }
};

/// Uses scoll: a group, a service, `bcast`. Understands every kind of order.
void play_scoll(member& me, const setting& s);
/// Does so with the code that users write: the service of the guide, and no option.
void play_plain(member& me, const setting& s);
/// Do the least work that the job needs, without any failure handling: fixed sizes, connections made in
/// advance. This one uses epoll and a system call per transfer.
void play_raw_epoll(member& me, const setting& s);
/// This one uses a ring with deferred task work: the data that a process sends leaves with its next wait.
void play_raw_uring(member& me, const setting& s);

struct options {
  std::vector<std::uint32_t> nodes{16, 64};
  std::vector<std::uint32_t> sizes{64, 4096};
  std::vector<std::string> trees{"knomial:4"};  ///< "auto": the tree that `scoll::choose_tree` chooses
  std::vector<std::uint32_t> in_flight{16};     ///< concurrent broadcasts, measured as well
  std::optional<scoll::tree_spec> pinned{};     ///< pinned by an administrator: "auto" takes this tree
  bool background = false;                      ///< also under bulk traffic that never ends
  bool traced = false;                          ///< also with a trace
  bool repaired = false;                        ///< also ready for repair, with nothing to be repaired
  std::uint32_t kills = 0;                      ///< also with so many deaths that are repaired
  std::uint32_t zones = 0;                      ///< also with members that are dealt to so many zones
  std::uint32_t quorum = 0;                     ///< also until so many are merged, while one stands still
  bool peers = false;                           ///< also other libraries (kit/peers.hpp)
};

/// Runs all cases: scoll beside the raw tree of the same shape.
rows run(const bench::options& common, const options& o);

}  // namespace bench::bcast
