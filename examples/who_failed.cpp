// Nine servers: one throws, one refuses, one is too slow. The answers of the others still arrive.
#include <fmt/core.h>

#include <chrono>
#include <stdexcept>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/local_cluster.hpp"

using namespace std::chrono_literals;

namespace {

struct scrub {
  static constexpr scoll::service_id id{0x0102};
  struct request {
    std::uint64_t epoch;
  };
  using reply = scoll::sum<std::uint64_t>;

  static scoll::task<scoll::result<reply>> execute(const request&, scoll::bcast_context& call) {
    if (call.rank() == 3) throw std::runtime_error("disk 3 is on fire");
    if (call.rank() == 5) co_return scoll::error::user(42, "pool 7 is offline");
    if (call.rank() == 6) co_await scoll::sleep_for(900ms);  // and ignores call.stop()
    co_return reply{100};
  }
};

scoll::task<bool> ask(scoll::node& node, const std::vector<scoll::target>& servers) {
  auto group = co_await node.create_group<scrub>(servers, {.tree = scoll::kary{2}});
  auto r = co_await scoll::bcast(group.value(), scrub::request{7}, {.deadline = 500ms});

  fmt::print("ok: {}\n", r.ok());  // true only if every member executed and is merged
  if (!r.ok()) fmt::print("why: {}\n", describe(r.status().error()));
  if (r.has_value()) fmt::print("objects so far: {}\n", r->value);  // a partial answer is data

  const scoll::outcome& all = r.outcome();
  fmt::print("executed {}; failed {}; unknown {}\n", to_string(all.executed()), to_string(all.failed()),
             to_string(all.unknown()));
  for (const scoll::member_report& run : all.reports()) {  // runs of ranks that share state and cause
    if (run.state == scoll::member_state::merged) continue;
    const scoll::cause& why = all.why(run.members.first);
    fmt::print("rank {}: {} in {}: {}\n", run.members.first, to_string(run.state), to_string(why.where),
               describe(why.what));
  }
  co_return !r.ok() && r.has_value() && r->value == 600 && all.count(scoll::member_state::merged) == 6 &&
      all.why(5).what.detail() == 42;
}

}  // namespace

int main() {
  scoll::local_cluster cluster(9);
  cluster.serve(scrub{});
  return cluster.run(ask(cluster[0], cluster.targets())) ? 0 : 1;
}
