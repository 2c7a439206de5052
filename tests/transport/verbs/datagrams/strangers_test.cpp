#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/transport/verbs/datagrams/ports.hpp"
#include "transport/sim/verbs/fake_context.hpp"
#include "transport/verbs/datagrams/datagram_wire.hpp"
#include "transport/verbs/datagrams/global_header.hpp"

using namespace ports;
using namespace std::chrono_literals;
namespace verbs = scoll::transport::verbs;

namespace {

/// Somebody with a queue pair of datagrams on a host, who sends what the test wants.
class raw_sender {
 public:
  raw_sender(fake_hosts& h, std::uint32_t host) : all_(h), api_(h.devices.api(h.clock, host)) {
    context_ = std::move(*api_->open("fake0"));
    completions_ = *context_->make_completion_queue(64);
    receives_ = *context_->make_receive_queue(16);
    pair_ =
        *context_->make_datagram_pair({.completions = completions_, .receives = receives_, .sends = 16}, 1);
    memory_ = *context_->register_memory(bytes_, verbs::register_for::messages);
  }
  ~raw_sender() {
    context_->destroy(pair_);
    for (verbs::address_handle* each : handles_) context_->destroy(each);
    context_->destroy(receives_);
    context_->destroy(completions_);
    context_->deregister(memory_);
  }
  raw_sender(const raw_sender&) = delete;
  raw_sender& operator=(const raw_sender&) = delete;

  /// Sends a datagram that claims to come from the port of a host in an epoch.
  void send(std::uint32_t to, const verbs::whereabouts& where, std::uint32_t claimed, std::uint64_t epoch,
            std::uint32_t key) {
    verbs::write_header(std::span(bytes_).first<verbs::datagram_header_bytes>(),
                        {.port = 7002, .host = fake_gid(claimed), .epoch = epoch});
    send_raw(to, where, key, verbs::datagram_header_bytes + 4);
  }
  void send_raw(std::uint32_t to, const verbs::whereabouts& where, std::uint32_t key, std::uint32_t size) {
    handles_.push_back(*context_->make_address_handle({.remote = fake_gid(to)}));
    const verbs::datagram_request r{.data = bytes_.data(),
                                    .size = size,
                                    .local_key = memory_->local_key,
                                    .to = handles_.back(),
                                    .queue_pair = where.queue_pair,
                                    .queue_key = key};
    REQUIRE(context_->post(pair_, {&r, 1}) == 1);
    all_.clock.run_for(1ms);
  }
  std::array<std::byte, 128>& bytes() noexcept { return bytes_; }
  /// How the datagrams that were sent since the last call have completed.
  std::vector<verbs::completion::result> completed() {
    std::array<verbs::completion, 16> done;
    const int count = context_->poll(completions_, done);
    std::vector<verbs::completion::result> all;
    for (int i = 0; i < count; ++i) all.push_back(done[static_cast<std::size_t>(i)].outcome);
    return all;
  }

 private:
  fake_hosts& all_;
  std::shared_ptr<verbs_api> api_;
  std::unique_ptr<verbs::device_context> context_;
  verbs::completion_queue* completions_;
  verbs::receive_queue* receives_;
  verbs::queue_pair_object* pair_;
  verbs::memory_object* memory_;
  std::vector<verbs::address_handle*> handles_;
  std::array<std::byte, 128> bytes_{};
};

/// Asks the port of a host where it is, and says it itself if it is asked.
class name_speaker final : public datagram_events {
 public:
  name_speaker(fake_hosts& h, std::uint32_t host) : all_(h), port_(h.udp, h.clock, host) {
    REQUIRE(port_.bind(fake_udp_port::address_of(host), *this));
  }
  ~name_speaker() { port_.close(); }

  verbs::whereabouts ask(std::uint32_t host) {
    answer_.reset();
    const auto question = verbs::encoded({.nonce = 4711});
    REQUIRE(port_.send(port_.parse(fake_udp_port::address_of(host)).value(), question));
    all_.clock.run_for(1ms);
    REQUIRE(answer_.has_value());
    CHECK(answer_->nonce == 4711);
    return answer_->where;
  }
  void say(std::uint32_t to, std::span<const std::byte> bytes) {
    REQUIRE(port_.send(port_.parse(fake_udp_port::address_of(to)).value(), bytes));
    all_.clock.run_for(1ms);
  }
  std::vector<std::uint64_t> nonces;

 private:
  void on_datagram(const datagram_address&, const buffer_view& bytes) noexcept override {
    const auto said = verbs::read_name_message(bytes.bytes);
    if (!said) return;
    if (said->kind == verbs::name_message::what::answer) {
      answer_ = said;
    } else {
      nonces.push_back(said->nonce);
    }
  }

  fake_hosts& all_;
  fake_udp_port port_;
  std::optional<verbs::name_message> answer_;
};

}  // namespace

TEST_CASE("a datagram with a wrong queue key is dropped by the device, and nobody is told") {
  fake_hosts h;
  rdma_host a(h, 1);
  a.bind();
  name_speaker asker(h, 2);
  const verbs::whereabouts where = asker.ask(1);
  CHECK((where.queue_key & 0x80000000U) == 0);
  rdma_host b(h, 3);
  b.bind();
  CHECK(name_speaker(h, 4).ask(3).queue_key != where.queue_key);  // each draws its own
  raw_sender s(h, 2);
  s.send(1, where, 2, 77, where.queue_key + 1);
  CHECK(a.heard.empty());
  CHECK(h.devices.statistics().wrong_queue_keys == 1);
  s.send(1, where, 2, 77, where.queue_key);
  CHECK(a.heard.size() == 1);  // whoever asks under its own address is somebody
}

