#include "peers.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <stdexcept>

namespace bench::bcast {
namespace {

constexpr std::array known{
    peer{"openmpi-tcp", "scoll-bench-mpi", "openmpi-bin libopenmpi-dev"},
    peer{"grpc", "scoll-bench-grpc",
         "libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler"},
};

std::string path_of(const peer& p) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(p.program);
}

}  // namespace

std::span<const peer> all_peers() noexcept {
  return known;
}

void require_peers() {
  std::string missing;
  for (const peer& p : known) {
    if (access(path_of(p).c_str(), X_OK) != 0) missing += std::string("\n  ") + p.subject + ": " + p.packages;
  }
  if (missing.empty()) return;
  throw std::runtime_error(
      "peers were not built. ./dev bench bcast --peers does so; it needs these packages:" + missing);
}

std::unique_ptr<group_contestant> start(const peer& p, const setting& s) {
  const std::vector<std::string> program{path_of(p), std::to_string(s.size), s.congestion_control};
  return std::make_unique<group_contestant>(p.subject, s.nodes, program);
}

}  // namespace bench::bcast
