#include "transport/io/socket.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "streams.hpp"
#include "transport/io/acceptor.hpp"

using namespace std::chrono_literals;
using namespace streams;
using Catch::Matchers::Contains;
using on_reactor::recorder;

namespace {

task<> echo(reactor& r, unique_fd fd) {
  std::byte buffer[512];
  while (true) {
    const auto got = co_await async_receive(r, fd.get(), buffer);
    if (!got || *got == 0) break;
    const auto sent = co_await async_send_all(r, fd.get(), std::span(buffer).first(*got));
    if (!sent) break;
  }
  const auto closed = co_await async_close(r, fd.release());
  CHECK(closed);
}

task<> serve(reactor& r, acceptor& a, std::size_t connections, on_reactor::group& all) {
  for (std::size_t i = 0; i < connections; ++i) {
    auto fd = co_await a.next();
    REQUIRE(fd);
    all.start(echo(r, std::move(*fd)));
  }
  co_await a.close();
}

task<> ask_echo(reactor& r, socket_address address, std::size_t rounds, int& good) {
  const unique_fd fd = open_stream(address.family()).value();
  const auto connected = co_await async_connect(r, fd.get(), address);
  if (!connected) co_return;
  const auto question = pattern_bytes(300);
  std::vector<std::byte> answer(question.size());
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto sent = co_await async_send_all(r, fd.get(), question);
    if (!sent) co_return;
    std::size_t filled = 0;
    while (filled < answer.size()) {
      const auto got = co_await async_receive(r, fd.get(), std::span(answer).subspan(filled));
      if (!got || *got == 0) co_return;
      filled += *got;
    }
    if (answer != question) co_return;
  }
  ++good;
}

task<result<unique_fd>> take_one(acceptor& a, stop_token stop) {
  auto fd = co_await a.next(stop);
  co_return std::move(fd);
}

task<> close_acceptor(acceptor& a) {
  co_await a.close();
}

task<status> connect_to(reactor& r, int fd, socket_address address, stop_token stop) {
  const auto s = co_await async_connect(r, fd, address, stop);
  co_return s;
}

task<result<std::size_t>> receive_into(reactor& r, int fd, std::span<std::byte> into, stop_token stop) {
  const auto got = co_await async_receive(r, fd, into, stop);
  co_return got;
}

task<result<std::uint32_t>> poll_for(reactor& r, int fd, std::uint32_t events, stop_token stop) {
  const auto found = co_await async_poll(r, fd, events, stop);
  co_return found;
}

}  // namespace

TEST_CASE("socket addresses are read, written and ordered") {
  for (const char* text : {"127.0.0.1:7001", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:7001", "[::]:0",
                           "[2001:db8::42]:80", "[::ffff:10.0.0.1]:1"}) {
    CHECK(parsed(text).to_string() == text);
  }
  CHECK(parsed("127.0.0.1:7001").family() == AF_INET);
  CHECK(parsed("[::1]:7001").family() == AF_INET6);
  CHECK(parsed("[::1]:7001").port() == 7001);
  CHECK(parsed("[0:0::0:1]:7001") == parsed("[::1]:7001"));
  CHECK(parsed("[fe80::1%1]:7001").to_string() == "[fe80::1%1]:7001");
  CHECK(parsed("[fe80::1%1]:7001") != parsed("[fe80::1]:7001"));
  CHECK(parsed("[fe80::1%lo]:7001").family() == AF_INET6);

  CHECK(parsed("1.2.3.4:5") < parsed("1.2.3.4:6"));
  CHECK(parsed("1.2.3.4:9") < parsed("1.2.10.4:6"));
  CHECK(parsed("[::1]:9") < parsed("[::2]:6"));
  CHECK(parsed("255.0.0.1:5") < parsed("[::1]:5"));
  CHECK(socket_address() == socket_address());
  CHECK(socket_address().family() == AF_UNSPEC);
  CHECK(socket_address().size() == 0);

  socket_address moved = parsed("1.2.3.4:5");
  moved.set_port(77);
  CHECK(moved.to_string() == "1.2.3.4:77");
  CHECK(socket_address::from(moved.data(), moved.size()) == moved);
}

