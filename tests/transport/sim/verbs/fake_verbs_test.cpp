#include "transport/sim/verbs/fake_verbs.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "tests/catch.hpp"
#include "transport/sim/verbs/fake_context.hpp"
#include "transport/sim/virtual_executor.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace {

using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport::verbs;
using namespace std::chrono_literals;
namespace verbs = scoll::transport::verbs;  // `completion` alone is another thing, too

constexpr std::size_t message_bytes = 64;

/// A device with one queue pair, and memory for a few messages. Nobody waits for its completions.
struct device_end {
  device_end(fake_verbs& devices, virtual_executor& clock, std::uint32_t number,
             std::uint32_t completions = 64)
      : host(number), api(devices.api(clock, number)), context(std::move(*api->open("fake0"))) {
    queue = *context->make_completion_queue(completions);
    receives = *context->make_receive_queue(8);
    registered = *context->register_memory(memory, register_for::messages);
    pair = *context->make_queue_pair({queue, receives, 16, 32}, 1);
  }
  ~device_end() {
    context->destroy(pair);
    context->destroy(receives);
    context->destroy(queue);
    context->deregister(registered);
  }
  device_end(const device_end&) = delete;
  device_end& operator=(const device_end&) = delete;

  path_request path_to(const device_end& peer) const {
    path_request p;
    p.remote = fake_gid(peer.host);
    p.remote_queue_pair = peer.pair->number;
    p.remote_packet = peer.host;
    p.own_packet = host;
    p.timeout = 8;  // 1.05 ms
    p.retry_count = 3;
    return p;
  }
  bool offer_place(std::uint64_t tag) {
    const receive_request r{tag, memory.data() + tag * message_bytes, message_bytes, registered->local_key};
    return context->post(receives, {&r, 1}) == 1;
  }
  send_request message(std::uint64_t tag, bool signalled = true) const {
    return {.tag = tag,
            .data = memory.data(),
            .size = message_bytes,
            .local_key = registered->local_key,
            .signalled = signalled};
  }
  std::vector<verbs::completion> completed() {
    std::vector<verbs::completion> all(64);
    const int count = context->poll(queue, all);
    all.resize(static_cast<std::size_t>(std::max(count, 0)));
    return all;
  }

  std::uint32_t host;
  std::shared_ptr<transport::verbs_api> api;
  std::unique_ptr<device_context> context;
  completion_queue* queue;
  receive_queue* receives;
  memory_object* registered;
  queue_pair_object* pair;
  std::array<std::byte, 8 * message_bytes> memory{};
};

struct fixture {
  explicit fixture(std::uint32_t completions = 64)
      : net(clock.world(), 4096, 4), devices(net), b(devices, clock, 2, completions) {
    net.common_path().model = sim_link_model::ideal(10us);
  }
  void connect() {
    REQUIRE(a.context->connect(a.pair, a.path_to(b)));
    REQUIRE(b.context->connect(b.pair, b.path_to(a)));
  }
  std::size_t send(std::initializer_list<send_request> sends) {
    return a.context->post(a.pair, {sends.begin(), sends.size()});
  }

  virtual_executor clock;
  sim_network net;
  fake_verbs devices;
  device_end a{devices, clock, 1};
  device_end b;
};

}  // namespace

TEST_CASE("a fake SEND arrives with its bytes, and only the signalled one completes") {
  fixture f;
  f.connect();
  for (std::uint64_t tag = 1; tag < 4; ++tag) REQUIRE(f.b.offer_place(tag));
  f.a.memory[0] = std::byte{42};
  REQUIRE(f.send({f.a.message(10, false), f.a.message(11)}) == 2);
  f.clock.run_for(1ms);
  const auto arrived = f.b.completed();
  REQUIRE(arrived.size() == 2);
  CHECK(arrived[0].tag == 1);
  CHECK(arrived[1].tag == 2);
  CHECK(f.b.memory[message_bytes] == std::byte{42});
  const auto sent = f.a.completed();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].tag == 11);
  CHECK(sent[0].outcome == verbs::completion::result::success);
}

