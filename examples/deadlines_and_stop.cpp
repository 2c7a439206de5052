// Time limits: how much time a deadline leaves to each level, a deadline that cannot be met, and stopping a
// broadcast.
#include <fmt/core.h>

#include <chrono>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/local_cluster.hpp"

using namespace std::chrono_literals;

namespace {

struct patience {
  static constexpr scoll::service_id id{0x0104};
  struct request {
    std::chrono::nanoseconds work;
  };
  using reply = scoll::minimum<std::int64_t>;
  static scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call) {
    const auto now = call.get_executor().now();
    const std::int64_t left_us = call.remaining().left(now) / 1us;    // until this node must have answered
    auto slept = co_await scoll::sleep_for(asked.work, call.stop());  // ends early if no caller waits
    if (!slept) co_return slept.error();
    co_return reply{left_us};
  }
};

scoll::task<void> stop_after(std::chrono::nanoseconds d, scoll::stop_source& stop) {
  co_await scoll::sleep_for(d);
  stop.request_stop();
}

scoll::task<scoll::errc> ask(const scoll::group<patience>& group, std::chrono::nanoseconds work,
                             scoll::bcast_options options) {
  auto r = co_await scoll::bcast(group, patience::request{work}, options);
  if (r.has_value()) fmt::print("each had {} us at least; ", r->value);
  fmt::print("{}\n", r.ok() ? "ok" : describe(r.status().error()));
  co_return r.ok() ? scoll::errc::ok : r.status().error().code();
}

scoll::task<bool> show(scoll::node& node, const std::vector<scoll::target>& servers) {
  auto group = (co_await node.create_group<patience>(servers, {.tree = scoll::chain{}})).value();
  const auto met = co_await ask(group, 1ms, {.deadline = 2s});
  const auto too_short = co_await ask(group, 0ms, {.deadline = 1ms});  // refused before anything is sent
  scoll::stop_source stop;
  auto both = co_await when_all(ask(group, 1h, {.stop = stop.token()}), stop_after(20ms, stop));
  co_return met == scoll::errc::ok&& too_short == scoll::errc::deadline_exceeded&& std::get<0>(both) ==
      scoll::errc::cancelled;
}

}  // namespace

int main() {
  scoll::local_cluster cluster(6);
  cluster.serve(patience{});
  return cluster.run(show(cluster[0], cluster.targets())) ? 0 : 1;
}
