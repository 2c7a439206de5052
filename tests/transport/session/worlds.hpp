#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tests/catch.hpp"
#include "tests/transport/io/on_reactor.hpp"
#include "transport/session/hello.hpp"
#include "transport/session/link.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"
#include "transport/tcp/tcp_rail.hpp"

/// The surroundings of endpoints: virtual time with a simulated network, or real time with TCP.
namespace network {

using namespace std::chrono_literals;
using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;

/// The executor, rails and addresses that endpoints need.
class world {
 public:
  virtual ~world() = default;
  virtual executor& ex() = 0;
  virtual std::unique_ptr<rail> make_rail(node_id node) = 0;
  virtual std::string address(node_id node) const = 0;
  /// Lets time pass until `done()`; false if that takes longer than `limit` (real or virtual).
  bool until(const std::function<bool()>& done, nanoseconds limit = 20s) { return wait(done, limit); }
  virtual void pass(nanoseconds d) = 0;

 protected:
  virtual bool wait(const std::function<bool()>& done, nanoseconds limit) = 0;
};

/// Hosts that share a virtual clock.
class virtual_world : public world {
 public:
  virtual_executor clock;

  executor& ex() override { return clock; }
  void pass(nanoseconds d) override { clock.run_for(d); }

 protected:
  static constexpr std::uint32_t hosts = 64;

 private:
  bool wait(const std::function<bool()>& done, nanoseconds limit) override {
    const time_point end = clock.now() + limit;
    const bool endless = false;
    clock.run_now();
    while (!done()) {
      if (clock.now() >= end || !clock.run_step(endless)) return false;
      clock.run_now();
    }
    return true;
  }
};

/// Hosts of a simulated network, which have the numbers of their nodes.
class memory_world final : public virtual_world {
 public:
  explicit memory_world(std::size_t chunk_bytes = sim_network::usual_chunk_bytes)
      : net(clock.world(), chunk_bytes, hosts) {
    set_latency(10us);
  }

  sim_network net;

  void set_latency(nanoseconds latency) { net.common_path().model = sim_link_model::ideal(latency); }

  std::unique_ptr<rail> make_rail(node_id node) override {
    return std::make_unique<sim_rail>(net, clock, static_cast<std::uint32_t>(node));
  }
  std::string address(node_id node) const override {
    return sim_network::address_of(static_cast<std::uint32_t>(node));
  }
};

class tcp_world final : public world {
 public:
  explicit tcp_world(std::string host, reactor_options engine_options = {})
      : host_(std::move(host)), reactor_(on_reactor::make(engine_options)) {}

  reactor& loop() { return *reactor_; }
  executor& ex() override { return *reactor_; }
  std::unique_ptr<rail> make_rail(node_id) override { return std::make_unique<tcp_rail>(*reactor_, options); }
  std::string address(node_id) const override { return host_ + ":0"; }
  void pass(nanoseconds d) override {
    wait([] { return false; }, d);
  }

  tcp_options options;

 private:
  bool wait(const std::function<bool()>& done, nanoseconds limit) override {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      reactor_->run_once(1ms);
    }
    return true;
  }

  std::string host_;
  std::unique_ptr<reactor> reactor_;
};

inline std::unique_ptr<world> any_world() {
  const int which = GENERATE(0, 1, 2);
  if (which == 0) return std::make_unique<memory_world>();
  return std::make_unique<tcp_world>(which == 1 ? "127.0.0.1" : "[::1]");
}

/// A task that runs beside the test.
class background final {
 public:
  background(executor& ex, task<> work) : root_(on_reactor::drive(std::move(work))), start_(root_.handle()) {
    ex.schedule(start_);
  }
  bool done() const { return root_.done(); }

 private:
  on_reactor::root root_;
  coroutine_node start_;
};

}  // namespace network