TEST_CASE("a fake SEND without a place fails, and all behind it are flushed, signalled or not") {
  fixture f;
  f.connect();
  REQUIRE(f.send({f.a.message(1, false), f.a.message(2, false), f.a.message(3)}) == 3);
  f.clock.run_for(1ms);
  const auto sent = f.a.completed();
  REQUIRE(sent.size() == 3);
  CHECK(sent[0].outcome == verbs::completion::result::receiver_not_ready);
  CHECK(sent[1].outcome == verbs::completion::result::flushed);
  CHECK(sent[2].tag == 3);
  CHECK(f.devices.statistics().receivers_not_ready == 1);
  CHECK(f.send({f.a.message(4, false)}) == 1);
  f.clock.run_for(1ms);
  const auto late = f.a.completed();
  REQUIRE(late.size() == 1);
  CHECK(late[0].outcome == verbs::completion::result::flushed);
}

TEST_CASE("a fake queue pair gives up after its retries, and not before") {
  fixture f;
  f.connect();
  REQUIRE(f.b.offer_place(1));
  f.devices.set_port(2, false);
  REQUIRE(f.send({f.a.message(1)}) == 1);
  f.clock.run_for(3100us);  // three times 4.096 us times 2^8, and the wire
  CHECK(f.a.completed().empty());
  f.clock.run_for(200us);
  const auto sent = f.a.completed();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].outcome == verbs::completion::result::retries_exceeded);
}

TEST_CASE("calls that a real device refuses are counted") {
  fixture f;
  SECTION("a send before the queue pair is connected") {
    CHECK(f.send({f.a.message(1)}) == 0);
  }
  SECTION("a second connect") {
    f.connect();
    CHECK_FALSE(f.a.context->connect(f.a.pair, f.a.path_to(f.b)));
  }
  SECTION("more sends than the queue pair has room for") {
    f.connect();
    for (int i = 0; i < 16; ++i) REQUIRE(f.send({f.a.message(1)}) == 1);
    CHECK(f.send({f.a.message(1), f.a.message(2)}) == 0);
  }
  SECTION("more places than the queue has room for") {
    for (std::uint64_t i = 0; i < 8; ++i) REQUIRE(f.b.offer_place(i % 8));
    CHECK_FALSE(f.b.offer_place(0));
  }
  SECTION("more inline than was granted") {
    f.connect();
    send_request r = f.a.message(1);
    r.inlined = true;
    CHECK(f.send({r}) == 0);
  }
  CHECK(f.devices.statistics().illegal_calls == 1);
}

TEST_CASE("memory that is not registered breaks a fake queue pair") {
  fixture f;
  f.connect();
  REQUIRE(f.b.offer_place(1));
  send_request r = f.a.message(1);
  r.local_key += 100;
  REQUIRE(f.send({r}) == 1);
  f.clock.run_for(1ms);
  const auto sent = f.a.completed();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].outcome == verbs::completion::result::failed);
  CHECK(f.devices.statistics().protection_errors == 1);
}

TEST_CASE("a fake queue of completions that overruns is lost with its device") {
  fixture f(2);
  f.connect();
  for (std::uint64_t tag = 1; tag < 4; ++tag) REQUIRE(f.b.offer_place(tag));
  REQUIRE(f.send({f.a.message(1), f.a.message(2), f.a.message(3)}) == 3);
  f.clock.run_for(1ms);
  CHECK(f.devices.statistics().overruns == 1);
  std::array<verbs::completion, 1> none;
  CHECK(f.b.context->poll(f.b.queue, none) == -1);
  device_event event;
  REQUIRE(f.b.context->take_event(event));
  CHECK(event.kind == device_event::what::device_failed);
}
