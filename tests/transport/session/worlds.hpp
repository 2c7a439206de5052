#pragma once

#include <coroutine>
#include <initializer_list>
#include <memory>
#include <string>

#include "tests/catch.hpp"
#include "tests/support/world.hpp"
#include "tests/transport/io/on_reactor.hpp"
#include "transport/session/greeting.hpp"

/// Endpoints in a world, and what runs beside a test of them.
namespace network {

using namespace std::chrono_literals;
using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;
using scoll::test::memory_world;
using scoll::test::tcp_world;
using scoll::test::virtual_world;
using scoll::test::world;

inline std::unique_ptr<world> any_world(std::initializer_list<test::fault> needed = {}) {
  return test::make_world(test::any_kind_of_world(needed), memory_world::usual_hosts, 0);
}
/// Likewise, or a simulated network with hardware that reads memory.
inline std::unique_ptr<world> any_bulk_world(std::initializer_list<test::fault> needed = {}) {
  return test::make_world(test::any_kind_of_bulk_world(needed), memory_world::usual_hosts, 0);
}
/// A world in which bulk data travel in messages.
inline std::unique_ptr<world> any_stream_world() {
  return test::make_world(test::any_kind_of_stream_world(), memory_world::usual_hosts, 0);
}
/// What reads the memory of peers in a simulated network.
enum class hardware : std::uint8_t {
  none,
  simple,        ///< hardware that does nothing else
  rdma_devices,  ///< the devices that also carry all messages
};

inline std::unique_ptr<memory_world> make_memory_world(
    hardware what, const testing::sim_remote_memory& slabs = test::few_slabs) {
  if (what == hardware::none) return std::make_unique<memory_world>();
  if (what == hardware::simple) return std::make_unique<memory_world>(slabs);
  auto made = std::make_unique<test::fake_verbs_world>(memory_world::usual_hosts, 0);
  made->options.read_slabs = slabs.slabs;
  made->options.read_slab_bytes = slabs.slab_bytes;
  made->devices.set_control_time(std::chrono::microseconds(1));  // links come up about as fast as others
  return made;
}
/// Runs the case for each kind of hardware that reads memory.
inline hardware any_hardware() {
  return GENERATE(hardware::simple, hardware::rdma_devices);
}
inline std::unique_ptr<memory_world> any_memory_world() {
  const auto what = GENERATE(hardware::none, hardware::simple, hardware::rdma_devices);
  return make_memory_world(what);
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
