#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "scoll/collective/membership.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"
#include "scoll/tree/spec.hpp"

namespace shard {

/// One server as the cluster file knows it.
struct cluster_node {
  scoll::node_id id = 0;
  std::string address;            ///< numeric, with port
  std::filesystem::path control;  ///< UNIX socket; relative ones are below the cluster file's folder
};

/// What all servers and shardctl read. A node's rank is its position. See README.md for the format.
struct cluster_config {
  std::string name;
  scoll::tree_spec tree;     ///< of the file; the library's default where it says "auto"
  bool choose_tree = false;  ///< "auto": every root measures its links and chooses
  scoll::nanoseconds quick_deadline = std::chrono::seconds(10);  ///< of df, find, top, put, get
  scoll::nanoseconds long_deadline = std::chrono::minutes(10);   ///< of scrub and ingest
  scoll::nanoseconds gossip_interval = std::chrono::milliseconds(200);
  std::vector<cluster_node> nodes;

  std::optional<std::uint32_t> rank_of(scoll::node_id id) const noexcept;
  std::vector<scoll::target> targets() const;
  std::string tree_text() const { return choose_tree ? "auto" : to_string(tree); }
};

/// The servers one file may name.
inline constexpr std::size_t max_nodes = 1024;

/// The configuration, or one line that says what is wrong and where: "cluster.toml:7:11: ...". Everything is
/// checked; a key that nobody reads is refused, because it is a misspelt one.
std::variant<cluster_config, std::string> read_cluster_file(const std::filesystem::path& file);

}  // namespace shard
