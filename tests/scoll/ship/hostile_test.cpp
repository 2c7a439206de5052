#include <algorithm>

#include "calls.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/detail/ship_head.hpp"
#include "transport/wire/checksum.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;
using scoll::detail::ship_head;
using scoll::detail::ship_outcome;
using scoll::detail::ship_reply_head;

namespace {

using bytes = std::vector<std::byte>;

/// A peer that speaks the transport's protocol and sends above it whatever a test wants.
class stranger final : private transport::endpoint_events {
 public:
  struct answer {
    bool came = false;
    error refused;
    bytes head, payload;
  };

  explicit stranger(virtual_cluster& c, node_id self = 9)
      : cluster_(c), rail_(c.network, c.ex, c.size()), wire_(c.ex, rail_, options(self), *this) {
    wire_.listen(rail_.listen_address()).value();
    for (std::uint32_t i = 0; i < c.size(); ++i) {
      wire_.add_peer(i + 1, c.address(i)).value();
      c[i].add_peer(self, rail_.listen_address()).value();
    }
  }
  ~stranger() {
    for (auto& work : held_) {
      if (work->open()) work->drop();
    }
    cluster_.run(wire_.drain(1s)).ignore();
  }

  answer ask(node_id to, std::span<const std::byte> head, std::span<const std::byte> payload) {
    asking a;
    transport::message& m = wire_.acquire_message();
    std::copy(head.begin(), head.end(), m.head_space().begin());
    m.set_head_bytes(head.size());
    m.copy_payload(payload, wire::checksum(payload));
    REQUIRE(wire_.find(to)->request(a, transport::traffic_class::call, m, 1000));
    cluster_.ex.run_for(50ms);
    if (a.pending()) a.cancel();
    return a.got;
  }
  answer ask(node_id to, const ship_head& head, std::span<const std::byte> payload) {
    std::array<std::byte, 64> encoded;
    const std::size_t size = wire::encode_to(encoded, head).value();
    return ask(to, std::span(encoded).first(size), payload);
  }

  /// The answer to every call.
  bytes reply_head, reply_payload;
  bool part = false;

 private:
  struct asking : transport::exchange {
    asking() : exchange(&heard) {}
    static void heard(transport::exchange& self, transport::reply_event& event) noexcept {
      auto& a = static_cast<asking&>(self).got;
      a.came = true;
      if (!event.outcome) a.refused = event.outcome.error();
      a.head.assign(event.head.begin(), event.head.end());
      a.payload.assign(event.payload.bytes.begin(), event.payload.bytes.end());
    }
    answer got;
  };
  static transport::endpoint_options options(node_id self) {
    transport::endpoint_options o;
    o.self = self;
    o.cluster = "test";
    o.incarnation = 1;
    return o;
  }
  void on_request(transport::request_view& request) noexcept override {
    held_.push_back(std::make_unique<transport::incoming>());
    request.accept(*held_.back());
    transport::message& m = wire_.acquire_message();
    std::copy(reply_head.begin(), reply_head.end(), m.head_space().begin());
    m.set_head_bytes(reply_head.size());
    m.copy_payload(reply_payload, wire::checksum(reply_payload));
    if (part) {
      held_.back()->reply_part(m);
    } else {
      held_.back()->reply(m);
    }
  }
  void on_cancelled(transport::incoming& work, const transport::cancel_reason&) noexcept override {
    work.drop();
  }
  void on_session_lost(transport::session&, const error&) noexcept override {}

  virtual_cluster& cluster_;
  testing::sim_rail rail_;
  transport::endpoint wire_;
  std::vector<std::unique_ptr<transport::incoming>> held_;
};

template <class T>
bytes encoded(const T& value) {
  bytes b(wire::encoded_size(value));
  wire::encode_to(b, value).value();
  return b;
}

ship_head head_of(const scoll::detail::function_key& key) {
  ship_head head;
  head.function = key.id;
  head.types = key.types;
  return head;
}

}  // namespace

TEST_CASE("whatever comes as a call is refused or served, and never harms") {
  virtual_cluster c(1);
  handlers h;
  h.serve_all(c[0]);
  stranger s(c);
  SECTION("a well-formed call is served") {
    const auto r = s.ask(1, head_of(add.key()), encoded(pair_of{1, 2}));
    CHECK(r.came);
    CHECK(r.payload == encoded(std::uint64_t{3}));
  }
  SECTION("a head that does not decode") {
    for (const std::size_t size : {0U, 1U, 24U, 26U, 100U})
      CHECK(s.ask(1, bytes(size), {}).refused == errc::malformed);
  }
  SECTION("flags that nobody knows") {
    ship_head head = head_of(add.key());
    head.flags = 4;
    CHECK(s.ask(1, head, encoded(pair_of{})).refused == errc::malformed);
  }
  SECTION("an argument that does not decode") {
    CHECK(s.ask(1, head_of(add.key()), bytes(7)).refused == errc::malformed);
    CHECK(s.ask(1, head_of(add.key()), bytes(9)).refused == errc::malformed);
    CHECK(s.ask(1, head_of(shout.key()), bytes(4, std::byte{0xff})).refused == errc::malformed);
  }
  SECTION("descriptors that are forged, of others, or too long") {
    ship_head head = head_of(echo.key());
    head.flags = ship_head::large;
    CHECK(s.ask(1, head, bytes(10)).refused == errc::malformed);
    transport::region_descriptor d;
    d.node = 7;
    d.length = 100;
    CHECK(s.ask(1, head, encoded(d)).refused == errc::invalid_argument);
    d.node = 9;
    d.length = ~std::uint64_t{0};
    CHECK(s.ask(1, head, encoded(d)).refused == errc::too_large);
    d.length = 100000;
    d.generation = 77;
    const auto r = s.ask(1, head, encoded(d));
    CHECK(r.came);
    CHECK(r.refused.code() != errc::ok);
  }
  CHECK(h.begun <= 1);
  CHECK(calls_over(c));
}

