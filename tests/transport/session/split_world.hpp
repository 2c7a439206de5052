#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tests/transport/session/worlds.hpp"
#include "transport/session/named_rails.hpp"

namespace network {

/// The rails of one host on two networks, as one.
class split_rail final : public rail {
 public:
  split_rail(std::unique_ptr<rail> messages, std::unique_ptr<rail> bulk, bulk_use use)
      : messages_(std::move(messages)), bulk_(std::move(bulk)), both_(use) {
    both_.add("msg", *messages_).value();
    both_.add("fast", *bulk_).value();
  }
  rail& fast() noexcept { return *bulk_; }

  status listen(const std::string& address, accept_events& events) noexcept override {
    return both_.listen(address, events);
  }
  std::string listen_address() const override { return both_.listen_address(); }
  void stop_listening() noexcept override { both_.stop_listening(); }
  status check_address(std::string_view address) const override { return both_.check_address(address); }
  void connect(const std::string& address, connect_events& waiter) noexcept override {
    both_.connect(address, waiter);
  }
  void cancel_connect(connect_events& waiter) noexcept override { both_.cancel_connect(waiter); }
  memory_registrar* registrar(std::size_t number) noexcept override { return both_.registrar(number); }
  std::size_t open() const noexcept override { return both_.open(); }
  task<void> all_closed() override { return both_.all_closed(); }
  named_rails* parts() noexcept override { return both_.parts(); }

 private:
  std::unique_ptr<rail> messages_;
  std::unique_ptr<rail> bulk_;
  named_rails both_;
};

/// Hosts with two simulated networks: `net` carries the control lanes, `fast` the bulk lanes, alone or
/// preferably.
class split_world : public virtual_world {
 public:
  explicit split_world(std::size_t chunk_bytes = sim_network::usual_chunk_bytes,
                       bulk_use use = bulk_use::only)
      : net(clock.world(), chunk_bytes, usual_hosts),
        fast(clock.world(), chunk_bytes, usual_hosts),
        use_(use) {
    net.common_path().model = fast.common_path().model = sim_link_model::ideal(10us);
  }

  sim_network net;
  sim_network fast;

  std::unique_ptr<rail> make_rail(node_id node) override {
    const auto host = static_cast<std::uint32_t>(node);
    return std::make_unique<split_rail>(std::make_unique<sim_rail>(net, clock, host), make_fast(host), use_);
  }
  std::string address(node_id node) const override {
    const std::string place = sim_network::address_of(static_cast<std::uint32_t>(node));
    return "msg://" + place + ";bulk=fast://" + place;
  }

  /// Nodes 1 and 2 lose a network, and cannot connect over it.
  static void sever(sim_network& network) {
    network.refuse(1, 2);
    network.refuse(2, 1);
    network.cut(1, 2);
  }
  static void mend(sim_network& network) {
    network.admit(1, 2);
    network.admit(2, 1);
  }
  /// Nothing of what nodes 1 and 2 send over a network arrives, until `until` of the world's time.
  static void block(sim_network& network, nanoseconds until) {
    network.path(1, 2).blocked_until = network.path(2, 1).blocked_until = until;
  }

 protected:
  virtual std::unique_ptr<rail> make_fast(std::uint32_t host) {
    return std::make_unique<sim_rail>(fast, clock, host);
  }

 private:
  bulk_use use_;
};

}  // namespace network