TEST_CASE("a datagram that is longer than the MTU is sent with success, and vanishes") {
  fake_hosts h;
  rdma_host a(h, 1);
  a.bind();
  name_speaker asker(h, 2);
  const verbs::whereabouts where = asker.ask(1);
  raw_sender s(h, 2);
  h.devices.set_mtu(64);
  s.send_raw(1, where, where.queue_key, 65);
  CHECK(s.completed() == std::vector{verbs::completion::result::success});
  CHECK(h.devices.statistics().datagrams_too_long == 1);
  s.send_raw(1, where, where.queue_key, 64);
  CHECK(s.completed() == std::vector{verbs::completion::result::success});
  CHECK(h.devices.statistics().datagrams == 1);
}

TEST_CASE("a datagram must come from the device of the name that it claims") {
  two_hosts both;
  auto& [h, a, b] = both;
  REQUIRE(a.send(2, 1));
  REQUIRE(b.send(1, 1));
  h.clock.run_for(10ms);
  a.heard.clear();
  name_speaker asker(h, 3);
  const verbs::whereabouts of_a = asker.ask(1);
  const verbs::whereabouts of_b = asker.ask(2);
  raw_sender other_host(h, 3), same_host(h, 2);
  other_host.send(1, of_a, 2, of_b.epoch, of_a.queue_key);
  CHECK(a.counts().forged == 1);
  other_host.send(1, of_a, 2, of_b.epoch + 1, of_a.queue_key);  // nor does another epoch help
  CHECK(a.counts().forged == 2);
  same_host.send(1, of_a, 2, of_b.epoch, of_a.queue_key);
  CHECK(a.counts().forged == 3);
  other_host.send(1, of_a, 4, 99, of_a.queue_key);
  CHECK(a.counts().unproven == 1);
  CHECK(a.heard.empty());
  CHECK(a.counts().questions == 1);
  REQUIRE(a.send(2, 2));
  h.clock.run_for(1ms);
  CHECK(b.numbers() == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("an epoch that is forged on the peer's own host costs one question, and no datagram") {
  two_hosts both;
  auto& [h, a, b] = both;
  REQUIRE(a.send(2, 1));
  REQUIRE(b.send(1, 1));
  h.clock.run_for(1s);
  verbs::whereabouts of_a;
  {
    name_speaker asker(h, 3);
    of_a = asker.ask(1);
  }
  raw_sender s(h, 2);
  for (std::uint64_t epoch = 1; epoch <= 20; ++epoch) {
    s.send(1, of_a, 2, epoch, of_a.queue_key);
    REQUIRE(a.send(2, static_cast<std::uint32_t>(epoch)));
    h.clock.run_for(1ms);
  }
  h.clock.run_for(1s);
  CHECK(a.counts().restarts == 20);
  CHECK(a.counts().questions <= 3);
  CHECK(b.heard.back().number == 20);
}

TEST_CASE("bytes that are no datagram of a port, and no message about names, are counted and dropped") {
  fake_hosts h;
  rdma_host a(h, 1);
  a.bind();
  name_speaker speaker(h, 2);
  const verbs::whereabouts where = speaker.ask(1);
  raw_sender s(h, 2);
  s.bytes().fill(std::byte{0});
  s.send_raw(1, where, where.queue_key, 100);
  s.send_raw(1, where, where.queue_key, 3);
  CHECK(a.counts().malformed == 2);
  const std::array<std::byte, 64> nonsense{};
  speaker.say(1, nonsense);
  speaker.say(1, std::span(nonsense).first(1));
  CHECK(a.counts().malformed == 4);
  CHECK(a.heard.empty());
}

TEST_CASE("an answer that was not asked for leads nobody astray") {
  fake_hosts h;
  rdma_host a(h, 1);
  a.bind();
  name_speaker speaker(h, 2), other(h, 3);
  REQUIRE(a.send(2, 1));
  h.clock.run_for(1ms);
  REQUIRE(speaker.nonces.size() == 1);
  verbs::whereabouts false_place;
  false_place.address = fake_gid(3);
  false_place.queue_pair = 5;
  false_place.mtu = 4096;
  false_place.epoch = 9;
  const auto answer = [&](std::uint64_t nonce) {
    return verbs::encoded({.kind = verbs::name_message::what::answer, .nonce = nonce, .where = false_place});
  };
  speaker.say(1, answer(speaker.nonces[0] + 1));
  other.say(1, answer(speaker.nonces[0]));  // from another address than was asked
  CHECK(a.counts().answers == 0);
  CHECK(a.counts().handles == 0);
  speaker.say(1, answer(speaker.nonces[0]));
  CHECK(a.counts().answers == 1);
  CHECK(a.counts().handles == 1);
}

TEST_CASE("a port whose device answers to another address than its name is proven by its answer") {
  fake_hosts h;
  rdma_host a(h, 1);
  a.bind();
  name_speaker speaker(h, 2);
  const verbs::whereabouts of_a = speaker.ask(1);
  raw_sender s(h, 5);  // the device of the name of host 2
  s.send(1, of_a, 2, 42, of_a.queue_key);
  CHECK(a.counts().unproven == 1);
  REQUIRE(a.send(2, 1));
  h.clock.run_for(1ms);
  REQUIRE(speaker.nonces.size() == 1);
  verbs::whereabouts place;
  place.address = fake_gid(5);
  place.queue_pair = of_a.queue_pair + 1;  // of the stranger
  place.mtu = 4096;
  place.epoch = 42;
  speaker.say(1,
              verbs::encoded(
                  {.kind = verbs::name_message::what::answer, .nonce = speaker.nonces[0], .where = place}));
  s.send(1, of_a, 2, 42, of_a.queue_key);
  CHECK(a.heard.size() == 1);
  CHECK(a.counts().unproven == 1);
}
