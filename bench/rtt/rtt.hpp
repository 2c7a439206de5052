#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../kit/member.hpp"
#include "../kit/options.hpp"

namespace bench::rtt {

/// A request of so many bytes goes to another process, a reply of as many comes back; one at a time. Process
/// 0 asks.
struct setting {
  std::uint32_t size = 64;
  std::string congestion_control;
};

/// Through two endpoints, as bare exchanges.
void play_scoll(member& me, const setting& s);
/// System calls that block.
void play_blocking(member& me, const setting& s);
/// Readiness from epoll, then the system call, as event loops do.
void play_epoll(member& me, const setting& s);
/// A ring with deferred task work; the send goes with the system call that waits for the answer.
void play_uring(member& me, const setting& s);

/// All of them side by side, for every size.
rows run(const options& o, const std::vector<std::uint32_t>& sizes);

}  // namespace bench::rtt
