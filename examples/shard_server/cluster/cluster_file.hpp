#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "scoll/collective/membership.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"
#include "scoll/tree/spec.hpp"
#include "transport/security/security_options.hpp"

namespace shard {

/// One server as the cluster file describes it.
struct cluster_node {
  scoll::node_id id = 0;
  std::vector<std::string> addresses;  ///< one for each rail, in the order of the rails, as the file says
  std::vector<std::string> places;     ///< the same without the names of transports
  std::vector<std::string> gossip;     ///< where gossip is: `places`, with verbs:// if it goes by RDMA
  std::string address;                 ///< the first of `places`: numeric, with port
  std::filesystem::path control;       ///< UNIX socket; relative ones are below the cluster file's folder
  scoll::member_place where;           ///< its zone and host; 0 if the file does not say

  scoll::target as_target() const { return {id, {}, where.zone, where.host}; }
};

/// Some of the servers, which belong together.
struct pool_config {
  std::uint64_t id = 0;
  std::string name;                   ///< for people; may be empty
  std::vector<scoll::node_id> nodes;  ///< at least one, in the order of the file, which is that of the ranks
};

/// The configuration that all servers and shardctl read. A node's rank is its position. README.md describes
/// the format.
struct cluster_config {
  std::string name;
  scoll::tree_spec tree;     ///< from the file; the library's default if the file says "auto"
  bool choose_tree = false;  ///< "auto": every root measures its links and chooses
  scoll::nanoseconds quick_deadline = std::chrono::seconds(10);  ///< for df, find, top, put, get
  scoll::nanoseconds long_deadline = std::chrono::minutes(10);   ///< for scrub and ingest
  scoll::nanoseconds gossip_interval = std::chrono::milliseconds(200);
  scoll::transport::security_options security;  ///< `{id}` in its paths stands for a server's id, or "client"
  std::vector<cluster_node> nodes;
  std::vector<pool_config> pools;

  /// Null if there is no such pool.
  const pool_config* find_pool(std::uint64_t id) const noexcept;
  std::optional<std::uint32_t> rank_of(scoll::node_id id) const noexcept;
  std::vector<scoll::target> targets() const;
  /// The security of a server, by its id, or of "client".
  scoll::transport::security_options security_of(std::string_view who) const;
  std::string tree_text() const { return choose_tree ? "auto" : to_string(tree); }
};

/// The largest number of servers that one file may name.
inline constexpr std::size_t max_nodes = 1024;

/// Returns the configuration, or one line that says what is wrong and where: "cluster.toml:7:11: ...".
/// Everything is checked. An unknown key is an error, because it is most likely a misspelt one.
std::variant<cluster_config, std::string> read_cluster_file(const std::filesystem::path& file);
/// Does the same with the content of a file that has been read. `file` is its path.
std::variant<cluster_config, std::string> parse_cluster(std::string_view text,
                                                        const std::filesystem::path& file);

}  // namespace shard
