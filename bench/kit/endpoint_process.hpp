#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "backend.hpp"
#include "caller.hpp"
#include "carrier.hpp"
#include "scoll/coro/scope.hpp"

namespace bench {

/// A process with one endpoint that all others know, over TCP, or over verbs with the addresses `hosts`. Process 0 carries out orders; the derived class
/// defines the operation with `ask(node)`.
class endpoint_process : protected scoll::transport::endpoint_events {
 public:
  endpoint_process(const endpoint_process&) = delete;
  endpoint_process& operator=(const endpoint_process&) = delete;

  counts count() noexcept { return counts::now(*ring_, endpoint_); }

 protected:
  endpoint_process(member& me, const std::string& congestion_control,
                   const scoll::transport::endpoint_options& options,
                   const std::vector<std::string>& hosts = {})
      : me_(me),
        ring_(make_reactor()),
        carrier_(*ring_, congestion_control, hosts.empty() ? std::string() : hosts.at(me.index())),
        endpoint_(*ring_, carrier_.rail(), patient(options, hosts), *this),
        background_(*ring_) {
    endpoint_.listen(carrier_.listen_address()).value();
    introduce(
        me, endpoint_.listen_address(),
        [this](scoll::transport::node_id id, const std::string& address) {
          endpoint_.add_peer(id, address).value();
        },
        hosts);
  }
  ~endpoint_process() = default;

  template <class Subject>
  void run_as(Subject& subject) {
    if (me_.index() == 0) background_.spawn(obey(subject, me_, *ring_));
    ring_->run();
  }

  /// A device may take seconds to be opened, and to find its peer.
  static scoll::transport::endpoint_options patient(scoll::transport::endpoint_options o,
                                                    const std::vector<std::string>& hosts) {
    if (!hosts.empty()) o.reconnect_grace = std::chrono::seconds(30);
    return o;
  }

  void on_request(scoll::transport::request_view&) noexcept override {}
  void on_cancelled(scoll::transport::incoming&, const scoll::transport::cancel_reason&) noexcept override {}
  void on_session_lost(scoll::transport::session&, const scoll::error&) noexcept override {}

  member& me_;
  std::unique_ptr<scoll::transport::reactor> ring_;
  carrier carrier_;
  scoll::transport::endpoint endpoint_;
  scoll::scope background_;
};

}  // namespace bench
