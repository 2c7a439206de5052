#pragma once

#include <memory>
#include <string>

#include "backend.hpp"
#include "caller.hpp"
#include "scoll/coro/scope.hpp"

namespace bench {

/// A process with one endpoint over TCP that all others know. Process 0 carries out orders; the derived class
/// defines the operation with `ask(node)`.
class endpoint_process : protected scoll::transport::endpoint_events {
 public:
  endpoint_process(const endpoint_process&) = delete;
  endpoint_process& operator=(const endpoint_process&) = delete;

  counts count() noexcept { return counts::now(*ring_, endpoint_); }

 protected:
  endpoint_process(member& me, const std::string& congestion_control,
                   const scoll::transport::endpoint_options& options)
      : me_(me),
        ring_(make_reactor()),
        rail_(*ring_, rail_options(congestion_control)),
        endpoint_(*ring_, rail_, options, *this),
        background_(*ring_) {
    endpoint_.listen("127.0.0.1:0").value();
    introduce(me, endpoint_.listen_address(),
              [this](scoll::transport::node_id id, const std::string& address) {
                endpoint_.add_peer(id, address).value();
              });
  }
  ~endpoint_process() = default;

  template <class Subject>
  void run_as(Subject& subject) {
    if (me_.index() == 0) background_.spawn(obey(subject, me_, *ring_));
    ring_->run();
  }

  void on_request(scoll::transport::request_view&) noexcept override {}
  void on_cancelled(scoll::transport::incoming&, const scoll::transport::cancel_reason&) noexcept override {}
  void on_session_lost(scoll::transport::session&, const scoll::error&) noexcept override {}

  member& me_;
  std::unique_ptr<scoll::transport::reactor> ring_;
  scoll::transport::tcp_rail rail_;
  scoll::transport::endpoint endpoint_;
  scoll::scope background_;
};

}  // namespace bench
