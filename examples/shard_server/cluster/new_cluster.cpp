#include "new_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <vector>

#include "tools/common/free_ports.hpp"
#include "transport/io/socket.hpp"

namespace shard {
namespace {

namespace fs = std::filesystem;

using port_list = std::vector<std::uint16_t>;

/// Ports that are free on all hosts.
port_list free_ports(const new_cluster& wanted, unsigned count) {
  return scoll::kit::find_free_ports(count, [&wanted](const scoll::transport::socket_address& local) {
    return std::ranges::all_of(wanted.hosts, [&local](const std::string& host) {
      const auto address = scoll::transport::socket_address::parse(fmt::format("{}:{}", host, local.port()));
      return address && scoll::transport::open_listener(*address).has_value();
    });
  });
}

bool has_two_rails(const new_cluster& wanted) noexcept {
  return wanted.transport == "tcp+verbs";
}

/// The line of a server in the file that says where it is.
std::string addresses_of(const new_cluster& wanted, unsigned server, const port_list& ports) {
  const std::string& host = wanted.hosts[server % wanted.hosts.size()];
  if (has_two_rails(wanted)) {
    return fmt::format("addresses = [\"{0}:{1}\", \"verbs://{0}:{2}\"]", host, ports[2 * server],
                       ports[2 * server + 1]);
  }
  const char* const name = wanted.transport == "verbs" ? "verbs://" : "";
  return fmt::format("address = \"{}{}:{}\"", name, host, ports[server]);
}

}  // namespace

std::variant<fs::path, std::string> make_local_cluster(const fs::path& folder, const new_cluster& wanted) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return fmt::format("{}: {}", folder.string(), failed.message());
  fs::path file = folder / "cluster.toml";
  if (fs::exists(file)) return fmt::format("{} exists already", file.string());
  const unsigned needed = has_two_rails(wanted) ? 2 * wanted.nodes : wanted.nodes;
  const port_list ports = free_ports(wanted, needed);
  if (ports.size() != needed)
    return fmt::format("only {} free ports on {}", ports.size(), fmt::join(wanted.hosts, ", "));

  std::ofstream out(file);
  out << fmt::format("name = \"{}\"\ntree = \"{}\"\n", fs::canonical(folder).filename().string(),
                     wanted.tree);
  for (unsigned i = 0; i != wanted.nodes; ++i) {
    out << fmt::format("\n[[node]]\nid = {0}\n{1}\ncontrol = \"node-{0}.sock\"\n", i + 1,
                       addresses_of(wanted, i, ports));
  }
  for (unsigned pool = 0; pool != wanted.pools; ++pool) {
    std::vector<unsigned> members;
    for (unsigned i = pool; i < wanted.nodes; i += wanted.pools) members.push_back(i + 1);
    out << fmt::format("\n[[pool]]\nid = {}\nnodes = [{}]\n", pool + 1, fmt::join(members, ", "));
  }
  if (!out.flush()) return fmt::format("{}: cannot be written", file.string());
  return file;
}

}  // namespace shard
