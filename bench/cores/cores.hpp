#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"

/// Servers with several reactors, each with a thread on a processor of its own and with a node of its own.
namespace bench::cores {

struct setting {
  std::uint32_t processes = 2;
  std::uint32_t reactors = 1;  ///< of each process
  std::uint32_t size = 64;     ///< bytes of a request
  bool broadcasts = false;     ///< or calls of the second process
  std::string congestion_control;
};

/// Reactor k of each process has to do with reactor k of the other processes alone, which is on the same processor.
/// Orders are divided among the reactors of the first process.
void play(member& me, const setting& s);

struct options {
  std::vector<std::uint32_t> cores{1, 2};  ///< reactors of a process
  std::vector<std::string> jobs{"call", "bcast"};
  std::uint32_t nodes = 8;       ///< processes of a broadcast
  std::uint32_t size = 64;       ///< bytes of a request
  std::uint32_t in_flight = 32;  ///< operations at once, of each reactor
};

rows run(const bench::options& common, const options& o);

}  // namespace bench::cores
