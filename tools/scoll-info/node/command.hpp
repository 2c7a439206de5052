#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace info {

/// What is asked of a running node.
struct node_request {
  std::string socket;
  std::string command;  ///< empty: nothing is asked of a node
  std::uint64_t peer = 0;
  bool follow = false;
};

/// Adds `--node` and its commands to the command line.
void add_node_commands(CLI::App& app, node_request& r);

/// Asks the node and prints its answer. Returns the exit status.
int ask_node(const node_request& r, bool as_json);

}  // namespace info