TEST_CASE("whatever comes as an answer ends the call, and never harms") {
  virtual_cluster c(1);
  stranger s(c);
  ship_options soon;
  soon.deadline = 200ms;
  const auto ask_it = [&] { return ask(c, 0, 9, shout, "x", soon); };
  SECTION("a head that does not decode") {
    for (const std::size_t size : {0U, 7U, 9U}) {
      s.reply_head = bytes(size);
      CHECK(ask_it().error() == errc::malformed);
    }
    s.reply_head = bytes(8, std::byte{0xff});
    CHECK(ask_it().error() == errc::malformed);
  }
  SECTION("a result that does not decode") {
    s.reply_head = encoded(ship_reply_head{});
    s.reply_payload = bytes(3);
    const auto r = ask_it();
    CHECK(r.error() == errc::malformed);
    CHECK(r.may_have_executed());
  }
  SECTION("an error of a domain and code that nobody knows") {
    ship_reply_head head;
    head.outcome = ship_outcome::error;
    head.domain = 200;
    s.reply_head = encoded(head);
    s.reply_payload = bytes(250, std::byte{'x'});
    CHECK(ask_it().error() == errc::malformed);
  }
  SECTION("a function that is another one, or that is none") {
    using text = std::tuple<std::string, std::string, std::string>;
    ship_reply_head head;
    head.outcome = ship_outcome::other_types;
    s.reply_head = encoded(head);
    s.reply_payload = encoded(text("any", std::string(250, '{'), ""));
    const auto r = ask_it();
    CHECK(r.error() == error(errc::type_mismatch, "'test.shout' here, 'any' on node 9: one number"));
    CHECK_FALSE(r.may_have_executed());
    s.reply_payload = encoded(text("test.shout", std::string(250, '{'), ""));
    CHECK(ask_it().error() == errc::type_mismatch);
    s.reply_payload = encoded(text("test.shout", "text", "text"));  // the same as here
    CHECK(ask_it().error() == errc::type_mismatch);
    s.reply_payload = encoded(text(std::string(300, 'x'), "", ""));
    CHECK(ask_it().error() == errc::type_mismatch);
    s.reply_payload = bytes(9, std::byte{0xff});
    CHECK(ask_it().error() == errc::malformed);
  }
  SECTION("a part that is no descriptor, or a descriptor that is none") {
    s.part = true;
    s.reply_head = encoded(ship_reply_head{});
    CHECK(ask_it().error() == errc::malformed);
    ship_reply_head head;
    head.outcome = ship_outcome::large;
    s.reply_head = encoded(head);
    s.reply_payload = bytes(20, std::byte{0xff});
    CHECK(ask_it().error() == errc::malformed);
    transport::region_descriptor d;
    d.node = 3;
    s.reply_payload = encoded(d);
    CHECK(ask_it().error() == errc::malformed);
    d.node = 9;
    d.length = ~std::uint64_t{0};
    s.reply_payload = encoded(d);
    CHECK(ask_it().error() == errc::too_large);
    d.length = 5000;
    s.reply_payload = encoded(d);
    CHECK_FALSE(ask_it());
    s.part = false;
    CHECK(ask_it().error() == errc::malformed);
  }
  CHECK(calls_over(c));
}

TEST_CASE("random heads and payloads harm neither side") {
  virtual_cluster c(1);
  handlers h;
  h.go.set();
  h.serve_all(c[0]);
  stranger s(c);
  random_generator random(7);
  for (int i = 0; i < 400; ++i) {
    ship_head head = head_of(i % 2 == 0 ? add.key() : shout.key());
    if (random.chance(1, 8)) head.flags = static_cast<std::uint8_t>(random.next());
    if (random.chance(1, 8)) head.remaining_ns = random.next();
    bytes h_bytes = encoded(head);
    for (std::uint64_t k = random.below(3); k-- != 0;)
      h_bytes[random.below(h_bytes.size())] = static_cast<std::byte>(random.next());
    bytes payload(random.below(40));
    for (auto& b : payload) b = static_cast<std::byte>(random.below(8));
    CHECK(s.ask(1, h_bytes, payload).came);
  }
  CHECK(calls_over(c));
}
