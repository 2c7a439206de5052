#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/coro/executor.hpp"
#include "transport/io/reactor.hpp"
#include "transport/security/security_options.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/link.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/verbs/fake_verbs.hpp"
#include "transport/sim/virtual_executor.hpp"
#include "transport/tcp/tcp_rail.hpp"
#include "transport/verbs/verbs_options.hpp"

/// The surroundings of nodes, so that one set of cases runs over every transport.
namespace scoll::test {

using transport::node_id;

/// What a test does to the nodes of a world. Not every world can do all of it.
enum class fault : std::uint8_t {
  part,    ///< two nodes lose their links, and get no new ones until they are joined
  freeze,  ///< a node stands still, as if it had been stopped, until it is thawed
  haste,   ///< none: it counts on links that come up, and messages that arrive, within a few milliseconds
};

/// The executor, rails and addresses that nodes need, and what can be done to them. Nodes are named by
/// their id, from 1 on.
class world {
 public:
  virtual ~world() = default;

  virtual executor& ex() = 0;
  virtual std::unique_ptr<transport::rail> make_rail(node_id node) = 0;
  /// The address on which a node listens. The rail tells the actual one.
  virtual std::string address(node_id node) const = 0;

  /// Lets time pass until `done()`; false if that takes longer than `limit` (real or virtual).
  bool until(const std::function<bool()>& done, nanoseconds limit = std::chrono::seconds(20)) {
    return wait(done, limit);
  }
  virtual void pass(nanoseconds d) = 0;
  /// Runs one turn, which waits for at most `longest` until there is something to do.
  virtual void run_once(nanoseconds longest) = 0;
  /// Runs what is ready, and lets no time pass.
  virtual void run_ready() = 0;
  /// Runs what is left when all nodes are gone.
  virtual void run_out() = 0;
  virtual bool is_virtual() const noexcept = 0;
  /// How long after the end of all work something may still be held, in virtual time.
  virtual nanoseconds settling_time() const noexcept { return std::chrono::milliseconds(200); }
  /// The security of the connections of a node, whose files last as long as this world.
  virtual transport::security_options security(node_id) { return {}; }
  /// How long an operation that has been stopped may still wait for the hardware.
  virtual nanoseconds fence_bound() const noexcept { return nanoseconds::zero(); }

  virtual bool can(fault) const noexcept { return false; }
  virtual void part(node_id a, node_id b);
  virtual void join(node_id a, node_id b);
  virtual void freeze(node_id node);
  virtual void thaw(node_id node);

 protected:
  virtual bool wait(const std::function<bool()>& done, nanoseconds limit) = 0;
};

/// Hosts that share a virtual clock.
class virtual_world : public world {
 public:
  testing::virtual_executor clock;

  executor& ex() override { return clock; }
  void pass(nanoseconds d) override { clock.run_for(d); }
  void run_once(nanoseconds longest) override { clock.run_once(longest); }
  void run_ready() override { clock.run_now(); }
  void run_out() override { clock.run_until_idle(); }
  bool is_virtual() const noexcept override { return true; }

  static constexpr std::uint32_t usual_hosts = 64;

 private:
  bool wait(const std::function<bool()>& done, nanoseconds limit) override;
};

/// Few slabs of hardware that reads memory, each smaller than a segment of most tests.
inline constexpr testing::sim_remote_memory few_slabs{.slabs = 8, .slab_bytes = 131072};

/// Hosts of a simulated network. Node `first_node` is host 0.
class memory_world : public virtual_world {
 public:
  explicit memory_world(std::size_t chunk_bytes = testing::sim_network::usual_chunk_bytes,
                        std::uint32_t hosts = usual_hosts, node_id first_node = 0)
      : net(clock.world(), chunk_bytes, hosts), first_node_(first_node) {
    set_latency(std::chrono::microseconds(10));
  }
  /// Hosts with hardware that reads memory.
  explicit memory_world(const testing::sim_remote_memory& remote,
                        std::size_t chunk_bytes = testing::sim_network::usual_chunk_bytes,
                        std::uint32_t hosts = usual_hosts, node_id first_node = 0)
      : memory_world(chunk_bytes, hosts, first_node) {
    net.enable_remote_memory(remote);
  }

  testing::sim_network net;

  void set_latency(nanoseconds latency) { net.common_path().model = testing::sim_link_model::ideal(latency); }
  std::uint32_t host_of(node_id node) const { return static_cast<std::uint32_t>(node - first_node_); }

  std::unique_ptr<transport::rail> make_rail(node_id node) override {
    return std::make_unique<testing::sim_rail>(net, clock, host_of(node));
  }
  std::string address(node_id node) const override { return testing::sim_network::address_of(host_of(node)); }
  /// The reads of memory without a right so far.
  virtual std::uint64_t access_errors() const { return net.access_errors(); }
  /// A test brings about so many of them.
  virtual void expect_access_errors(std::uint64_t) {}
  nanoseconds fence_bound() const noexcept override {
    return net.has_remote_memory() ? std::chrono::milliseconds(53) : nanoseconds::zero();
  }
  bool can(fault) const noexcept override { return true; }
  void part(node_id a, node_id b) override;
  void join(node_id a, node_id b) override;
  void freeze(node_id node) override { net.freeze(host_of(node)); }
  void thaw(node_id node) override { net.thaw(host_of(node)); }

