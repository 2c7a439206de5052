#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"

namespace bench::rtt {

/// A request of this many bytes goes to another process, and a reply of the same size comes back; one
/// exchange at a time. Process 0 asks.
struct setting {
  std::uint32_t size = 64;
  std::string congestion_control;
  std::string keys{};  ///< the file of the ring that guards scoll's connections; empty: in the clear
};

/// Uses two endpoints, with bare exchanges.
void play_scoll(member& me, const setting& s);
/// Uses system calls that block.
void play_blocking(member& me, const setting& s);
/// Waits for readiness with epoll, then makes the system call, as event loops do.
void play_epoll(member& me, const setting& s);
/// Uses a ring with deferred task work; the send goes with the system call that waits for the answer.
void play_uring(member& me, const setting& s);

/// Runs all subjects side by side, for every size.
rows run(const options& o, const std::vector<std::uint32_t>& sizes);

}  // namespace bench::rtt
