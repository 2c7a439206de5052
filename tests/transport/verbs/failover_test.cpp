#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/support/build.hpp"
#include "tests/support/stacked_rail.hpp"
#include "tests/transport/memory/remotes.hpp"
#include "tests/transport/session/rails/bulk_paths.hpp"
#include "tests/transport/session/split_world.hpp"

// RDMA beside another network: what becomes of reads, bulk data and messages when a device fails, and when it is back.
using namespace transfers;

namespace {

/// Hosts with a network for messages, and with RDMA devices.
class rdma_split_world final : public split_world {
 public:
  explicit rdma_split_world(bool messages_by_rdma = false)
      : split_world(sim_network::usual_chunk_bytes, bulk_use::preferred),
        devices(fast),
        messages_by_rdma_(messages_by_rdma) {
    fast.common_path().model.ps_per_byte = 200;
  }
  ~rdma_split_world() override {
    const auto seen = devices.statistics();
    CHECK(seen.receivers_not_ready + seen.illegal_calls + seen.protection_errors + seen.access_errors == 0);
    CHECK(seen.stalled_reads + seen.overruns + seen.queue_pairs == 0);
  }
  std::string address(node_id node) const override {
    const std::string place = sim_network::address_of(static_cast<std::uint32_t>(node));
    return messages_by_rdma_ ? "fast://" + place + ";bulk=msg://" + place : split_world::address(node);
  }

  fake_verbs devices;

 protected:
  std::unique_ptr<rail> make_fast(std::uint32_t host) override {
    return std::make_unique<test::stacked_rail>(clock, split_world::make_fast(host), devices.api(clock, host),
                                                scoll::testing::scarce_verbs());
  }

 private:
  bool messages_by_rdma_;
};

/// The ways in which the RDMA of a host can end, and come back.
enum class harm : std::uint8_t { port, silent_port, device, canary };

void do_harm(rdma_split_world& w, harm what, std::uint32_t host) {
  switch (what) {
    case harm::device: w.devices.fail_device(host); [[fallthrough]];
    case harm::port: return w.devices.set_port(host, false);
    case harm::silent_port: return w.devices.set_port(host, false, false);
    case harm::canary: return split_world::sever(w.fast);
  }
}

void undo_harm(rdma_split_world& w, harm what, std::uint32_t host) {
  if (what == harm::canary) return split_world::mend(w.fast);
  w.devices.set_port(host, true, what != harm::silent_port);
}

/// A silent port is noticed by comparison, or by retries that end after half a second.
nanoseconds longest_wait(harm what) {
  return what == harm::silent_port ? 900ms : 200ms;
}

const endpoint_statistics& reads_of(const two& p) {
  return p.left->ep->statistics();
}

}  // namespace

TEST_CASE("reads that are under way when a device fails go on over the other network, and return to it") {
  const harm what = GENERATE(harm::port, harm::silent_port, harm::device, harm::canary);
  const std::uint32_t host = GENERATE(1U, 2U);
  std::size_t in_the_middle = 0;
  for (int steps = 0; steps < 30; steps += test::slow_build ? 10 : 1) {
    INFO("harm " << static_cast<int>(what) << " to host " << host << " after " << steps << " steps");
    rdma_split_world w;
    two p(w);
    fenced readable(made(2 * mebibyte, 1));
    fenced writable(made(mebibyte, 2));
    auto from = p.exposed(readable.memory());
    const auto to = p.exposed(writable.memory());
    REQUIRE(bulk_goes_by(p, from.descriptor(), by_fast, 2s));
    const std::uint64_t read_before = reads_of(p).read_bytes;

    fenced into(2 * mebibyte);
    const auto pulled = p.begin_pull(from.descriptor(), 0, into.memory());
    const auto pushed = p.begin_push(to.descriptor(), 0, readable.memory().first(mebibyte));
    w.pass(steps * 17us);
    do_harm(w, what, host);
    const time_point broken = w.clock.now();
    REQUIRE(w.until([&] { return pulled.done() && pushed.done(); }));
    CHECK(w.clock.now() - broken <= longest_wait(what));
    CHECK(pulled->has_value());
    CHECK(pushed->has_value());
    CHECK(into.holds(readable.memory()));
    CHECK(writable.holds(readable.memory().first(mebibyte)));
    const std::uint64_t read = reads_of(p).read_bytes - read_before;
    in_the_middle += read != 0 && read < 2 * mebibyte ? 1U : 0U;

    // What has ended is not written any more, however late the device is.
    test::fill(into.memory(), std::byte{9});
    w.pass(1s);
    CHECK(test::holds_only(into.memory(), std::byte{9}));
    REQUIRE(p.pull(from.descriptor(), 0, into.memory()).has_value());
    CHECK(into.holds(readable.memory()));
    CHECK(bulk_path(p) == by_net);
    calls_go_on(p, 3);

    undo_harm(w, what, host);
    CHECK(bulk_goes_by(p, from.descriptor(), by_fast, 15s));
    const std::uint64_t before_return = reads_of(p).read_bytes;
    REQUIRE(p.pull(from.descriptor(), 0, into.memory()).has_value());
    CHECK(reads_of(p).read_bytes > before_return);
    check_nothing_was_lost(p);
    CHECK(forced(p) == 0);
    REQUIRE(p.quiet());
    REQUIRE(w.until([&] { return is_idle(p); }));
  }
  CHECK(in_the_middle >= (test::slow_build ? 1U : 5U));
}

