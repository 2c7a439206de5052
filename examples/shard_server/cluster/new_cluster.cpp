#include "new_cluster.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <vector>

#include "transport/socket.hpp"

namespace shard {
namespace {

namespace fs = std::filesystem;

/// Ports that nobody listens on, below those that the system hands out to outgoing connections: one of these
/// could be taken between now and the start of a server.
std::vector<std::uint16_t> find_free_ports(unsigned count) {
  constexpr unsigned first = 10'000;
  unsigned end = 32'768;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> end;
  if (end <= first + count) end = 32'768;
  const unsigned range = end - first;
  const unsigned offset = std::random_device{}() % range;
  std::vector<std::uint16_t> ports;
  for (unsigned i = 0; i != range && ports.size() != count; ++i) {
    const unsigned port = first + (offset + i) % range;
    const auto address = scoll::transport::socket_address::parse(fmt::format("127.0.0.1:{}", port));
    if (address && scoll::transport::open_listener(*address))
      ports.push_back(static_cast<std::uint16_t>(port));
  }
  return ports;
}

}  // namespace

std::variant<fs::path, std::string> make_local_cluster(const fs::path& folder, unsigned nodes,
                                                       const std::string& tree) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return fmt::format("{}: {}", folder.string(), failed.message());
  fs::path file = folder / "cluster.toml";
  if (fs::exists(file)) return fmt::format("{} exists already", file.string());
  const auto ports = find_free_ports(nodes);
  if (ports.size() != nodes) return fmt::format("only {} free ports on 127.0.0.1", ports.size());

  std::ofstream out(file);
  out << fmt::format("name = \"{}\"\ntree = \"{}\"\n", fs::canonical(folder).filename().string(), tree);
  for (unsigned i = 0; i != nodes; ++i) {
    out << fmt::format("\n[[node]]\nid = {0}\naddress = \"127.0.0.1:{1}\"\ncontrol = \"node-{0}.sock\"\n",
                       i + 1, ports[i]);
  }
  if (!out.flush()) return fmt::format("{}: cannot be written", file.string());
  return file;
}

}  // namespace shard