TEST_CASE("what is no socket address is refused with the reason") {
  const auto refusal = [](const char* text) {
    const auto address = socket_address::parse(text);
    REQUIRE_FALSE(address);
    CHECK(address.error() == errc::invalid_argument);
    return std::string(address.error().text());
  };
  CHECK_THAT(refusal("storage1:7001"), Contains("'storage1:7001'") && Contains("names are not resolved"));
  CHECK_THAT(refusal("127.0.0.1"), Contains("port is missing"));
  CHECK_THAT(refusal("[::1]"), Contains("port is missing"));
  CHECK_THAT(refusal("127.0.0.1:65536"), Contains("0..65535"));
  CHECK_THAT(refusal("127.0.0.1:"), Contains("0..65535"));
  CHECK_THAT(refusal("127.0.0.1:-1"), Contains("0..65535"));
  CHECK_THAT(refusal("127.0.0.1:7x"), Contains("0..65535"));
  CHECK_THAT(refusal("127.0.0.256:1"), Contains("expected"));
  CHECK_THAT(refusal("::1:7001"), Contains("expected"));
  CHECK_THAT(refusal("[::1%nosuchinterface]:7001"), Contains("expected"));
  CHECK_THAT(refusal("[127.0.0.1]:7001"), Contains("expected"));
  CHECK_THAT(refusal(":7001"), Contains("expected"));
  CHECK_THAT(refusal(""), Contains("port is missing"));
  CHECK(refusal(std::string(500, 'x').append(":1").c_str()).size() <= error::text_capacity);
}

