#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"
#include "transport/io/reactor.hpp"

namespace scoll {

/// Answers questions about a running node on a Unix socket, for people, monitoring and `scoll-info --node`.
/// docs/introspection.md has the commands. It only reads memory of the node. An answer is bounded in size.
/// A client that asks too often, or while too many others ask, is answered `busy`. Thread: the reactor's.
class node_control {
 public:
  /// The most clients that are served at once, and how many of them may follow the events.
  static constexpr std::size_t most_clients = 16;
  static constexpr std::size_t most_followers = 8;
  /// The most commands per second, after as many at once.
  static constexpr std::size_t most_commands_per_second = 200;

  /// `{node}` in `path` stands for the node's id. With an empty path nothing is served. `of` runs on `loop`;
  /// both must outlive the control, which must be closed before it is destroyed if it was opened.
  node_control(node& of, transport::reactor& loop, std::string path);
  ~node_control();
  node_control(const node_control&) = delete;
  node_control& operator=(const node_control&) = delete;

  /// Makes the socket, which only its own user may connect to, and begins to answer. Errors: those of
  /// `transport::open_control_socket`.
  status open();
  /// Removes the socket, ends the answers under way and waits for their end. Then it
  /// may be opened again.
  task<void> close();

  /// The path of the socket; empty if nothing is served.
  const std::string& path() const noexcept;

 private:
  class server;
  std::unique_ptr<server> server_;
};

}  // namespace scoll
