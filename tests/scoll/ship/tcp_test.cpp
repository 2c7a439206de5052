#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>

#include "calls.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/coro/yield.hpp"
#include "scoll/node_access.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

node_options identity(node_id id) {
  node_options o;
  o.id = id;
  o.cluster = "test";
  o.incarnation = 1;
  return o;
}

transport::reactor_options quiet_reactor() {
  transport::reactor_options o;
  o.announce = false;
  return o;
}

/// The process with node 2, which serves.
class server_process {
 public:
  server_process() {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) serve_for_ever(ends[1]);
    REQUIRE(read(ends[0], &port_, sizeof port_) == sizeof port_);
    close(ends[0]);
    close(ends[1]);
  }
  ~server_process() {
    kill(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  void kill(int signal) const { ::kill(pid_, signal); }
  std::string address() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

 private:
  [[noreturn]] static void serve_for_ever(int port_to) {
    auto ring = transport::reactor::create(quiet_reactor()).value();
    transport::tcp_rail rail(*ring);
    node n(*ring, rail, identity(2));
    handlers h;
    h.serve_all(n);
    n.listen("127.0.0.1:0").value();
    n.add_peer(1, "127.0.0.1:1").value();
    const std::string at = n.listen_address();
    const auto port = static_cast<std::uint16_t>(std::stoi(at.substr(at.rfind(':') + 1)));
    if (write(port_to, &port, sizeof port) != sizeof port) _exit(1);
    ring->run();
    _exit(0);
  }

  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

/// Node 1, which asks.
struct client {
  explicit client(const server_process& server)
      : ring(transport::reactor::create(quiet_reactor()).value()),
        rail(*ring),
        self(*ring, rail, identity(1)) {
    self.add_peer(2, server.address()).value();
  }
  ~client() {
    run(self.shutdown(4s)).ignore();
    while (rail.open() != 0) ring->run_once(10ms);
  }
  template <class T>
  T run(task<T> work) {
    return sync_wait(*ring, std::move(work));
  }

  std::unique_ptr<transport::reactor> ring;
  transport::tcp_rail rail;
  node self;
};

struct tally {
  int ended = 0;
  int good = 0;
  int may_have_executed = 0;
  std::vector<errc> errors;

  template <class T>
  void add(const ship_result<T>& r) {
    ++ended;
    good += r.has_value();
    may_have_executed += r.may_have_executed();
    if (!r) errors.push_back(r.error().code());
  }
  bool all_are(errc code) const {
    return std::all_of(errors.begin(), errors.end(), [&](errc e) { return e == code; });
  }
};

template <class In, class Out>
task<void> ask_once(node& from, const remote_function<In, Out>& f, In argument, ship_options options,
                    tally& into) {
  const auto r = co_await ship(from, 2, f, argument, options);
  into.add(r);
}

task<void> ask_many(node& from, int times) {
  for (int i = 0; i < times; ++i) {
    const auto r = co_await ship(from, 2, add, pair_of{1, 2});
    REQUIRE(r);
  }
}

}  // namespace

TEST_CASE("a server killed with 1,000 calls in flight ends all of them within the grace", "[tcp]") {
  server_process server;
  client c(server);
  tally all;
  const auto play = [&]() -> task<void> {
    scope calls(*c.ring);
    ship_options options;
    for (int i = 0; i < 1000; ++i)
      calls.spawn(ask_once<nothing, std::uint64_t>(c.self, wait_until_told, nothing{}, options, all));
    co_await yield();
    co_await ask_many(c.self, 1);  // comes after all of them
    CHECK(scoll::detail::node_access::shipper(c.self).outgoing() == 1000);
    const time_point killed = c.ring->now();
    server.kill(SIGKILL);
    co_await calls.join();
    CHECK(c.ring->now() - killed <= 1500ms);
  };
  c.run(play());
  CHECK(all.ended == 1000);
  CHECK(all.good == 0);
  CHECK(all.may_have_executed == 1000);
  CHECK(all.all_are(errc::connection_lost));
}

TEST_CASE("a server that is stopped lets deadlines pass, and its late results are ignored", "[tcp]") {
  server_process server;
  client c(server);
  tally all;
  const auto play = [&]() -> task<void> {
    co_await ask_many(c.self, 1);
    server.kill(SIGSTOP);
    scope calls(*c.ring);
    ship_options options;
    options.deadline = 100ms;
    const time_point began = c.ring->now();
    for (int i = 0; i < 100; ++i)
      calls.spawn(ask_once<pair_of, std::uint64_t>(c.self, add, pair_of{1, 2}, options, all));
    co_await calls.join();
    CHECK(c.ring->now() - began >= 100ms);
    CHECK(c.ring->now() - began < 1s);
    server.kill(SIGCONT);
    co_await ask_many(c.self, 10);
  };
  c.run(play());
  CHECK(all.ended == 100);
  CHECK(all.good == 0);
  CHECK(all.all_are(errc::deadline_exceeded));
  CHECK(c.self.wire().statistics().sessions_lost == 0);
}

TEST_CASE("calls in a steady state allocate nothing, on either side", "[tcp]") {
  if (!allocation_counter::counting || !frame_pool::pooling) {
    SUCCEED("sanitizers bring their own allocator");
    return;
  }
  cluster c(world_kind::tcp_v4, 2);
  handlers h;
  h.serve_all(c[1]);
  const auto in_parallel = [&](int times) -> task<void> {
    std::vector<task<void>> all;
    for (int i = 0; i < 8; ++i) all.push_back(ask_many(c[0], times));
    co_await when_all(std::move(all));
  };
  c.run(in_parallel(200));
  const std::size_t before_none = allocation_counter::on_this_thread();
  c.run(in_parallel(0));
  const std::size_t of_the_test = allocation_counter::on_this_thread() - before_none;
  const std::size_t before = allocation_counter::on_this_thread();
  c.run(in_parallel(500));
  CHECK(allocation_counter::on_this_thread() - before == of_the_test);
}

TEST_CASE("calls and bulk make no threads", "[tcp]") {
  cluster c(world_kind::tcp_v4, 2);
  handlers h;
  h.serve_all(c[1]);
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  const auto before = threads();
  const auto play = [&]() -> task<void> {
    for (int i = 0; i < 100; ++i) {
      const auto small = co_await ship(c[0], 2, add, pair_of{1, 2});
      REQUIRE(small);
      CHECK(threads() == before);
    }
    const std::vector<std::uint8_t> sent(1'000'000, 7);
    const auto large = co_await ship(c[0], 2, echo, sent);
    REQUIRE(large);
  };
  c.run(play());
  CHECK(threads() == before);
}

TEST_CASE("large arguments and results cross real connections", "[tcp]") {
  cluster c(world_kind::tcp_v4, 2);
  handlers h;
  h.serve_all(c[1]);
  const auto play = [&]() -> task<void> {
    for (const std::size_t size : {std::size_t{1000}, std::size_t{100'000}, std::size_t{8'000'000}}) {
      const std::vector<std::uint8_t> sent(size, 7);
      const auto back = co_await ship(c[0], 2, echo, sent);
      REQUIRE(back);
      CHECK(*back == sent);
    }
  };
  c.run(play());
}
