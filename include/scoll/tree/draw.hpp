#pragma once

/// Draws trees for people, as text and for Graphviz.

#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "scoll/tree/tree.hpp"

namespace scoll {

namespace detail {

struct drawn_node {
  std::uint32_t rank;
  std::size_t indent;  // the bytes of the prefix that belong to its ancestors
  bool last;           // true for the last of its siblings
};

template <class Label>
std::string dot_label(Label& label, std::uint32_t r) {
  std::ostringstream text;
  text << label(r);
  std::string quoted;
  for (char c : text.str()) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted;
}

}  // namespace detail

/// Writes the tree with one member per line, children in send order, as `label (members of its subtree)`; a
/// leaf has no number. `label(r)` returns anything that can be streamed, for relative rank r.
template <spanning_tree T, class Label>
void draw_text(std::ostream& out, const T& tree, std::uint32_t n, Label label) {
  std::string prefix;
  std::vector<detail::drawn_node> pending{{0, 0, true}};
  std::vector<std::uint32_t> below;
  while (!pending.empty()) {
    const detail::drawn_node node = pending.back();
    pending.pop_back();
    prefix.resize(node.indent);
    out << prefix;
    if (node.rank != 0) out << (node.last ? "└─ " : "├─ ");
    out << label(node.rank);
    const std::uint32_t nodes = tree.subtree_nodes(n, node.rank);
    if (nodes > 1) out << " (" << nodes << ')';
    out << '\n';

    if (node.rank != 0) prefix += node.last ? "   " : "│  ";
    below.clear();
    for (std::uint32_t child : children(tree, n, node.rank)) below.push_back(child);
    for (std::size_t i = below.size(); i-- > 0;)
      pending.push_back({below[i], prefix.size(), i + 1 == below.size()});
  }
}

template <spanning_tree T>
void draw_text(std::ostream& out, const T& tree, std::uint32_t n) {
  draw_text(out, tree, n, [](std::uint32_t r) { return r; });
}

/// Writes the tree for Graphviz (`dot -Tsvg`). Edges appear in send order, which dot keeps from left to
/// right.
template <spanning_tree T, class Label>
void draw_dot(std::ostream& out, const T& tree, std::uint32_t n, Label label) {
  out << "digraph tree {\n  ordering=out;\n  node [shape=box];\n";
  for (std::uint32_t r = 0; r != n; ++r) {
    out << "  " << r << " [label=\"" << detail::dot_label(label, r) << "\"];\n";
    for (std::uint32_t child : children(tree, n, r)) out << "  " << r << " -> " << child << ";\n";
  }
  out << "}\n";
}

template <spanning_tree T>
void draw_dot(std::ostream& out, const T& tree, std::uint32_t n) {
  draw_dot(out, tree, n, [](std::uint32_t r) { return r; });
}

}  // namespace scoll
