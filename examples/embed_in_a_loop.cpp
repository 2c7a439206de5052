// A server that already has an event loop: it polls the reactor's descriptor along with its own, and gives
// the reactor a turn when there is work to do.
#include <fmt/core.h>
#include <poll.h>

#include <chrono>

#include "scoll/coro/scope.hpp"
#include "scoll/local_cluster.hpp"

using namespace std::chrono_literals;

namespace {

struct ping {
  static constexpr scoll::service_id id{0x0106};
  struct request {};
  using reply = scoll::sum<std::uint32_t>;
  static reply execute(const request&, scoll::bcast_context&) { return {1}; }
};

scoll::task<void> ask(scoll::node& node, const std::vector<scoll::target>& servers, std::uint32_t& answered) {
  auto group = co_await node.create_group<ping>(servers);
  for (int i = 0; i < 100; ++i) {
    auto r = co_await scoll::bcast(group.value(), ping::request{}, {.deadline = 2s});
    if (r.ok()) answered += r->value;
  }
}

scoll::task<void> all_of_it(scoll::scope& work) {
  co_await work.join();
}

/// Milliseconds until the reactor's next timer, rounded up; -1 if there is none.
int milliseconds_to_wait(const scoll::transport::reactor& ring) {
  if (ring.next_wakeup() == scoll::never) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(ring.next_wakeup() - ring.now());
  return wait.count() < 0 ? 0 : static_cast<int>(wait.count());
}

}  // namespace

int main() {
  scoll::local_cluster cluster(4);
  cluster.serve(ping{});
  scoll::transport::reactor& ring = cluster.loop();
  std::uint32_t answered = 0;
  scoll::scope work(ring);  // background work has an owner, and an end
  work.spawn(ask(cluster[0], cluster.targets(), answered));

  while (work.running() != 0) {
    pollfd fds[] = {{ring.pollable_fd(), POLLIN, 0}};  // add the host's own descriptors here
    ::poll(fds, std::size(fds), milliseconds_to_wait(ring));
    ring.run_once(0ns);
  }
  cluster.run(all_of_it(work));
  fmt::print("{} answers\n", answered);
  return answered == 400 ? 0 : 1;
}
