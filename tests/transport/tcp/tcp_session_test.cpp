#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "tests/support/allocation_counter.hpp"
#include "tests/transport/session/call.hpp"
#include "tests/transport/session/ping_pong.hpp"
#include "tests/transport/session/stranger.hpp"

using namespace network;

namespace {

/// A blocking client socket that does only what it is told.
unique_fd dial(const std::string& address, int receive_buffer = 0) {
  const auto to = socket_address::parse(address);
  REQUIRE(to.has_value());
  unique_fd fd(::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (receive_buffer != 0) {
    REQUIRE(::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer) == 0);
  }
  REQUIRE(::connect(fd.get(), to->data(), to->size()) == 0);
  return fd;
}

void push(int fd, std::span<const std::byte> bytes) {
  REQUIRE(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
}

/// Returns the bytes of a socket until its end, while the world runs on.
std::vector<std::byte> pull_until_end(world& w, int fd) {
  std::vector<std::byte> all;
  const bool ended = w.until([&] {
    std::byte some[4096];
    const ssize_t n = ::recv(fd, some, sizeof some, MSG_DONTWAIT);
    if (n > 0) all.insert(all.end(), some, some + n);
    return n == 0 || (n < 0 && errno != EAGAIN);
  });
  CHECK(ended);
  return all;
}

}  // namespace

TEST_CASE("a round trip over TCP allocates nothing and costs few system calls", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  node a(w, options_of(1));
  node b(w, options_of(2));
  introduce(a, b);
  b.in.quick = true;
  ping_pong warm(a, 2, 500);
  warm.start();
  REQUIRE(w.until([&] { return warm.left == 0; }));
  w.pass(50ms);

  ping_pong p(a, 2, 1000);
  const auto before = w.loop().statistics();
  const auto count = [&](std::uint64_t endpoint_statistics::* what) {
    return a.ep->statistics().*what + b.ep->statistics().*what;
  };
  const auto writes = count(&endpoint_statistics::writes);
  const auto by_time =
      count(&endpoint_statistics::probes_sent) + count(&endpoint_statistics::acknowledges_sent);
  const std::size_t allocations = allocation_counter::on_this_thread();
  p.start();
  while (p.left != 0) w.loop().run_once(1s);
  CHECK(allocation_counter::on_this_thread() == allocations);
  CHECK(p.failed == 0);
  CHECK(b.in.damaged == 0);
  // If the machine is slow, probes and their answers, and acknowledgements, may have left alone.
  const auto late =
      count(&endpoint_statistics::probes_sent) + count(&endpoint_statistics::acknowledges_sent) - by_time;
  const auto written = count(&endpoint_statistics::writes) - writes;
  CHECK(written >= 2000);
  CHECK(written <= 2000 + 2 * late);
  // This counts two sends and two receives, each send together with the wait for its effect; both nodes are
  // on this reactor. With poll, sending, waiting and receiving are separate calls.
  const std::uint64_t calls = on_reactor::on_poll() ? 6 : 2;
  CHECK(w.loop().statistics().enters - before.enters < 1000 * calls + 50);
}

TEST_CASE("many messages share a system call", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  node a(w, options_of(1));
  node b(w, options_of(2));
  introduce(a, b);
  std::deque<ping_pong> calls;
  for (int i = 0; i < 60; ++i) calls.emplace_back(a, 2, 50);
  b.in.quick = true;
  for (auto& c : calls) c.start();
  REQUIRE(w.until([&] { return a.to(2).connected(traffic_class::call); }));
  const auto before = w.loop().statistics();
  while (std::any_of(calls.begin(), calls.end(), [](auto& c) { return c.left != 0; })) w.loop().run_once(1s);
  const auto messages = a.ep->statistics().requests_sent + b.ep->statistics().replies_sent;
  CHECK(messages == 6000);
  CHECK(a.ep->statistics().writes + b.ep->statistics().writes < messages / 8);
  CHECK(w.loop().statistics().enters - before.enters < messages / 4);
}

TEST_CASE("a peer that does not read is bounded, others are served, and closing does not wait for it",
          "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  w.options.linger_limit = 100ms;
  const auto descriptors = on_reactor::open_descriptors();
  {
    endpoint_options o = options_of(1);
    o.queue_limit = 64;
    node a(w, o);
    node b(w, options_of(2));
    introduce(a, b);
    REQUIRE(a.ep->add_peer(7, "127.0.0.1:1").has_value());
    stranger greeter(w, 7);
    unique_fd silent = dial(a.ep->listen_address(), 4096);
    identity h = greeter.greeting(1);
    h.window = {60000, 60000, 60000, 60000};
    push(silent.get(), stranger::encoded(h));
    REQUIRE(w.until([&] { return a.to(7).connected(traffic_class::call); }));

    std::deque<call> calls;
    int refused = 0;
    for (std::uint64_t i = 0; i < 6000; ++i) {
      calls.emplace_back();
      if (!calls.back().start(a, 7, i, 20000)) {
        calls.pop_back();
        ++refused;
        if (refused == 3) break;
      }
      w.loop().run_once(0ns);
    }
    CHECK(refused == 3);  // the queue is full although there is credit
    CHECK(a.to(7).held_messages() < 4096);
    call other;
    REQUIRE(other.start(a, 2, 1).has_value());
    REQUIRE(w.until([&] { return other.ends == 1; }));
    CHECK(other.answered());

    const auto begun = std::chrono::steady_clock::now();
    a.stop();
    CHECK(std::chrono::steady_clock::now() - begun < 5s);
    for (auto& c : calls) CHECK(c.outcome == errc::closed);
  }
  CHECK(on_reactor::open_descriptors() == descriptors);
}

TEST_CASE("a connection that is closed still delivers its last words", "[reactor]") {
  tcp_world w(tcp_world::family::v6);
  node a(w, options_of(1));
  unique_fd fd = dial(a.ep->listen_address());
  stranger s(w, 7);
  const auto greeting = stranger::encoded(s.greeting(1));
  // More bytes than the node reads before it refuses: an abrupt close would reset the connection.
  std::vector<std::byte> flood = greeting;
  for (int i = 0; i < 200; ++i) flood = flood + greeting;
  push(fd.get(), flood);
  const auto heard = pull_until_end(w, fd.get());
  REQUIRE(heard.size() > frame_header_bytes);
  const auto header = decode_frame_header(std::span<const std::byte, frame_header_bytes>(heard.data(), 64));
  REQUIRE(header.has_value());
  CHECK(header->type == frame_type::refuse);
  fd.reset();
  REQUIRE(w.until([&] { return a.transport().open() == 0; }));
}

TEST_CASE("a peer that vanishes without a word is noticed by the reset", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  node a(w, options_of(1));
  REQUIRE(a.ep->add_peer(7, "127.0.0.1:1").has_value());
  stranger s(w, 7);
  unique_fd fd = dial(a.ep->listen_address());
  push(fd.get(), stranger::encoded(s.greeting(1)));
  REQUIRE(w.until([&] { return a.to(7).connected(traffic_class::call); }));
  const linger abrupt{1, 0};
  REQUIRE(::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt) == 0);
  fd.reset();
  REQUIRE(w.until([&] { return !a.to(7).connected(traffic_class::call); }));
  REQUIRE(w.until([&] { return a.transport().open() == 0; }));
}

