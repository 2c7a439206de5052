#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "scoll/coro/random.hpp"
#include "tests/catch.hpp"
#include "tests/transport/verbs/datagrams/ports.hpp"

using namespace ports;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t host_count = 6;

/// Hosts that send to each other while they are restarted, and their devices, cables and networks fail.
class troubled_hosts {
 public:
  explicit troubled_hosts(std::uint64_t seed) : random_(seed) {
    few_.names = 32;
    few_.send_buffers = 16;
    few_.receive_slots = 16;
    few_.receive_buffers = 4;
    for (std::uint32_t i = 0; i < host_count; ++i) start(i);
  }

  void one_step() {
    const auto host = static_cast<std::uint32_t>(random_.below(host_count));
    switch (random_.below(24)) {
      case 0: start(host); break;
      case 1: h_.devices.fail_device(host); break;
      case 2: h_.devices.set_port(host, random_.chance(1, 2), random_.chance(1, 2)); break;
      case 3: h_.devices.refuse_send_after(host, static_cast<std::uint32_t>(random_.below(8))); break;
      case 4: h_.net.freeze(host); break;
      case 5: thaw(host); break;
      case 6: all_[host]->hold = !all_[host]->hold; break;
      case 7: all_[host]->held.clear(); break;
      case 8: h_.udp.pull(host, h_.clock.world().now() + milliseconds_up_to(400)); break;
      case 9: h_.devices.set_control_time(milliseconds_up_to(3)); break;
      case 10: disturb(); break;
      default: send_some(host);
    }
    h_.clock.run_for(std::chrono::microseconds(random_.below(random_.chance(1, 8) ? 300'000 : 200)));
  }

  /// When nothing fails any more, all reach all.
  void heal_and_check() {
    for (std::uint32_t i = 0; i < host_count; ++i) {
      h_.devices.set_port(i, true);
      thaw(i);
      all_[i]->hold = false;
      all_[i]->held.clear();
    }
    h_.devices.set_control_time(20us);
    sim_path& way = h_.net.common_path();
    way.loss_ppm = way.duplicate_ppm = way.reorder_ppm = way.corrupt_ppm = 0;
    h_.clock.run_for(5s);
    for (int round = 0; round < 8; ++round) {
      for (auto& each : all_) each->heard.clear();
      for (std::uint32_t from = 0; from < host_count; ++from) {
        for (std::uint32_t to = 0; to < host_count; ++to) {
          if (from != to) static_cast<void>(all_[from]->send(to, from));
        }
      }
      h_.clock.run_for(250ms);
    }
    for (std::uint32_t to = 0; to < host_count; ++to) {
      std::vector<std::uint32_t> from = all_[to]->numbers();
      std::sort(from.begin(), from.end());
      std::vector<std::uint32_t> others;
      for (std::uint32_t i = 0; i < host_count; ++i) {
        if (i != to) others.push_back(i);
      }
      INFO("host " << to);
      CHECK(from == others);
    }
  }

 private:
  nanoseconds milliseconds_up_to(std::uint64_t most) {
    return std::chrono::milliseconds(random_.below(most + 1));
  }
  /// A host whose device cannot be opened now stays as it is.
  void start(std::uint32_t host) {
    h_.devices.set_port(host, true);
    all_[host].reset();
    all_[host] = std::make_unique<rdma_host>(h_, host, few_);
    all_[host]->bind();
  }
  void thaw(std::uint32_t host) {
    h_.net.thaw(host);
    h_.devices.thaw(host);
  }
  void disturb() {
    sim_path& way = h_.net.common_path();
    const auto share = [&] { return static_cast<std::uint32_t>(random_.below(300'000)); };
    way.loss_ppm = share();
    way.duplicate_ppm = share();
    way.reorder_ppm = share();
    way.corrupt_ppm = share();
  }
  void send_some(std::uint32_t from) {
    for (std::uint64_t i = 0; i <= random_.below(12); ++i) {
      const auto to = static_cast<std::uint32_t>(random_.below(44));  // most of them are nobody
      static_cast<void>(all_[from]->send(random_.chance(1, 2) ? to % host_count : to, 7,
                                         static_cast<std::size_t>(random_.below(4065))));
    }
  }

  fake_hosts h_;
  random_generator random_;
  verbs_port_options few_;
  std::array<std::unique_ptr<rdma_host>, host_count> all_;
};

}  // namespace

TEST_CASE("whatever fails, ports for datagrams over RDMA find each other again") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    troubled_hosts hosts(seed);
    for (int i = 0; i < 400; ++i) hosts.one_step();
    hosts.heal_and_check();
  }
}
