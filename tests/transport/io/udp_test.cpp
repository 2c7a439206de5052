#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "on_reactor.hpp"
#include "scoll/coro/error_format.hpp"
#include "tests/support/allocation_counter.hpp"
#include "transport/io/udp_port.hpp"

using namespace std::chrono_literals;
using namespace scoll;
using namespace scoll::transport;
using Catch::Matchers::Contains;
using on_reactor::turn_until;

namespace {

/// The ways to receive: by multishot, or one by one, once for each reason to do so.
std::uint32_t any_way() {
  namespace off = reactor_disable;
  if (on_reactor::on_poll()) return 0;
  return GENERATE(0U, off::multishot_receive_message, off::multishot_receive,
                  off::cooperative_taskrun | off::provided_buffer_ring);
}

std::string any_loopback() {
  return GENERATE(as<std::string>(), "127.0.0.1:0", "[::1]:0");
}

std::vector<std::byte> numbered(std::size_t size, std::size_t number) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((number * 31 + i * 7) & 0xff);
  return bytes;
}

/// A port that records the messages it receives.
struct datagram_recorder final : datagram_events {
  explicit datagram_recorder(reactor& r, const std::string& host = "127.0.0.1:0", udp_options options = {})
      : home(r), port(r, options) {
    const auto bound = port.bind(host, *this);
    if (!bound) FAIL(describe(bound.error()));
  }
  ~datagram_recorder() {
    held.clear();
    port.close();
    turn_until(home, [this] { return !port.open(); });
  }

  void on_datagram(const datagram_address& source, const buffer_view& bytes) noexcept override {
    ++count;
    aligned = aligned && reinterpret_cast<std::uintptr_t>(bytes.bytes.data()) % 64 == 0;
    if (record) heard.push_back({source, {bytes.bytes.begin(), bytes.bytes.end()}});
    if (hold) held.push_back(bytes);
    if (then) then(source, bytes);
  }
  datagram_address address() const { return port.parse(port.bound_address()).value(); }

  struct datagram {
    datagram_address source;
    std::vector<std::byte> bytes;
  };
  reactor& home;
  udp_port port;
  std::vector<datagram> heard;
  std::deque<buffer_view> held;
  std::function<void(const datagram_address&, const buffer_view&)> then;
  std::size_t count = 0;
  bool record = true;
  bool hold = false;
  bool aligned = true;
};

struct deaf final : datagram_events {
  void on_datagram(const datagram_address&, const buffer_view&) noexcept override {}
};

/// A plain socket beside the port.
struct plain {
  explicit plain(const std::string& host) : address(socket_address::parse(host).value()) {
    fd = open_datagram(address).value();
    address = local_address(fd.get()).value();
    const timeval limit{10, 0};
    REQUIRE(setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  }
  void send(const std::string& to, std::size_t size) const {
    const auto target = socket_address::parse(to).value();
    const auto bytes = numbered(size, size);
    REQUIRE(::sendto(fd.get(), bytes.data(), size, 0, target.data(), target.size()) ==
            static_cast<ssize_t>(size));
  }
  socket_address address;
  unique_fd fd;
};

/// Returns the descriptor in this process that is bound to that address.
int descriptor_of(const std::string& address) {
  for (int fd = 3; fd < 1024; ++fd) {
    if (const auto bound = local_address(fd); bound && bound->to_string() == address) return fd;
  }
  FAIL("no descriptor is bound to " << address);
  return -1;
}

}  // namespace

