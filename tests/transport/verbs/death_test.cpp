#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/transport/session/call.hpp"
#include "tests/transport/session/nodes.hpp"
#include "tests/transport/session/worlds.hpp"

using namespace network;
using scoll::test::rxe_world;

namespace {

/// Node 2, in a process of its own, which serves until it is killed.
class served_elsewhere {
 public:
  served_elsewhere() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) serve(ends[1]);
    ::close(ends[1]);
    std::vector<char> text(128);
    const ssize_t size = ::read(ends[0], text.data(), text.size());
    ::close(ends[0]);
    REQUIRE(size > 0);
    address_.assign(text.data(), static_cast<std::size_t>(size));
  }
  ~served_elsewhere() { kill(); }
  served_elsewhere(const served_elsewhere&) = delete;
  served_elsewhere& operator=(const served_elsewhere&) = delete;

  const std::string& address() const noexcept { return address_; }
  void kill() noexcept {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  [[noreturn]] static void serve(int out) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    rxe_world w;
    node n(w, options_of(2));
    if (!n.ep->add_peer(1, "127.1.0.1:1")) ::_exit(1);
    const std::string address = n.ep->listen_address();
    if (::write(out, address.data(), address.size()) < 0) ::_exit(1);
    ::close(out);
    while (true) w.run_once(100ms);
  }

  pid_t process_ = 0;
  std::string address_;
};

/// Kills a server whose client is idle. Returns how long the client takes to notice.
std::chrono::milliseconds time_to_notice() {
  served_elsewhere server;
  rxe_world w;
  node client(w, options_of(1));
  REQUIRE(client.ep->add_peer(2, server.address()).has_value());
  call c;
  REQUIRE(c.start(client, 2, 1).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  REQUIRE(c.answered());
  w.pass(200ms);  // nothing is under way any more
  REQUIRE(client.to(2).connected(traffic_class::call));
  const auto before = std::chrono::steady_clock::now();
  server.kill();
  REQUIRE(w.until([&] { return !client.to(2).connected(traffic_class::call); }));
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - before);
}

}  // namespace

// It needs RDMA devices, which the environment must name, so it is hidden from runs without them.
TEST_CASE("the death of a peer's process is noticed at once over RDMA devices, though nothing is under way",
          "[.][rxe]") {
  REQUIRE_FALSE(rxe_world::devices().empty());
  std::vector<std::chrono::milliseconds> times(20);
  std::ranges::generate(times, &time_to_notice);
  std::ranges::sort(times);
  WARN("a killed peer was noticed within " << times.front().count() << " to " << times.back().count()
                                           << " ms, median " << times[times.size() / 2].count() << " ms");
  CHECK(times[times.size() / 2] <= 100ms);
  CHECK(times.back() <= 1s);
}
