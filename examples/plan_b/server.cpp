#include "server.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "ring.hpp"
#include "scoll/coro.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "transport/io/reactor.hpp"
#include "transport/tcp/tcp_rail.hpp"

using namespace std::chrono_literals;

namespace plan_b {
namespace {

using scoll::errc;
using scoll::error;
using scoll::result;
using scoll::status;
using scoll::task;

constexpr std::uint32_t broken_ring = 1;  // the reason of a revoke, as a number for programs

template <class... Args>
void tell(fmt::format_string<Args...> form, Args&&... args) {
  fmt::print(form, std::forward<Args>(args)...);
  fmt::print("\n");
  std::fflush(stdout);
}

scoll::node_options node_options_of(const server_options& options) {
  scoll::node_options chosen;
  chosen.id = options.id;
  chosen.cluster = "plan_b";
  chosen.incarnation = 1;
  return chosen;
}

/// A server, from its start to the end of the work.
class server {
 public:
  server(scoll::transport::reactor& loop, const server_options& options)
      : options_(options),
        rail_(loop),
        node_(loop, rail_, node_options_of(options)),
        ring_(node_, std::chrono::milliseconds(options.deadline_ms),
              [this](std::uint64_t number) { on_block(number); }),
        work_(loop) {
    node_.serve(control{[this](const control::request& asked) { on_control(asked); }}).value();
    node_.listen("127.0.0.1:0").value();
  }

  std::string address() const { return node_.listen_address(); }
  void meet(std::uint64_t id, const std::string& address) {
    if (id != options_.id) node_.add_peer(id, address).value();
  }
  task<bool> run();

 private:
  void on_block(std::uint64_t number) {
    if (number % std::max<std::uint64_t>(options_.blocks / 20, 1) == 0) tell("block {}", number);
  }
  void on_control(const control::request& asked) {
    if (asked.over) return over_.set();
    auto g = node_.find_group<control>(asked.ring);
    if (g) work_.spawn(work(*g));
  }
  task<status> create();
  task<void> work(ring_group g);
  task<result<ring_group>> next_plan(const ring_group& g, const error& why);
  task<status> finish(const ring_group& g);

  server_options options_;
  scoll::transport::tcp_rail rail_;
  scoll::node node_;
  ring ring_;
  scoll::event over_;
  bool good_ = false;
  scoll::scope work_;
};

/// The first server makes the group and starts the ring. The group outlives it.
task<status> server::create() {
  std::vector<scoll::target> targets;
  for (std::uint64_t id = 1; id <= options_.servers; ++id) targets.push_back({id, {}});
  auto made = co_await node_.create_group<control>(targets, {.lifetime = scoll::lifetime::members});
  if (!made) co_return made.error();
  const control::request begin{made->id(), false};
  auto begun = co_await scoll::bcast(*made, begin, {.deadline = 5s});
  co_return begun.status();
}

// [work]
/// Plan A until it fails, then plan B with those who are left, and so on until all blocks are back.
task<void> server::work(ring_group g) {
  std::uint64_t from = 0;
  status ended;
  for (std::uint64_t plan = 0;; ++plan) {
    ended = co_await ring_.run(g, plan, from, options_.blocks);
    if (ended) break;
    tell("ended {} {}", plan, describe(ended.error()));
    if (!options_.revokes) co_return;
    auto next = co_await next_plan(g, ended.error());
    if (!next) {
      ended = next.error();
      break;
    }
    // Each survivor says how far it has come, and all of them go on where the slowest one was.
    const scoll::minimum<std::uint64_t> mine{ring_.finished()};
    auto agreed = co_await next->agree(1, mine, {.deadline = 10s});
    if (!agreed.ok()) {
      ended = agreed.status();
      break;
    }
    from = agreed->value;
    if (next->rank() == 0) tell("plan {} servers {} go on at block {}", plan + 1, names_of(*next), from);
    g = *next;
  }
  if (ended && g.rank() == 0) ended = co_await finish(g);
  if (ended) co_await over_.wait();
  good_ = ended.has_value();
  tell("{}", good_ ? "finished" : "failed " + describe(ended.error()));
  over_.set();
}

/// Whoever notices first revokes the group, which ends the plan for everybody. Then all survivors shrink it.
task<result<ring_group>> server::next_plan(const ring_group& g, const error& why) {
  if (why != errc::revoked) {
    const std::uint32_t before = (g.rank() == 0 ? g.members().size() : g.rank()) - 1;
    const std::string text = fmt::format("server {} does not answer", g.members().node(before));
    auto told = co_await g.revoke(broken_ring, text);
    if (!told) co_return told.error();
    tell("revoked {}", text);
  }
  auto left = co_await g.shrink({.deadline = 10s});
  co_return left;
}
// [work]

task<status> server::finish(const ring_group& g) {
  tell("back all {} blocks, and every sum is right", options_.blocks);
  const control::request over{g.id(), true};
  auto told = co_await scoll::bcast(g, over, {.deadline = 5s});
  co_return told.status();
}

task<bool> server::run() {
  if (options_.id == 1) {
    const status begun = co_await create();
    if (!begun) {
      tell("failed {}", describe(begun.error()));
      co_return false;
    }
  }
  co_await over_.wait();
  co_await work_.join();
  (co_await node_.shutdown(2s)).ignore();
  co_return good_;
}

}  // namespace

int serve(const server_options& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no server outlives the program that started it
  auto loop = scoll::transport::reactor::create();
  if (!loop) {
    tell("failed {}", describe(loop.error()));
    return 1;
  }
  server self(**loop, options);
  tell("address {}", self.address());
  std::uint64_t id = 0;
  std::string address;
  for (std::uint32_t i = 0; i < options.servers && std::cin >> id >> address; ++i) self.meet(id, address);
  return scoll::sync_wait(**loop, self.run()) ? 0 : 1;
}

}  // namespace plan_b
