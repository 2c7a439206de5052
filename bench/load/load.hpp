#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bcast/bcast.hpp"
#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"

/// Calls and broadcasts that begin at a fixed rate, whatever has become of earlier ones, as requests of many users do.
namespace bench::load {

/// Ships calls to the one other process, which returns the number of bytes.
void play_calls(member& me, const bcast::setting& s);
/// Do the least work for calls (two processes) and broadcasts: sockets that do not block, and epoll. Requests
/// and replies of a connection follow each other without waiting.
void play_raw(member& me, const bcast::setting& s);

struct options {
  std::vector<std::string> jobs{"call", "bcast"};
  std::vector<std::uint32_t> shares{20, 50, 80, 90, 95};  ///< per cent of the operations that are possible
  std::uint32_t nodes = 16;                               ///< processes of a broadcast
  std::uint32_t size = 64;                                ///< bytes of a request
  std::string tree = "knomial:4";
  bool stopped = false;  ///< also with a process that stands still for 200 ms
  bool peers = false;    ///< also gRPC
};

rows run(const bench::options& common, const options& o);

}  // namespace bench::load
