#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "group_contestant.hpp"

namespace bench {

/// Another library that does the same job in the way it chooses: a program beside this one, whose source is
/// in bench/peers/.
struct peer {
  const char* subject;
  const char* program;
  const char* packages;  ///< Debian packages that it is built from
};
inline constexpr peer open_mpi{"openmpi-tcp", "scoll-bench-mpi", "openmpi-bin libopenmpi-dev"};
inline constexpr peer grpc{"grpc", "scoll-bench-grpc",
                           "libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler"};

/// Throws if one of these has not been built, naming the packages and the benchmark that builds it.
void require_peers(std::span<const peer> wanted, const std::string& bench);

/// Starts `nodes` processes of it, in which the first sends `size` bytes to all others.
std::unique_ptr<group_contestant> start(const peer& p, std::uint32_t nodes, std::uint64_t size,
                                        const std::string& congestion_control);

}  // namespace bench