TEST_CASE("unique_fd closes what it owns, once") {
  const int before = on_reactor::open_descriptors();
  {
    unique_fd a(::dup(0));
    unique_fd b = std::move(a);
    CHECK_FALSE(a);  // NOLINT(bugprone-use-after-move): what is tested
    a = unique_fd(::dup(0));
    unique_fd& same = b;
    b = std::move(same);
    CHECK(b);
    a.reset();
    CHECK_FALSE(a);
    const int kept = b.release();
    CHECK_FALSE(b);
    CHECK(::close(kept) == 0);
  }
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("listeners and streams have the options asked for") {
  const auto option = [](int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    REQUIRE(getsockopt(fd, level, name, &value, &size) == 0);
    return value;
  };
  const auto v4 = open_listener(parsed("127.0.0.1:0")).value();
  const auto v6 = open_listener(parsed("[::1]:0")).value();
  CHECK(local_address(v4.get()).value().port() != 0);
  CHECK(option(v4.get(), SOL_SOCKET, SO_REUSEADDR) == 1);
  CHECK(option(v6.get(), IPPROTO_IPV6, IPV6_V6ONLY) == 1);
  CHECK((::fcntl(v4.get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(v4.get(), F_GETFD) & FD_CLOEXEC) != 0);

  const auto taken = open_listener(local_address(v4.get()).value());
  REQUIRE_FALSE(taken);
  CHECK_THAT(describe(taken.error()),
             Contains(local_address(v4.get()).value().to_string()) && Contains("Address already in use"));
  CHECK_FALSE(open_listener(socket_address()));
  const auto foreign = open_listener(parsed("192.0.2.1:0"));
  REQUIRE_FALSE(foreign);
  CHECK_THAT(describe(foreign.error()), Contains("listen on 192.0.2.1:0"));

  const auto fd = open_stream(AF_INET).value();
  CHECK((::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(set_no_delay(fd.get()));
  CHECK(option(fd.get(), IPPROTO_TCP, TCP_NODELAY) == 1);
  CHECK(set_user_timeout(fd.get(), 1500ms));
  CHECK(option(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT) == 1500);
  CHECK_FALSE(set_user_timeout(fd.get(), -1s));
  CHECK(set_congestion_control(fd.get(), "cubic"));
  REQUIRE(set_unsent_limit(fd.get(), 65536));
  CHECK(option(fd.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT) == 65536);
  const auto unknown = set_congestion_control(fd.get(), "nosuch");
  REQUIRE_FALSE(unknown);
  CHECK_THAT(describe(unknown.error()), Contains("nosuch") && Contains("No such file"));
  CHECK(bind_source(fd.get(), parsed("127.0.0.2:0")));
  const auto to = local_address(v4.get()).value();
  REQUIRE(::connect(fd.get(), to.data(), to.size()) == 0);
  CHECK(peer_address(fd.get()).value() == to);
  CHECK_THAT(local_address(fd.get()).value().to_string(), Catch::Matchers::StartsWith("127.0.0.2:"));
  CHECK_FALSE(peer_address(v4.get()));
  CHECK_FALSE(bind_source(open_stream(AF_INET).value().get(), parsed("192.0.2.1:0")));
}

TEST_CASE("echo over loopback, both families, many connections", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const int before = on_reactor::open_descriptors();
  for (const char* host : {"127.0.0.1:0", "[::1]:0"}) {
    const auto r = on_reactor::make({.submission_entries = 16, .completion_entries = 64, .disable = disable});
    const auto listener = open_listener(parsed(host)).value();
    const auto address = local_address(listener.get()).value();
    acceptor a(*r, listener.get());
    constexpr std::size_t connections = 100;
    int good = 0;
    on_reactor::group all(*r);
    all.start(serve(*r, a, connections, all));
    for (std::size_t i = 0; i < connections; ++i) all.start(ask_echo(*r, address, 20, good));
    all.join();
    CHECK(good == connections);
  }
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("a cancel before, during and after an accept", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  const auto listener = open_listener(parsed("127.0.0.1:0")).value();
  const auto address = local_address(listener.get()).value();
  recorder a;
  SECTION("before the kernel has seen it") {
    r->accept_multishot(listener.get(), a);
  }
  SECTION("while it waits") {
    r->accept_multishot(listener.get(), a);
    on_reactor::settle(*r);
  }
  SECTION("after some were accepted") {
    r->accept_multishot(listener.get(), a);
    std::vector<unique_fd> clients;
    for (int i = 0; i < 5; ++i) {
      clients.push_back(open_stream(AF_INET).value());
      REQUIRE(::connect(clients.back().get(), address.data(), address.size()) == 0);
    }
    on_reactor::turn_until(*r, [&] { return a.results.size() == 5; });
    for (const int fd : a.results) {
      CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
      unique_fd(fd).reset();
    }
    CHECK(a.pending());
  }
  r->cancel(a);
  on_reactor::turn_until(*r, [&] { return a.ended; });
  CHECK(a.results.back() == -ECANCELED);
  r->cancel(a);
  on_reactor::settle(*r);
}

TEST_CASE("a connect can be stopped, refused, and stopped too late", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  on_reactor::group all(*r);
  // A listener that answers no connection: its queue is full and nothing accepts.
  const auto full = open_listener(parsed("127.0.0.1:0"), 0).value();
  const auto full_address = local_address(full.get()).value();
  std::vector<unique_fd> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    REQUIRE((::connect(waiting.back().get(), full_address.data(), full_address.size()) == 0 ||
             errno == EINPROGRESS));
  }
  stop_source source;
  outcome<status> o;
  const unique_fd fd = open_stream(AF_INET).value();
  SECTION("before") {
    source.request_stop();
    o.start(all, connect_to(*r, fd.get(), full_address, source.token()));
    all.join();
    CHECK(o.value->error() == errc::cancelled);
  }
  SECTION("during") {
    o.start(all, connect_to(*r, fd.get(), full_address, source.token()));
    on_reactor::settle(*r);
    CHECK_FALSE(o.value);
    source.request_stop();
    CHECK_FALSE(o.value);
    all.join();
    CHECK(o.value->error() == errc::cancelled);
    CHECK_THAT(std::string(o.value->error().text()), Contains("connect " + full_address.to_string()));
  }
  SECTION("after") {
    const auto listener = open_listener(parsed("127.0.0.1:0")).value();
    o.start(all, connect_to(*r, fd.get(), local_address(listener.get()).value(), source.token()));
    all.join();
    source.request_stop();
    CHECK(*o.value);
  }
  SECTION("refused") {
    auto listener = open_listener(parsed("127.0.0.1:0")).value();
    const auto nobody = local_address(listener.get()).value();
    listener.reset();
    o.start(all, connect_to(*r, fd.get(), nobody, source.token()));
    all.join();
    REQUIRE_FALSE(*o.value);
    CHECK_THAT(describe(o.value->error()), Contains(nobody.to_string()) && Contains("Connection refused"));
  }
}

TEST_CASE("awaited receives, sends and polls can be stopped", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  on_reactor::group all(*r);
  connection c = connect_pair();
  stop_source source;
  std::byte buffer[64];

  outcome<result<std::size_t>> received;
  received.start(all, receive_into(*r, c.far.get(), buffer, source.token()));
  outcome<result<std::uint32_t>> polled;
  polled.start(all, poll_for(*r, c.far.get(), POLLIN, source.token()));
  const std::vector<std::byte> much(64 << 20);  // more than the socket buffers take
  outcome<status> sent;
  sent.start(all, send_to(*r, c.far.get(), much, source.token()));
  on_reactor::settle(*r);
  CHECK_FALSE((received.value || polled.value || sent.value));
  source.request_stop();
  all.join();
  CHECK(received.value->error() == errc::cancelled);
  CHECK(polled.value->error() == errc::cancelled);
  CHECK(sent.value->error() == errc::cancelled);

  outcome<result<std::uint32_t>> writable;
  const connection idle = connect_pair();
  writable.start(all, poll_for(*r, idle.near.get(), POLLOUT, {}));
  all.join();
  CHECK((writable.value->value() & POLLOUT) != 0);
}

TEST_CASE("send_message gathers, and a broken connection is an error, not a signal", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  connection c = connect_pair();
  const auto bytes = pattern_bytes(1000);
  iovec parts[] = {{const_cast<std::byte*>(bytes.data()), 100},
                   {const_cast<std::byte*>(bytes.data()) + 100, 900}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  recorder m;
  r->send_message(c.near.get(), message, m);
  sink s;
  r->receive_multishot(c.far.get(), s);
  on_reactor::turn_until(*r, [&] { return m.ended && s.received == 1000; });
  CHECK(m.results == std::vector<std::int32_t>{1000});
  CHECK(s.intact);
  r->cancel(s);
  on_reactor::turn_until(*r, [&] { return s.ended; });

  c.far.reset();
  recorder broken;
  on_reactor::turn_until(*r, [&] {
    if (!broken.pending()) r->send(c.near.get(), bytes, broken);
    return broken.ended && broken.results.back() < 0;
  });
  on_reactor::turn_until(*r, [&] { return !broken.pending(); });
  CHECK((broken.results.back() == -EPIPE || broken.results.back() == -ECONNRESET));
}

TEST_CASE("an acceptor hands out, stops, goes on and closes", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const int before = on_reactor::open_descriptors();
  {
    const auto r = on_reactor::make({.disable = disable});
    on_reactor::group all(*r);
    const auto listener = open_listener(parsed("127.0.0.1:0")).value();
    const auto address = local_address(listener.get()).value();
    acceptor a(*r, listener.get());
    std::vector<unique_fd> clients;
    const auto come = [&] {
      clients.push_back(open_stream(AF_INET).value());
      REQUIRE(::connect(clients.back().get(), address.data(), address.size()) == 0);
    };

    stop_source source;
    outcome<result<unique_fd>> stopped, taken, last;
    stopped.start(all, take_one(a, source.token()));
    on_reactor::settle(*r);
    source.request_stop();
    all.join();
    CHECK(stopped.value->error() == errc::cancelled);

    come();
    taken.start(all, take_one(a, {}));
    all.join();
    CHECK(taken.value->has_value());

    come();  // nothing accepts this one
    on_reactor::settle(*r);
    all.start(close_acceptor(a));
    all.join();
    last.start(all, take_one(a, {}));
    all.join();
    CHECK(last.value->error() == errc::closed);

    acceptor waiting(*r, listener.get());
    outcome<result<unique_fd>> ended;
    ended.start(all, take_one(waiting, {}));
    on_reactor::settle(*r);
    all.start(close_acceptor(waiting));
    all.join();
    CHECK(ended.value->error() == errc::closed);

    acceptor wrong(*r, clients.front().get());
    outcome<result<unique_fd>> failed;
    failed.start(all, take_one(wrong, {}));
    all.join();
    CHECK(failed.value->error() == errc::io_error);
    all.start(close_acceptor(wrong));
    all.join();
  }
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("two reactors in two threads talk to each other", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto listener = open_listener(parsed("127.0.0.1:0")).value();
  const auto address = local_address(listener.get()).value();
  std::thread server([&] {
    const auto made = reactor::create({.announce = false, .disable = disable});
    if (!made) return;
    reactor& r = **made;
    acceptor a(r, listener.get());
    on_reactor::group all(r);
    all.start(serve(r, a, 4, all));
    while (!all.done()) r.run_once(1s);
  });
  const auto r = on_reactor::make({.disable = disable});
  on_reactor::group all(*r);
  int good = 0;
  for (int i = 0; i < 4; ++i) all.start(ask_echo(*r, address, 200, good));
  all.join();
  server.join();
  CHECK(good == 4);
}

TEST_CASE("a connection is probed after silence") {
  auto fd = open_stream(AF_INET).value();
  REQUIRE(set_keep_alive(fd.get(), std::chrono::milliseconds(4500)).has_value());
  const auto option = [&](int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    REQUIRE(::getsockopt(fd.get(), level, name, &value, &size) == 0);
    return value;
  };
  REQUIRE(option(SOL_SOCKET, SO_KEEPALIVE) == 1);
  REQUIRE(option(IPPROTO_TCP, TCP_KEEPIDLE) == 5);
  REQUIRE(option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT) <= 5);
  REQUIRE(set_keep_alive(fd.get(), std::chrono::seconds(0)).error() == errc::invalid_argument);
}
