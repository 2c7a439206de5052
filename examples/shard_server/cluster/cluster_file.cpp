#include "cluster_file.hpp"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <set>

#include "scoll/coro/error_format.hpp"
#include "tools/common/toml_section.hpp"
#include "transport/io/address.hpp"
#include "transport/io/socket.hpp"
#include "transport/session/greeting.hpp"

namespace shard {
namespace {

namespace fs = std::filesystem;

using section = scoll::kit::toml_section;
using mistake = scoll::kit::toml_mistake;

scoll::nanoseconds read_seconds(const section& from, std::string_view key, scoll::nanoseconds otherwise) {
  constexpr std::int64_t longest = 86'400;
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(otherwise).count();
  const std::int64_t seconds = from.get<std::int64_t>(key, whole);
  if (seconds < 1 || seconds > longest) from.refuse(key, "must be 1 to 86400 seconds");
  return std::chrono::seconds(seconds);
}

/// Returns the address without the name of its transport.
std::string place_of(const section& from, std::string_view key, const std::string& text) {
  const auto [transport, place] = scoll::transport::split_name(text);
  if (!transport.empty() && transport != "tcp" && transport != "verbs") {
    from.refuse(key, fmt::format("has '{}', of the transport {}: there are tcp and verbs", text, transport));
  }
  const auto address = scoll::transport::socket_address::parse(place);
  if (!address)
    from.refuse(key, fmt::format("has '{}', which is not an address: {}", text, describe(address.error())));
  if (address->port() == 0) from.refuse(key, fmt::format("has '{}', which needs a port", text));
  return std::string(place);
}

/// A node has an `address`, or several `addresses`.
std::vector<std::string> read_addresses(const toml::table& table, const section& from) {
  if (!from.has("addresses")) return {from.need<std::string>("address")};
  if (from.has("address")) from.refuse("address", "is given beside 'addresses': give one of the two");
  const toml::array* list = table.get_as<toml::array>("addresses");
  if (list == nullptr || list->empty() || !list->is_homogeneous<std::string>())
    from.refuse("addresses", "must be a list of addresses, at least one");
  if (list->size() > scoll::transport::max_rails)
    from.refuse("addresses",
                fmt::format("has {}: at most {} are allowed", list->size(), scoll::transport::max_rails));
  std::vector<std::string> all;
  for (const toml::node& each : *list) all.push_back(each.as_string()->get());
  return all;
}

/// The zone or the host of a node: 1 to 65535, or 0 if the file does not say.
std::uint16_t read_place(const section& from, std::string_view key) {
  const auto number = from.get<std::int64_t>(key, 0);
  if (number < 0 || number > UINT16_MAX) from.refuse(key, "must be 1 to 65535, or 0 if it is not known");
  return static_cast<std::uint16_t>(number);
}

cluster_node read_node(const toml::table& table, std::size_t position, const fs::path& folder) {
  const section from(table, fmt::format("node {}", position + 1),
                     {"id", "address", "addresses", "control", "zone", "host"});
  cluster_node node;
  const auto id = from.need<std::int64_t>("id");
  if (id <= 0) from.refuse("id", "must be 1 or more");
  node.id = static_cast<scoll::node_id>(id);
  node.addresses = read_addresses(table, from);
  for (const std::string& each : node.addresses) {
    node.places.push_back(place_of(from, from.has("address") ? "address" : "addresses", each));
    const bool rdma = scoll::transport::split_name(each).transport == "verbs";
    node.gossip.push_back(rdma ? "verbs://" + node.places.back() : node.places.back());
  }
  node.address = node.places.front();
  node.control = folder / from.need<std::string>("control");
  node.where = {read_place(from, "zone"), read_place(from, "host")};
  constexpr std::size_t longest = sizeof(sockaddr_un{}.sun_path) - 1;
  if (node.control.string().size() > longest) {
    from.refuse("control", fmt::format("is a path of {} bytes: a socket's has {} at most",
                                       node.control.string().size(), longest));
  }
  return node;
}

std::vector<cluster_node> read_nodes(const toml::table& root, const fs::path& folder) {
  const toml::array* list = root.get_as<toml::array>("node");
  if (list == nullptr || list->empty() || !list->is_homogeneous<toml::table>())
    throw mistake(root.source(), "there must be at least one [[node]]");
  if (list->size() > max_nodes) {
    throw mistake(list->source(), fmt::format("{} nodes: at most {} are allowed", list->size(), max_nodes));
  }
  std::vector<cluster_node> nodes;
  std::set<scoll::node_id> ids;
  std::set<std::string> places;
  for (const toml::node& each : *list) {
    const cluster_node node = read_node(*each.as_table(), nodes.size(), folder);
    const auto refuse_twice = [&](const std::string& what) {
      throw mistake(each.source(), fmt::format("node {}: {} appears twice", nodes.size() + 1, what));
    };
    if (!ids.insert(node.id).second) refuse_twice(fmt::format("id {}", node.id));
    for (const std::string& address : node.places) {
      if (!places.insert(address).second) refuse_twice("address " + address);
    }
    if (!places.insert(node.control).second) refuse_twice("control " + node.control.string());
    nodes.push_back(node);
  }
  return nodes;
}

pool_config read_pool(const toml::table& table, std::size_t position, const cluster_config& config) {
  const section from(table, fmt::format("pool {}", position + 1), {"id", "name", "nodes"});
  pool_config pool;
  const auto id = from.need<std::int64_t>("id");
  if (id <= 0) from.refuse("id", "must be 1 or more");
  pool.id = static_cast<std::uint64_t>(id);
  if (config.find_pool(pool.id) != nullptr) from.refuse("id", fmt::format("{} appears twice", pool.id));
  pool.name = from.get<std::string>("name", "");
  const toml::array* nodes = table.get_as<toml::array>("nodes");
  if (nodes == nullptr || nodes->empty() || !nodes->is_homogeneous<std::int64_t>())
    from.refuse("nodes", "must be a list of ids, at least one");
  for (const toml::node& each : *nodes) {
    const auto node = static_cast<scoll::node_id>(each.as_integer()->get());
    if (!config.rank_of(node)) from.refuse("nodes", fmt::format("names {}, which is no node", node));
    if (std::find(pool.nodes.begin(), pool.nodes.end(), node) != pool.nodes.end())
      from.refuse("nodes", fmt::format("names {} twice", node));
    pool.nodes.push_back(node);
  }
  return pool;
}

void read_pools(const toml::table& root, cluster_config& config) {
  const toml::node* given = root.get("pool");
  if (given == nullptr) return;
  const toml::array* list = given->as_array();
  if (list == nullptr || !list->is_homogeneous<toml::table>())
    throw mistake(given->source(), "pools must be given as [[pool]]");
  for (const toml::node& each : *list)
    config.pools.push_back(read_pool(*each.as_table(), config.pools.size(), config));
}

/// Relative paths are below the folder of the cluster file.
scoll::transport::security_options read_security(const toml::table& table, const fs::path& folder) {
  using scoll::transport::security_mode;
  const section from(table, "security", {"mode", "keys", "ca", "certificate", "key"});
  scoll::transport::security_options security;
  const auto mode = from.need<std::string>("mode");
  if (mode == to_string(security_mode::psk)) {
    security.mode = security_mode::psk;
  } else if (mode == to_string(security_mode::tls)) {
    security.mode = security_mode::tls;
  } else if (mode != to_string(security_mode::none)) {
    from.refuse("mode", "must be \"none\", \"psk\" or \"tls\"");
  }
  const auto path = [&](std::string_view key) {
    return from.has(key) ? (folder / from.need<std::string>(key)).string() : std::string();
  };
  security.keys = path("keys");
  security.ca = path("ca");
  security.certificate = path("certificate");
  security.key = path("key");
  if (const auto good = security.validate(); !good) from.refuse("mode", describe(good.error()));
  return security;
}

cluster_config read(const toml::table& root, const fs::path& folder) {
  const section top(root, "cluster", {"name", "tree", "deadlines", "gossip", "security", "node", "pool"});
  cluster_config config;
  config.name = top.need<std::string>("name");
  if (config.name.empty()) top.refuse("name", "must not be empty");
  const auto tree_text = top.get<std::string>("tree", "knomial:8");
  config.choose_tree = tree_text == "auto";
  const auto tree = config.choose_tree ? scoll::tree_spec() : scoll::parse_tree(tree_text);
  if (!tree) {
    top.refuse("tree",
               "is no tree: try \"knomial:4\", \"kary:2\", \"flat\", \"chain\", \"zoned:2,8\" or \"auto\"");
  }
  config.tree = *tree;
  if (const toml::node* deadlines = root.get("deadlines")) {
    if (!deadlines->is_table()) top.refuse("deadlines", "must be a table");
    const section from(*deadlines->as_table(), "deadlines", {"quick_s", "long_s"});
    config.quick_deadline = read_seconds(from, "quick_s", config.quick_deadline);
    config.long_deadline = read_seconds(from, "long_s", config.long_deadline);
  }
  if (const toml::node* gossip = root.get("gossip")) {
    if (!gossip->is_table()) top.refuse("gossip", "must be a table");
    const section from(*gossip->as_table(), "gossip", {"interval_ms"});
    const auto ms = from.get<std::int64_t>("interval_ms", 200);
    if (ms < 200 || ms > 600'000) from.refuse("interval_ms", "must be 200 to 600000");
    config.gossip_interval = std::chrono::milliseconds(ms);
  }
  if (const toml::node* security = root.get("security")) {
    if (!security->is_table()) top.refuse("security", "must be a table");
    config.security = read_security(*security->as_table(), folder);
  }
  config.nodes = read_nodes(root, folder);
  read_pools(root, config);
  const auto n = static_cast<std::uint32_t>(config.nodes.size());
  if (const auto fault = scoll::check_tree(config.tree, n); fault != scoll::tree_fault::none)
    top.refuse("tree", scoll::describe(fault));
  return config;
}

/// Reads what `parse` gives, and turns what is wrong into a line.
template <class Parse>
std::variant<cluster_config, std::string> read_or_explain(const fs::path& file, Parse parse) {
  try {
    const toml::table root = parse();
    return read(root, fs::absolute(file).parent_path());
  } catch (const toml::parse_error& e) {
    const auto& at = e.source().begin;
    if (at.line == 0) return fmt::format("{}: {}", file.string(), e.description());
    return fmt::format("{}:{}:{}: {}", file.string(), at.line, at.column, e.description());
  } catch (const mistake& e) {
    return fmt::format("{}:{}", file.string(), e.what());
  }
}

}  // namespace

std::optional<std::uint32_t> cluster_config::rank_of(scoll::node_id id) const noexcept {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [id](const cluster_node& n) { return n.id == id; });
  if (found == nodes.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - nodes.begin());
}

const pool_config* cluster_config::find_pool(std::uint64_t id) const noexcept {
  const auto found =
      std::find_if(pools.begin(), pools.end(), [id](const pool_config& p) { return p.id == id; });
  return found == pools.end() ? nullptr : &*found;
}

scoll::transport::security_options cluster_config::security_of(std::string_view who) const {
  constexpr std::string_view place = "{id}";
  scoll::transport::security_options found = security;
  for (std::string* const path : {&found.keys, &found.ca, &found.certificate, &found.key}) {
    for (auto at = path->find(place); at != std::string::npos; at = path->find(place, at + who.size()))
      path->replace(at, place.size(), who);
  }
  return found;
}

std::vector<scoll::target> cluster_config::targets() const {
  std::vector<scoll::target> all;
  all.reserve(nodes.size());
  for (const cluster_node& node : nodes) all.push_back(node.as_target());
  return all;
}

std::variant<cluster_config, std::string> read_cluster_file(const fs::path& file) {
  return read_or_explain(file, [&] { return toml::parse_file(file.string()); });
}

std::variant<cluster_config, std::string> parse_cluster(std::string_view text, const fs::path& file) {
  return read_or_explain(file, [&] { return toml::parse(text, file.string()); });
}

}  // namespace shard
