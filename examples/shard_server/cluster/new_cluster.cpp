#include "new_cluster.hpp"

#include <fmt/format.h>

#include <fstream>
#include <vector>

#include "tools/common/free_ports.hpp"
#include "transport/io/socket.hpp"

namespace shard {
namespace {

namespace fs = std::filesystem;

bool can_listen(const scoll::transport::socket_address& address) {
  return scoll::transport::open_listener(address).has_value();
}

}  // namespace

std::variant<fs::path, std::string> make_local_cluster(const fs::path& folder, unsigned nodes,
                                                       const std::string& tree, unsigned pools) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return fmt::format("{}: {}", folder.string(), failed.message());
  fs::path file = folder / "cluster.toml";
  if (fs::exists(file)) return fmt::format("{} exists already", file.string());
  const auto ports = scoll::kit::find_free_ports(nodes, can_listen);
  if (ports.size() != nodes) return fmt::format("only {} free ports on 127.0.0.1", ports.size());

  std::ofstream out(file);
  out << fmt::format("name = \"{}\"\ntree = \"{}\"\n", fs::canonical(folder).filename().string(), tree);
  for (unsigned i = 0; i != nodes; ++i) {
    out << fmt::format("\n[[node]]\nid = {0}\naddress = \"127.0.0.1:{1}\"\ncontrol = \"node-{0}.sock\"\n",
                       i + 1, ports[i]);
  }
  for (unsigned pool = 0; pool != pools; ++pool) {
    std::vector<unsigned> members;
    for (unsigned i = pool; i < nodes; i += pools) members.push_back(i + 1);
    out << fmt::format("\n[[pool]]\nid = {}\nnodes = [{}]\n", pool + 1, fmt::join(members, ", "));
  }
  if (!out.flush()) return fmt::format("{}: cannot be written", file.string());
  return file;
}

}  // namespace shard
