#include "peers.hpp"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <vector>

namespace bench {
namespace {

std::string path_of(const peer& p) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(p.program);
}

}  // namespace

void require_peers(std::span<const peer> wanted, const std::string& bench) {
  std::string missing;
  for (const peer& p : wanted) {
    if (access(path_of(p).c_str(), X_OK) != 0) missing += std::string("\n  ") + p.subject + ": " + p.packages;
  }
  if (missing.empty()) return;
  throw std::runtime_error("peers were not built. ./dev bench " + bench +
                           " --peers does so; it needs these packages:" + missing);
}

std::unique_ptr<group_contestant> start(const peer& p, std::uint32_t nodes, std::uint64_t size,
                                        const std::string& congestion_control) {
  const std::vector<std::string> program{path_of(p), std::to_string(size), congestion_control};
  return std::make_unique<group_contestant>(p.subject, nodes, program);
}

}  // namespace bench