 private:
  node_id first_node_;
};

/// Hosts of a simulated network with RDMA devices, over which links send messages and READ memory. The world checks at its end
/// that nothing has happened on its devices that only a bug brings about.
class fake_verbs_world final : public memory_world {
 public:
  explicit fake_verbs_world(std::uint32_t hosts = usual_hosts, node_id first_node = 0)
      : memory_world(testing::sim_network::usual_chunk_bytes, hosts, first_node), devices(net) {
    options.receive_slots = std::max(options.receive_slots, 16 * hosts);
  }
  ~fake_verbs_world() override;

  std::unique_ptr<transport::rail> make_rail(node_id node) override;
  void thaw(node_id node) override {
    memory_world::thaw(node);
    devices.thaw(host_of(node));
  }
  /// A device tries for half a second to reach a peer that is gone.
  nanoseconds settling_time() const noexcept override { return std::chrono::seconds(2); }
  nanoseconds fence_bound() const noexcept override { return std::chrono::milliseconds(53); }

  testing::fake_verbs devices;
  std::uint64_t access_errors() const override { return devices.statistics().access_errors; }
  void expect_access_errors(std::uint64_t count) override { forged_reads_ = count; }

  transport::verbs_options options = testing::scarce_verbs();

 private:
  std::uint64_t forged_reads_ = 0;
};

/// Real time, and TCP on the loopback interface. On IPv4 every node has an address of its own, by which its
/// connections are found and broken.
class tcp_world : public world {
 public:
  enum class family : std::uint8_t { v4, v6 };

  explicit tcp_world(family addresses, transport::reactor_options engine_options = {});
  /// Has all connections guarded by a key.
  void guard();
  ~tcp_world() override;

  transport::reactor& loop() { return *reactor_; }
  executor& ex() override { return *reactor_; }
  std::unique_ptr<transport::rail> make_rail(node_id node) override;
  std::string address(node_id node) const override;
  void pass(nanoseconds d) override;
  void run_once(nanoseconds longest) override { reactor_->run_once(longest); }
  void run_ready() override;
  void run_out() override { run_ready(); }
  bool is_virtual() const noexcept override { return false; }
  transport::security_options security(node_id) override { return security_; }

  bool can(fault f) const noexcept override {
    return f == fault::haste || (f == fault::part && family_ == family::v4);
  }
  void part(node_id a, node_id b) override;
  void join(node_id a, node_id b) override;

  transport::tcp_options options;

 private:
  class gated_rail;
  struct gap {
    node_id a, b;
  };

  bool wait(const std::function<bool()>& done, nanoseconds limit) override;
  std::string host(node_id node) const;
  bool parted(node_id from, std::string_view address) const;

  family family_;
  transport::security_options security_;
  std::vector<gap> gaps_;
  std::unique_ptr<transport::reactor> reactor_;
};

/// RDMA devices of this machine, which `SCOLL_TEST_RXE` names with their addresses, such as
/// "rxe1=10.0.0.1,rxe2=10.0.0.2". Nodes use them by turns, with as many memory windows for each link as
/// `SCOLL_TEST_RXE_WINDOWS` says, or none. The connections below them are those of a `tcp_world`.
class rxe_world : public tcp_world {
 public:
  explicit rxe_world(bool reads = true);
  /// Empty if the environment names no devices.
  static const std::vector<std::pair<std::string, std::string>>& devices();

  std::unique_ptr<transport::rail> make_rail(node_id node) override;

  transport::verbs_options options;
};

/// The transports that tests of protocols run over.
enum class world_kind : std::uint8_t {
  memory,
  tcp_v4,
  tcp_v6,
  remote_memory,
  tcp_guarded,
  fake_verbs,
  fake_verbs_windows,
  fake_verbs_messages,  ///< nothing is read by hardware
  rxe,
  rxe_messages,
};

constexpr bool is_virtual(world_kind kind) noexcept {
  return kind == world_kind::memory || kind == world_kind::remote_memory || kind == world_kind::fake_verbs ||
         kind == world_kind::fake_verbs_windows || kind == world_kind::fake_verbs_messages;
}

/// Runs the case once for each kind of world that can do all of `needed`; if the environment names RDMA devices, on
/// those alone. The program prints at its end how
/// many cases it has left out of which world.
world_kind any_kind_of_world(std::initializer_list<fault> needed = {});
/// Likewise for cases with bulk data, which hardware that reads memory may move, and guards may seal.
world_kind any_kind_of_bulk_world(std::initializer_list<fault> needed = {});

/// Likewise for cases that look at how bulk data travel in messages.
world_kind any_kind_of_stream_world();

/// Makes a world. In virtual time it has `hosts` hosts, the first of which has node `first_node`, and wires that
/// cost their latency.
std::unique_ptr<world> make_world(world_kind kind, std::uint32_t hosts, node_id first_node,
                                  nanoseconds latency = std::chrono::microseconds(10));

}  // namespace scoll::test
