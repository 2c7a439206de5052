#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend.hpp"
#include "caller.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/node.hpp"

namespace bench {

/// A process with one node over TCP that all others know. Process 0 carries out orders, which the derived class
/// does in `obey`. It is not destroyed: the process ends without an orderly shutdown.
class node_process {
 public:
  node_process(const node_process&) = delete;
  node_process& operator=(const node_process&) = delete;

  void run() {
    if (me_.index() == 0) work_.spawn(obey());
    ring_->run();
  }

 protected:
  node_process(member& me, const std::string& congestion_control)
      : me_(me),
        ring_(make_reactor()),
        rail_(*ring_, rail_options(congestion_control)),
        node_(*ring_, rail_, node_identity(me.index())),
        work_(*ring_) {}
  ~node_process() = default;

  /// Listens, and waits until all processes know each other. The services must be there.
  void join() {
    node_.listen("127.0.0.1:0").value();
    introduce(me_, node_.listen_address(),
              [this](scoll::node_id id, const std::string& address) { node_.add_peer(id, address).value(); });
  }
  /// A group of all processes.
  template <class S>
  scoll::task<scoll::group<S>> make_group(scoll::group_options options = {}) {
    std::vector<scoll::target> targets;
    targets.reserve(me_.count());
    for (std::uint32_t i = 0; i < me_.count(); ++i) targets.push_back({i + 1, {}});
    auto created = co_await node_.create_group<S>(targets, options);
    if (!created) me_.give_up(describe(created.error()));
    co_return *created;
  }
  /// Carries out all orders, and then stops the reactor.
  virtual scoll::task<void> obey() = 0;

  counts count() noexcept { return counts::now(*ring_, node_.wire()); }

  member& me_;
  std::unique_ptr<scoll::transport::reactor> ring_;
  scoll::transport::tcp_rail rail_;
  scoll::node node_;
  scoll::scope work_;
};

}  // namespace bench