TEST_CASE("messages by RDMA go by the other network while their device is away, each once, and return") {
  const harm what = GENERATE(harm::port, harm::silent_port, harm::device, harm::canary);
  const std::uint32_t host = GENERATE(1U, 2U);
  INFO("harm " << static_cast<int>(what) << " to host " << host);
  constexpr path_key by_rdma{0, 0};  // the first in the order of the address
  rdma_split_world w(true);
  two p(w);
  calls_go_on(p, 20);  // both networks are connected
  const auto path = [&] { return p.left->to(2).path_of(traffic_class::call); };
  REQUIRE(path() == by_rdma);
  const std::uint64_t sends = w.devices.statistics().sends;
  calls_go_on(p, 1);
  REQUIRE(w.devices.statistics().sends > sends);

  std::array<call, 40> calls;
  for (std::uint64_t i = 0; i < calls.size(); ++i) {
    REQUIRE(calls[i].start(*p.left, 2, i + 1, 3000).has_value());
    if (i == calls.size() / 2) do_harm(w, what, host);
    w.pass(7us);
  }
  const time_point broken = w.clock.now();
  REQUIRE(w.until([&] { return std::ranges::all_of(calls, [](const call& c) { return c.ends == 1; }); }));
  CHECK(w.clock.now() - broken <= longest_wait(what));
  for (const call& c : calls) CHECK(c.answered());
  for (std::uint64_t i = 0; i < calls.size(); ++i) CHECK(p.right->in.seen[i + 1] == 1);
  CHECK(path() != by_rdma);
  calls_go_on(p, 5);

  undo_harm(w, what, host);
  REQUIRE(w.until([&] { return path() == by_rdma; }));
  calls_go_on(p, 2);
  check_nothing_was_lost(p);
}

namespace {

/// Devices of this machine beside TCP connections, which go by the loopback interface.
class rxe_split_world final : public test::rxe_world {
 public:
  std::unique_ptr<rail> make_rail(node_id node) override {
    return std::make_unique<split_rail>(tcp_world::make_rail(node), rxe_world::make_rail(node),
                                        bulk_use::preferred);
  }
  std::string address(node_id node) const override {
    const std::string place = rxe_world::address(node);
    return "msg://" + place + ";bulk=fast://" + place;
  }
  /// Takes the cable of a node's device out, or plugs it in.
  static void plug(node_id node, bool in) {
    const std::string& device = devices()[node % devices().size()].first;  // rxe3 is at port3 of the bridge
    const std::string command = "ip link set port" + device.substr(3) + (in ? " up" : " down");
    REQUIRE(std::system(command.c_str()) == 0);
  }
};

}  // namespace

// It needs RDMA devices, and takes the cable of one of them out.
TEST_CASE("reads over devices of this machine go on by TCP while a cable is out, and return", "[.][rxe]") {
  REQUIRE_FALSE(test::rxe_world::devices().empty());
  rxe_split_world w;
  two p(w, [](endpoint_options& o) { o.reconnect_grace = 10s; });  // machines for tests may be slow
  constexpr std::size_t size = 8 * mebibyte;
  fenced store(made(size, 1));
  fenced into(size);
  auto from = p.exposed(store.memory());
  const auto pulls_by = [&](path_key wanted, nanoseconds within) {
    for (const time_point until = w.ex().now() + within; w.ex().now() < until;) {
      const status pulled = p.pull(from.descriptor(), 0, into.memory().first(mebibyte));
      INFO((pulled ? "" : pulled.error().text()));
      REQUIRE(pulled.has_value());
      if (bulk_path(p) == wanted) return true;
      w.pass(50ms);
    }
    return false;
  };
  REQUIRE(pulls_by(by_fast, 20s));
  for (const node_id victim : {node_id{1}, node_id{2}}) {
    const std::uint64_t read_before = reads_of(p).read_bytes;
    test::fill(into.memory(), std::byte{0});
    const auto pulled = p.begin_pull(from.descriptor(), 0, into.memory());
    REQUIRE(w.until([&] { return reads_of(p).read_bytes != read_before; }));
    rxe_split_world::plug(victim, false);
    const time_point broken = w.ex().now();
    REQUIRE(w.until([&] { return pulled.done(); }));
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(w.ex().now() - broken).count();
    WARN("8 MiB whose reads were cut off had come " << waited << " ms after the cable was out");
    CHECK(pulled->has_value());
    CHECK(into.holds(store.memory()));
    CHECK(reads_of(p).read_bytes - read_before < size);
    REQUIRE(p.pull(from.descriptor(), 0, into.memory()).has_value());
    CHECK(bulk_path(p) == by_net);
    rxe_split_world::plug(victim, true);
    CHECK(pulls_by(by_fast, 60s));
    check_nothing_was_lost(p);
  }
  CHECK(forced(p) == 0);
  from.unexpose();
}
