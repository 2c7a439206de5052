#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "transport/io/reactor.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace remote_file {

/// A client's node, and the loop that it works on.
class client_node {
 public:
  client_node()
      : loop_(scoll::transport::reactor::create().value()), rail_(*loop_), node_(*loop_, rail_, options()) {}
  ~client_node() {
    run(node_.shutdown(std::chrono::seconds(1))).ignore();
    while (rail_.open() != 0) loop_->run_once(std::chrono::milliseconds(10));
  }
  client_node(const client_node&) = delete;
  client_node& operator=(const client_node&) = delete;

  scoll::node& node() noexcept { return node_; }
  template <class T>
  T run(scoll::task<T> work) {
    return sync_wait(*loop_, std::move(work));
  }

 private:
  static scoll::node_options options() {
    scoll::node_options o;
    o.role = scoll::node_role::client;
    o.cluster = "remote_file";
    return o;
  }

  std::unique_ptr<scoll::transport::reactor> loop_;
  scoll::transport::tcp_rail rail_;
  scoll::node node_;
};

}  // namespace remote_file
