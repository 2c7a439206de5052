#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"

namespace bench::bulk {

/// Moves this many bytes from one process to another, one operation at a time. Process 0 starts each
/// operation: it pulls the bytes from process 1, or pushes them there.
struct setting {
  std::uint64_t size = 1U << 24U;
  bool push = false;
  std::uint32_t chunk = 0;  ///< bytes of a segment; 0: scoll's choice
  std::uint32_t depth = 0;  ///< segments under way; 0: scoll's choice
  bool verified = false;    ///< with a checksum of every segment
  std::string congestion_control;
  std::string keys{};  ///< the file of the ring that guards scoll's connections; empty: in the clear
  bool apart = false;  ///< each process of scoll has a processor of its own, as on two hosts
  std::vector<std::string> hosts{};  ///< the addresses of the processes' RDMA devices; empty: TCP
  bool registered = false;           ///< scoll registers its memory with them
  std::uint32_t places = 1;          ///< operations at once each have one of so many places
};

/// A pull or push of exposed memory.
void play_scoll(member& me, const setting& s);
/// Moves only the bytes, through one connection: a single byte requests them or confirms their arrival.
void play_raw(member& me, const setting& s);

struct options {
  std::vector<std::uint64_t> sizes{1U << 12U, 1U << 16U, 1U << 20U, 1U << 24U, 1U << 26U, 1U << 28U};
  std::vector<std::string> operations{"pull", "push"};
  std::vector<std::uint32_t> chunks{0};
  std::vector<std::uint32_t> depths{0};
};

/// Runs scoll, without and with checksums, beside a raw stream, for every size.
rows run(const bench::options& common, const options& o);

}  // namespace bench::bulk