TEST_CASE("datagrams go to and fro between two UDP ports of a reactor", "[reactor]") {
  const auto r = on_reactor::make({.disable = any_way()});
  const std::string host = any_loopback();
  const int before = on_reactor::open_descriptors();
  {
    datagram_recorder a(*r, host), b(*r, host);
    b.then = [&](const datagram_address& source, const buffer_view& bytes) {
      REQUIRE(b.port.send(source, bytes.bytes));
    };
    CHECK(a.port.print(a.address()) == a.port.bound_address());
    const std::size_t sizes[] = {1, 100, 1400, 9000, datagram_bytes_limit, 0, 65};
    for (const std::size_t size : sizes) REQUIRE(a.port.send(b.address(), numbered(size, size)));
    turn_until(*r, [&] { return a.count == std::size(sizes); });
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      CHECK(a.heard[i].source == b.address());
      CHECK(b.heard[i].source == a.address());
      CHECK(a.heard[i].bytes == numbered(sizes[i], sizes[i]));
    }
    CHECK(a.aligned);
    const auto s = a.port.statistics();
    CHECK(s.sent == std::size(sizes));
    CHECK(s.received == std::size(sizes));
    CHECK(s.sent_bytes == s.received_bytes);
    CHECK(s.send_errors + s.busy + s.truncated + s.dropped + s.receive_errors == 0);
  }
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("datagram addresses are values and keys") {
  const auto r = on_reactor::make();
  const udp_port port(*r);
  const auto parsed = [&](const char* text) { return port.parse(text).value(); };
  CHECK(datagram_address().empty());
  CHECK(datagram_address() == datagram_address());
  CHECK_FALSE(parsed("1.2.3.4:5").empty());
  CHECK(parsed("[0:0::1]:5") == parsed("[::1]:5"));
  CHECK(parsed("1.2.3.4:5") != parsed("1.2.3.4:6"));
  CHECK((parsed("1.2.3.4:5") < parsed("1.2.3.5:5")) != (parsed("1.2.3.5:5") < parsed("1.2.3.4:5")));
  std::unordered_set<datagram_address> unknown;
  for (const char* text : {"1.2.3.4:5", "[::1]:5", "1.2.3.4:5", "1.2.3.4:6"}) unknown.insert(parsed(text));
  CHECK(unknown.size() == 3);
  CHECK(port.print(parsed("[fe80::1%1]:9")) == "[fe80::1%1]:9");
  CHECK_FALSE(port.parse("storage1:7001"));
  CHECK_FALSE(port.parse(""));
}

TEST_CASE("every datagram of a burst is received or counted as dropped", "[reactor]") {
  const auto r = on_reactor::make({.disable = any_way()});
  const bool room = GENERATE(true, false);
  // The smallest buffer that the kernel grants holds only a few messages.
  datagram_recorder a(*r, "127.0.0.1:0", {.send_buffers = 100});
  datagram_recorder b(*r, "127.0.0.1:0", {.socket_bytes = room ? 0U : 1U});
  b.record = false;
  constexpr std::size_t burst = 1000;
  const auto bytes = numbered(200, 1);
  const auto arrived = [&] {
    const auto s = b.port.statistics();
    return s.received + s.dropped;
  };
  for (std::size_t sent = 0; sent < burst; ++sent) {
    if (sent % 100 == 0) {
      turn_until(*r, [&] { return a.port.statistics().sent == sent && (!room || arrived() == sent); });
    }
    REQUIRE(a.port.send(b.address(), bytes));
  }
  turn_until(*r, [&] { return arrived() == burst; });
  on_reactor::settle(*r);
  CHECK(arrived() == burst);
  CHECK(b.port.statistics().received == b.count);
  CHECK((b.port.statistics().dropped == 0) == room);
  CHECK(a.port.statistics().sent == burst);
}

TEST_CASE("a burst costs few system calls", "[reactor][io_uring]") {
  const auto r = on_reactor::make();
  if (!r->features().multishot_receive_message) return;
  constexpr std::uint32_t burst = 64;
  datagram_recorder a(*r, "127.0.0.1:0", {.send_buffers = burst});
  datagram_recorder b(*r, "127.0.0.1:0", {.receive_buffers = burst});
  on_reactor::settle(*r);
  const auto before = r->statistics();
  for (std::uint32_t i = 0; i < burst; ++i) REQUIRE(a.port.send(b.address(), numbered(500, i)));
  CHECK(r->statistics().enters == before.enters);
  r->run_once(nanoseconds::zero());
  CHECK(r->statistics().enters - before.enters <= 2);
  turn_until(*r, [&] { return b.count == burst; });
  // One system call submits, and the receive runs in a few more.
  CHECK(r->statistics().enters - before.enters <= 4);
  // The receive is armed anew each time the kernel is given more buffers: 8 at first, then twice as many.
  CHECK(r->statistics().submissions - before.submissions <= burst + 4);
}