#ifndef SCOLL_SANITIZED  // the checks of types open a pipe to look at an object

/// Takes every descriptor that the process may have, under a limit low enough to reach anywhere. While it
/// lives, the test asserts nothing, because the sanitizers' own checks need descriptors.
class descriptor_famine {
 public:
  descriptor_famine() {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) return;
    rlimit low = before_;
    low.rlim_cur = std::min<rlim_t>(before_.rlim_cur, 512);
    limited_ = ::setrlimit(RLIMIT_NOFILE, &low) == 0;
    while (limited_) {
      unique_fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd) break;
      hoard_.push_back(std::move(fd));
    }
  }
  ~descriptor_famine() { end(); }
  descriptor_famine(const descriptor_famine&) = delete;
  descriptor_famine& operator=(const descriptor_famine&) = delete;

  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  void end() {
    if (!limited_) return;
    limited_ = false;
    taken_ = hoard_.size();
    hoard_.clear();
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  bool limited_ = false;
  std::size_t taken_ = 0;
  std::vector<unique_fd> hoard_;
};

TEST_CASE("a node out of descriptors accepts again when there are some", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  node a(w, options_of(1));
  node b(w, options_of(2));
  introduce(a, b);
  const auto to = socket_address::parse(a.ep->listen_address());
  REQUIRE(to.has_value());
  unique_fd client(::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(client);

  descriptor_famine famine;
  const int connected = ::connect(client.get(), to->data(), to->size());
  w.pass(120ms);
  const auto handshakes = a.ep->handshakes();
  const auto before = w.loop().statistics().completions;
  w.pass(200ms);
  const auto turns = w.loop().statistics().completions - before;
  famine.end();

  CHECK(famine.taken() > 100);
  CHECK(connected == 0);
  CHECK(handshakes == 0);
  CHECK(turns < 20);  // it does not spin
  REQUIRE(w.until([&] { return a.ep->handshakes() == 1; }));
  client.reset();
  call c;
  REQUIRE(c.start(b, 1, 1).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK(c.answered());
}

#endif

TEST_CASE("the source address is bound for peers of its family", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  node a(w, options_of(1));
  w.options.bind_source = "127.0.0.9:0";
  node b(w, options_of(2));
  introduce(a, b);
  call c;
  REQUIRE(c.start(b, 1, 1).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK(c.answered());

  tcp_world w6(tcp_world::family::v6);
  w6.options.bind_source = "127.0.0.9:0";
  node a6(w6, options_of(1));
  node b6(w6, options_of(2));
  introduce(a6, b6);
  call d;
  REQUIRE(d.start(b6, 1, 1).has_value());
  REQUIRE(w6.until([&] { return d.ends == 1; }));
  CHECK(d.answered());
}

TEST_CASE("addresses that make no sense are errors, not crashes", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  const auto r = w.make_rail(1);
  struct nobody_home final : accept_events {
    void on_accepted(transport::link& l) noexcept override { l.close(); }
  } nobody;
  CHECK(r->listen("nonsense", nobody).error() == errc::invalid_argument);
  CHECK_FALSE(r->listen("192.0.2.1:0", nobody).has_value());
  REQUIRE(r->listen("127.0.0.1:0", nobody).has_value());
  CHECK(r->listen("127.0.0.1:0", nobody).error() == errc::already_exists);
  r->stop_listening();
  REQUIRE(w.until([&] { return r->open() == 0; }));
  node a(w, options_of(1));
  const auto added = a.ep->add_peer(2, "nonsense");
  CHECK(added.error() == error(errc::invalid_argument, "node 2: address 'nonsense': the port is missing"));
  CHECK(a.ep->find(2) == nullptr);
}

TEST_CASE("two nodes on two threads", "[reactor]") {
  std::string left_address;
  std::string right_address;
  std::atomic<int> listening{0};
  std::atomic<int> finished{0};
  std::atomic<int> wrong{0};
  const auto run = [&](node_id self, node_id other, std::string& mine, std::string& theirs) {
    auto r = reactor::create({.announce = false});
    if (!r) {
      ++wrong;
      return;
    }
    tcp_rail rail(**r);
    service in;
    endpoint ep(**r, rail, options_of(self), in);
    in.owner = &ep;
    wrong += !ep.listen("127.0.0.1:0");
    mine = ep.listen_address();
    ++listening;
    while (listening != 2) (*r)->run_once(1ms);
    wrong += !ep.add_peer(other, theirs);
    struct counter final : exchange {
      counter() noexcept : exchange(&heard) {}
      static void heard(exchange& e, reply_event& event) noexcept {
        auto& done = static_cast<counter&>(e);
        done.bad += !event.outcome;
        done.pending_now = false;
      }
      bool pending_now = false;
      int bad = 0;
    };
    std::deque<counter> calls(16);
    std::uint64_t sent = 0;
    bool busy = true;
    while (busy) {
      busy = false;
      for (auto& c : calls) {
        if (!c.pending_now && sent < 2000) {
          c.pending_now = true;
          ask a{++sent, 8, 1};
          message& m = ep.acquire_message();
          std::memcpy(m.head_space().data(), &a, sizeof a);
          m.set_head_bytes(sizeof a);
          wrong += !ep.find(other)->request(c, traffic_class::call, m, 100);
        }
        busy = busy || c.pending_now;
      }
      if (busy) (*r)->run_once(1s);
    }
    for (auto& c : calls) wrong += c.bad;
    ++finished;
    while (finished != 2) (*r)->run_once(1ms);
    status drained;
    const auto drain = [](endpoint& e, status& out) -> task<> { out = co_await e.drain(5s); };
    background b(**r, drain(ep, drained));
    while (!b.done()) (*r)->run_once(1ms);
    wrong += !drained;
    wrong += in.seen.size() != 2000;
  };
  std::thread left([&] { run(1, 2, left_address, right_address); });
  run(2, 1, right_address, left_address);
  left.join();
  CHECK(wrong == 0);
}
