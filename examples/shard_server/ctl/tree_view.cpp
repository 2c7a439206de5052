#include "tree_view.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/draw.hpp"
#include "scoll/tree/walk.hpp"

namespace shard {
namespace {

/// A tree over the servers of a cluster file, expressed in node ids.
class server_tree {
 public:
  server_tree(const cluster_config& config, std::uint32_t root_rank)
      : config_(config),
        root_(root_rank),
        n_(static_cast<std::uint32_t>(config.nodes.size())),
        tree_(*scoll::any_tree::resolve(config.tree, n_, places(config, root_rank))) {}

  const scoll::any_tree& tree() const noexcept { return tree_; }
  std::uint32_t members() const noexcept { return n_; }

  scoll::node_id node(std::uint32_t relative) const {
    return config_.nodes[scoll::to_rank(relative, root_, n_)].id;
  }
  scoll::node_id parent(std::uint32_t relative) const { return node(tree_.parent(n_, relative)); }
  std::vector<scoll::node_id> subtree(std::uint32_t relative) const {
    std::vector<scoll::node_id> nodes;
    scoll::for_each_in_subtree(tree_, n_, relative, [&](std::uint32_t r) { nodes.push_back(node(r)); });
    return nodes;
  }

 private:
  /// Where the servers are, by relative rank.
  static std::vector<scoll::member_place> places(const cluster_config& config, std::uint32_t root) {
    const auto n = static_cast<std::uint32_t>(config.nodes.size());
    std::vector<scoll::member_place> all;
    all.reserve(n);
    for (std::uint32_t r = 0; r != n; ++r) all.push_back(config.nodes[scoll::to_rank(r, root, n)].where);
    return all;
  }

  const cluster_config& config_;
  std::uint32_t root_;
  std::uint32_t n_;
  scoll::any_tree tree_;
};

void write_list(std::ostream& out, const server_tree& t) {
  for (std::uint32_t r = 0; r != t.members(); ++r)
    out << fmt::format("{} parent {} subtree {}\n", t.node(r), t.parent(r), fmt::join(t.subtree(r), " "));
}

void write_json(std::ostream& out, const server_tree& t) {
  nlohmann::json nodes = nlohmann::json::array();
  for (std::uint32_t r = 0; r != t.members(); ++r) {
    nlohmann::json one;
    one["node"] = t.node(r);
    if (r != 0) one["parent"] = t.parent(r);
    one["subtree"] = t.subtree(r);
    nodes.push_back(std::move(one));
  }
  nlohmann::json all;
  all["tree"] = to_string(t.tree().spec());
  all["nodes"] = std::move(nodes);
  out << all.dump() << '\n';
}

}  // namespace

void show_tree(std::ostream& out, const cluster_config& config, std::uint32_t root_rank, tree_form form) {
  const server_tree t(config, root_rank);
  const auto label = [&](std::uint32_t r) { return fmt::format("node {}", t.node(r)); };
  switch (form) {
    case tree_form::text: return scoll::draw_text(out, t.tree(), t.members(), label);
    case tree_form::dot: return scoll::draw_dot(out, t.tree(), t.members(), label);
    case tree_form::list: return write_list(out, t);
    case tree_form::json: return write_json(out, t);
  }
}

}  // namespace shard