TEST_CASE("what cannot be sent is refused with the reason", "[reactor]") {
  const auto r = on_reactor::make();
  {
    datagram_recorder a(*r, "127.0.0.1:0", {.max_bytes = 1000});
    CHECK(a.port.max_datagram_bytes() == 1000);
    const auto large = a.port.send(a.address(), numbered(1001, 0));
    REQUIRE_FALSE(large);
    CHECK(large.error() == errc::too_large);
    CHECK_THAT(std::string(large.error().text()), Contains("1001") && Contains("limit is 1000"));
    const auto family = a.port.send(a.port.parse("[::1]:5").value(), {});
    REQUIRE_FALSE(family);
    CHECK(family.error() == errc::invalid_argument);
    CHECK_THAT(std::string(family.error().text()), Contains("[::1]:5") && Contains(a.port.bound_address()));
    CHECK(a.port.send({}, {}).error() == errc::invalid_argument);
    CHECK(a.port.bind("127.0.0.1:0", a).error() == errc::already_exists);

    udp_port other(*r);
    CHECK(other.send(a.address(), {}).error() == errc::closed);
    CHECK(other.bound_address().empty());
    const auto taken = other.bind(a.port.bound_address(), a);
    REQUIRE_FALSE(taken);
    CHECK_THAT(describe(taken.error()), Contains(a.port.bound_address()) && Contains("already in use"));
    CHECK_FALSE(other.bind("192.0.2.1:0", a));
    CHECK_FALSE(other.bind("nonsense", a));
    CHECK_FALSE(other.open());
  }
  const auto refusal = [&](udp_options options) {
    udp_port port(*r, options);
    deaf nobody;
    const auto s = port.bind("127.0.0.1:0", nobody);
    REQUIRE_FALSE(s);
    CHECK(s.error() == errc::invalid_argument);
    return std::string(s.error().text());
  };
  CHECK_THAT(refusal({.max_bytes = 65508}), Contains("max_bytes is 65508, not in 1..65507"));
  CHECK_THAT(refusal({.max_bytes = 0}), Contains("max_bytes"));
  CHECK_THAT(refusal({.receive_buffers = 0}), Contains("receive_buffers"));
  CHECK_THAT(refusal({.send_buffers = 5000}), Contains("send_buffers is 5000"));
  CHECK_THAT(refusal({.dscp = 64}), Contains("dscp is 64, not in 0..63"));
}

TEST_CASE("more datagrams than there are buffers in one turn are refused as busy", "[reactor]") {
  const auto r = on_reactor::make();
  datagram_recorder a(*r, "127.0.0.1:0", {.send_buffers = 4}), b(*r);
  for (std::size_t i = 0; i < 4; ++i) REQUIRE(a.port.send(b.address(), numbered(10, i)));
  CHECK(a.port.send(b.address(), {}).error() == errc::busy);
  CHECK(a.port.statistics().busy == 1);
  turn_until(*r, [&] { return a.port.statistics().sent == 4 && b.count == 4; });
  REQUIRE(a.port.send(b.address(), numbered(10, 9)));
  turn_until(*r, [&] { return b.count == 5; });
  CHECK(b.heard.back().bytes == numbered(10, 9));
}

TEST_CASE("a datagram longer than the limit is counted and dropped", "[reactor]") {
  const auto r = on_reactor::make({.disable = any_way()});
  const std::string host = any_loopback();
  datagram_recorder a(*r, host, {.max_bytes = 100});
  const plain sender(host);
  for (const std::size_t size : {101U, 100U, 5000U, 0U}) sender.send(a.port.bound_address(), size);
  turn_until(*r, [&] { return a.count == 2; });
  on_reactor::settle(*r);
  CHECK(a.heard[0].bytes == numbered(100, 100));
  CHECK(a.heard[1].bytes.empty());
  CHECK(a.port.print(a.heard[1].source) == sender.address.to_string());
  CHECK(a.port.statistics().truncated == 2);
  CHECK(a.port.statistics().received == 2);
}

