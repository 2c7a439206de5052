#include "tools/scoll-sim/scale/fleet.hpp"

#include <cstdio>
#include <utility>
#include <vector>

namespace scoll::sim {
namespace {

// A frame of a broadcast or a notice is always contiguous.
constexpr std::size_t chunk_bytes = 256;
// The network has memory for four pieces under way to each of its addresses, and in a revoke as many notices
// may be under way to a host as it has neighbours. So each host has this many addresses.
constexpr std::uint32_t addresses_per_host = 10;

}  // namespace

fleet::fleet(std::uint32_t nodes, const testing::sim_link_model& wire, std::uint64_t seed, std::string called)
    : size_(nodes),
      called_(std::move(called)),
      world_(seed, nodes, false),
      network_(world_, chunk_bytes, nodes * addresses_per_host),
      pools_(std::make_shared<node_pools>(nodes)) {
  network_.common_path().model = wire;
  std::vector<target> targets(nodes);
  for (std::uint32_t rank = 0; rank < nodes; ++rank) targets[rank].node = rank + 1;
  members_ = membership::make(std::move(targets)).value();
}

void fleet::boot(std::span<const std::uint32_t> neighbours, const std::function<void(node&)>& prepare) {
  const auto rank = static_cast<std::uint32_t>(stations_.size());
  stations_.emplace_back(world_, network_, rank).start(rank, pools_, neighbours, prepare);
  if (rank % progress_step == 0) show("nodes", rank);
}

void fleet::kill(std::uint32_t rank) {
  stations_[rank].rail.crash(testing::sim_crash::silent);
  stations_[rank].home.detach();
}

std::uint64_t fleet::sum_of(std::uint64_t transport::endpoint_statistics::* number) {
  std::uint64_t sum = 0;
  for (station& s : stations_) sum += s.self->wire().statistics().*number;
  return sum;
}

void fleet::show(const char* what, std::uint32_t count) const {
  if (!called_.empty())
    std::fprintf(stderr, "\r%s, %u nodes: %u %s    ", called_.c_str(), size_, count, what);
}

}  // namespace scoll::sim
