#include <cerrno>
#include <memory>
#include <vector>

#include "streams.hpp"

using namespace std::chrono_literals;
using namespace streams;

TEST_CASE("a multishot receive delivers all bytes, then the end", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  connection c = connect_pair();
  sink s;
  r->receive_multishot(c.far.get(), s);
  const auto bytes = pattern_bytes(3'000'000);
  on_reactor::group all(*r);
  outcome<status> sent;
  sent.start(all, send_to(*r, c.near.get(), bytes, {}));
  on_reactor::turn_until(*r, [&] { return s.received == bytes.size(); });
  all.join();
  CHECK(sent.value->has_value());
  CHECK(s.intact);
  CHECK(s.pending());
  c.near.reset();
  on_reactor::turn_until(*r, [&] { return s.ended; });
  CHECK(s.last == 0);
}

TEST_CASE("a receive pauses while its buffers are lent out and goes on, byte for byte", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make(
      {.receive_buffers = 2, .receive_buffer_bytes = 256, .receive_buffer_limit = 4, .disable = disable});
  connection c = connect_pair();
  sink s(true);
  r->receive_multishot(c.far.get(), s);
  const auto bytes = pattern_bytes(20'000);
  REQUIRE(::write(c.near.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  on_reactor::turn_until(*r, [&] { return s.held.size() == 4; });
  on_reactor::settle(*r);
  CHECK(s.held.size() == 4);
  CHECK(s.received == 4 * 256);
  CHECK(s.pending());
  CHECK(r->statistics().receive_starved >= 1);
  CHECK(r->receive_pool().lent() == 4);
  const auto enters = r->statistics().enters;
  r->run_once(1ms);  // a paused receive does not keep the reactor busy
  CHECK(r->statistics().enters - enters <= 2);

  while (s.received < bytes.size()) {
    const auto before = s.received;
    s.held.pop_front();
    on_reactor::turn_until(*r, [&] { return s.received > before; });
  }
  CHECK(s.intact);
  CHECK(s.received == bytes.size());
  s.held.clear();
  c.near.reset();
  on_reactor::turn_until(*r, [&] { return s.ended; });
  CHECK(s.last == 0);
}

TEST_CASE("receivers that starve together all go on when one buffer comes back at a time", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make(
      {.receive_buffers = 2, .receive_buffer_bytes = 256, .receive_buffer_limit = 3, .disable = disable});
  constexpr std::size_t connections = 12;
  const auto bytes = pattern_bytes(5'000);
  std::vector<connection> pairs;
  std::vector<std::unique_ptr<sink>> sinks;
  std::vector<buffer_ref> hoard;
  while (auto buffer = r->receive_pool().try_acquire()) hoard.push_back(std::move(buffer));
  for (std::size_t i = 0; i < connections; ++i) {
    pairs.push_back(connect_pair());
    sinks.push_back(std::make_unique<sink>(true));
    r->receive_multishot(pairs.back().far.get(), *sinks.back());
  }
  on_reactor::settle(*r);
  // Only the odd streams have data. The others lack buffers that they do not need, and must not block them.
  for (std::size_t i = 1; i < connections; i += 2) {
    REQUIRE(::write(pairs[i].near.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  const auto received = [&] {
    std::size_t sum = 0;
    for (const auto& s : sinks) sum += s->received;
    return sum;
  };
  hoard.clear();
  const std::size_t expected = bytes.size() * connections / 2;
  while (received() < expected) {
    const auto before = received();
    for (auto& s : sinks) {
      if (s->held.empty()) continue;
      s->held.pop_front();
      break;
    }
    on_reactor::turn_until(*r, [&] { return received() > before; });
  }
  for (std::size_t i = 0; i < connections; ++i) {
    CHECK(sinks[i]->intact);
    CHECK(sinks[i]->received == (i % 2 == 1 ? bytes.size() : 0));
    sinks[i]->held.clear();
  }
  for (auto& p : pairs) p.near.reset();
  on_reactor::turn_until(
      *r, [&] { return std::all_of(sinks.begin(), sinks.end(), [](auto& s) { return s->ended; }); });
}

TEST_CASE("a cancel before, during and after a multishot receive", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make(
      {.receive_buffers = 2, .receive_buffer_bytes = 256, .receive_buffer_limit = 2, .disable = disable});
  connection c = connect_pair();
  sink s(true);
  SECTION("before the kernel has seen it") {
    r->receive_multishot(c.far.get(), s);
  }
  SECTION("while it waits for data") {
    r->receive_multishot(c.far.get(), s);
    on_reactor::settle(*r);
  }
  SECTION("while it waits for buffers") {
    r->receive_multishot(c.far.get(), s);
    const auto bytes = pattern_bytes(2000);
    REQUIRE(::write(c.near.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    on_reactor::turn_until(*r, [&] { return s.held.size() == 2; });
    on_reactor::settle(*r);
  }
  r->cancel(s);
  r->cancel(s);
  CHECK(s.pending());
  on_reactor::turn_until(*r, [&] { return s.ended; });
  CHECK(s.last == -ECANCELED);
  CHECK(s.intact);
  r->cancel(s);
  on_reactor::settle(*r);

  // The same object can be used again, and the earlier receive does not affect it.
  s.held.clear();
  const auto had = s.received;
  if (had == 0) REQUIRE(::write(c.near.get(), pattern_bytes(10).data(), 10) == 10);
  r->receive_multishot(c.far.get(), s);
  on_reactor::turn_until(*r, [&] { return s.received > had; });
  CHECK(s.pending());
  s.held.clear();
  r->cancel(s);
  on_reactor::turn_until(*r, [&] { return s.ended; });
}

TEST_CASE("a receive can be cancelled from its own callback", "[reactor]") {
  class once final : public io_completion {
   public:
    explicit once(reactor& r) noexcept : io_completion(&arrived), reactor_(r) {}
    ~once() = default;
    std::vector<std::int32_t> results;

   private:
    static void arrived(io_completion& done, const event& e) noexcept {
      auto& self = static_cast<once&>(done);
      self.results.push_back(e.result);
      if (e.more) self.reactor_.cancel(self);
    }
    reactor& reactor_;
  };
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  connection c = connect_pair();
  once o(*r);
  r->receive_multishot(c.far.get(), o);
  REQUIRE(::write(c.near.get(), "abc", 3) == 3);
  on_reactor::turn_until(*r, [&] { return !o.pending(); });
  CHECK(o.results == std::vector<std::int32_t>{3, -ECANCELED});
}

TEST_CASE("a reset connection ends the receive with its errno", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  connection c = connect_pair();
  sink s;
  r->receive_multishot(c.far.get(), s);
  on_reactor::settle(*r);
  const linger at_once{1, 0};
  REQUIRE(setsockopt(c.near.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
  c.near.reset();
  on_reactor::turn_until(*r, [&] { return s.ended; });
  CHECK(s.last == -ECONNRESET);
}