TEST_CASE("held datagrams stop receiving until they come back, and nothing is lost meanwhile", "[reactor]") {
  const auto r = on_reactor::make({.disable = any_way()});
  datagram_recorder a(*r), b(*r, "127.0.0.1:0", {.receive_buffers = 3});
  b.hold = true;
  for (std::size_t i = 0; i < 10; ++i) REQUIRE(a.port.send(b.address(), numbered(50, i)));
  turn_until(*r, [&] { return b.count == 3; });
  on_reactor::settle(*r);
  CHECK(b.count == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& bytes = b.held[i].bytes;
    CHECK(std::vector<std::byte>(bytes.begin(), bytes.end()) == numbered(50, i));
  }
  b.held.pop_front();
  turn_until(*r, [&] { return b.count == 4; });
  b.hold = false;
  b.held.clear();
  turn_until(*r, [&] { return b.count == 10; });
  for (std::size_t i = 0; i < 10; ++i) CHECK(b.heard[i].bytes == numbered(50, i));
}

TEST_CASE("a UDP port closes in whatever state it is", "[reactor]") {
  const auto r = on_reactor::make({.disable = any_way()});
  const int before = on_reactor::open_descriptors();
  {
    datagram_recorder a(*r), b(*r, "127.0.0.1:0", {.receive_buffers = 1});
    SECTION("at once") {
      a.port.close();
    }
    SECTION("with a receive pending") {
      on_reactor::settle(*r);
      a.port.close();
    }
    SECTION("with datagrams that were just sent, which still leave") {
      for (int i = 0; i < 16; ++i) REQUIRE(a.port.send(b.address(), {}));
      a.port.close();
      turn_until(*r, [&] { return b.count == 16; });
    }
    SECTION("from its own callback") {
      a.then = [&](const datagram_address&, const buffer_view&) { a.port.close(); };
      for (int i = 0; i < 5; ++i) REQUIRE(b.port.send(a.address(), {}));
      turn_until(*r, [&] { return !a.port.open(); });
      CHECK(a.count == 1);
    }
    SECTION("while it waits for a buffer") {
      b.hold = true;
      for (int i = 0; i < 5; ++i) REQUIRE(a.port.send(b.address(), numbered(5, 5)));
      turn_until(*r, [&] { return b.count == 1; });
      on_reactor::settle(*r);
      b.port.close();
      turn_until(*r, [&] { return !b.port.open(); });
      CHECK(b.count == 1);
    }
    SECTION("and opens again") {
      const datagram_address other = b.address();
      a.port.close();
      a.port.close();
      CHECK(a.port.send(other, {}).error() == errc::closed);
      turn_until(*r, [&] { return !a.port.open(); });
      CHECK(a.port.bound_address().empty());
      REQUIRE(a.port.bind("127.0.0.1:0", a));
      REQUIRE(b.port.send(a.address(), {}));
      turn_until(*r, [&] { return a.count == 1; });
    }
  }
  on_reactor::settle(*r);
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("rings of buffers are numbered anew when ports come and go", "[reactor]") {
  const auto r = on_reactor::make();
  std::deque<std::unique_ptr<datagram_recorder>> open;
  for (int i = 0; i < 40; ++i) {
    open.push_back(std::make_unique<datagram_recorder>(*r));
    if (open.size() > 3) open.erase(open.begin() + i % 3);
    REQUIRE(open.front()->port.send(open.back()->address(), {}));
    const std::size_t wanted = open.back()->count + 1;
    turn_until(*r, [&] { return open.back()->count == wanted; });
  }
}

TEST_CASE("the traffic class is on every datagram", "[reactor]") {
  const auto r = on_reactor::make();
  const std::string host = any_loopback();
  const bool v6 = host.starts_with('[');
  const plain receiver(host);
  const int on = 1;
  REQUIRE(setsockopt(receiver.fd.get(), v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVTCLASS : IP_RECVTOS,
                     &on, sizeof on) == 0);
  for (const unsigned dscp : {0U, 48U, 63U}) {
    datagram_recorder a(*r, host, {.dscp = static_cast<std::uint8_t>(dscp)});
    REQUIRE(a.port.send(a.port.parse(receiver.address.to_string()).value(), {}));
    turn_until(*r, [&] { return a.port.statistics().sent == 1; });
    alignas(cmsghdr) char control[128] = {};
    msghdr message{};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    REQUIRE(::recvmsg(receiver.fd.get(), &message, 0) == 0);
    const cmsghdr* const c = CMSG_FIRSTHDR(&message);
    REQUIRE(c != nullptr);
    // IPv4 reports the value as one byte, IPv6 as a number.
    int traffic_class = 0;
    std::memcpy(&traffic_class, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    CHECK(static_cast<unsigned>(traffic_class) == dscp << 2);
  }
}

TEST_CASE("peers that are not there and errors of sending leave a UDP port alive", "[reactor]") {
  const auto r = on_reactor::make({.disable = any_way()});
  datagram_recorder a(*r), b(*r);
  std::string gone;
  {
    const plain closed("127.0.0.1:0");
    gone = closed.address.to_string();
  }
  for (int i = 0; i < 5; ++i) {
    REQUIRE(a.port.send(a.port.parse(gone).value(), numbered(10, 1)));
    turn_until(*r, [&] { return a.port.statistics().sent == static_cast<std::uint64_t>(i) + 1; });
  }
  // Broadcasts are forbidden unless asked for.
  REQUIRE(a.port.send(a.port.parse("255.255.255.255:9").value(), {}));
  turn_until(*r, [&] { return a.port.statistics().send_errors == 1; });
  CHECK(a.port.statistics().last_send_error != 0);
  REQUIRE(b.port.send(a.address(), {}));
  turn_until(*r, [&] { return a.count == 1; });
  CHECK(a.port.statistics().receive_errors == 0);
}

TEST_CASE("a failed receive is tried again", "[reactor]") {
  const auto r = on_reactor::make({.disable = any_way()});
  datagram_recorder a(*r), b(*r);
  std::string gone;
  {
    const plain closed("127.0.0.1:0");
    gone = closed.address.to_string();
  }
  // From here on the socket gets reports of ICMP errors.
  const int on = 1;
  REQUIRE(setsockopt(descriptor_of(a.port.bound_address()), IPPROTO_IP, IP_RECVERR, &on, sizeof on) == 0);
  on_reactor::settle(*r);
  REQUIRE(a.port.send(a.port.parse(gone).value(), {}));
  turn_until(*r, [&] { return a.port.statistics().receive_errors != 0; });
  REQUIRE(b.port.send(a.address(), numbered(3, 3)));
  turn_until(*r, [&] { return a.count == 1; });
  CHECK(a.heard[0].bytes == numbered(3, 3));
}

TEST_CASE("datagrams allocate nothing once a UDP port is warm", "[reactor]") {
  const auto r = on_reactor::make({.disable = any_way()});
  datagram_recorder a(*r), b(*r);
  a.record = b.record = false;
  const datagram_address to = b.address();
  const auto bytes = numbered(1000, 1);
  std::size_t answers = 0;
  b.then = [&](const datagram_address& source, const buffer_view& l) {
    if (b.port.send(source, l.bytes)) ++answers;
  };
  const auto exchange = [&](std::size_t rounds) {
    for (std::size_t i = 0; i < rounds; ++i) {
      const std::size_t wanted = a.count + 8;
      for (int n = 0; n < 8; ++n) REQUIRE(a.port.send(to, bytes));
      turn_until(*r, [&] { return a.count == wanted; });
    }
  };
  exchange(20);
  const std::size_t before = allocation_counter::on_this_thread();
  for (int i = 0; i < 100; ++i) {
    const std::size_t wanted = a.count + 8;
    for (int n = 0; n < 8; ++n) static_cast<void>(a.port.send(to, bytes));
    while (a.count < wanted) r->run_once(100ms);
  }
  CHECK(allocation_counter::on_this_thread() == before);
  CHECK(answers == 120 * 8);
}

TEST_CASE("a UDP port on a device carries what goes by that device, and one that is not there is named",
          "[reactor]") {
  const auto r = on_reactor::make();
  deaf nobody_listens;
  udp_options on_loopback;
  on_loopback.device = "lo";
  udp_port port(*r, on_loopback);
  REQUIRE(port.bind("127.0.0.1:0", nobody_listens));
  const plain other("127.0.0.2:0");
  other.send(port.bound_address(), 10);
  turn_until(*r, [&] { return port.statistics().received == 1; });
  port.close();
  turn_until(*r, [&] { return !port.open(); });
  udp_options elsewhere;
  elsewhere.device = "no-such-device";
  udp_port refused(*r, elsewhere);
  const status s = refused.bind("127.0.0.1:0", nobody_listens);
  REQUIRE_FALSE(s);
  CHECK(std::string(s.error().text()).find("no-such-device") != std::string::npos);
  CHECK_FALSE(refused.open());
}
