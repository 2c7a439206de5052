// Hooks run on the node's reactor thread and must not block it: work that burns CPU goes to the worker pool.
#include <fmt/core.h>

#include <chrono>

#include "scoll/local_cluster.hpp"

using namespace std::chrono_literals;

namespace {

/// Stands for hashing the contents of a disk. It checks the flag now and then, so that it ends soon when no
/// caller waits for it any more.
scoll::result<std::uint64_t> primes_below(std::uint64_t limit, const scoll::cancel_flag& stop) {
  std::uint64_t found = 0;
  for (std::uint64_t n = 2; n < limit; ++n) {
    if (n % 1024 == 0 && stop.requested()) return scoll::errc::cancelled;
    bool prime = true;
    for (std::uint64_t d = 2; prime && d * d <= n; ++d) prime = n % d != 0;
    found += prime;
  }
  return found;
}

struct count_primes {
  static constexpr scoll::service_id id{0x0105};
  static constexpr std::string_view name = "count_primes";
  struct request {
    std::uint64_t below;
  };
  using reply = scoll::sum<std::uint64_t>;

  static scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call) {
    // The function owns the data it touches, because it may outlive this hook if the node is shut down
    // meanwhile.
    const auto work = [limit = asked.below](const scoll::cancel_flag& stop) {
      return primes_below(limit, stop);
    };
    auto found = co_await call.pool().run("primes", work, call.stop());
    if (!found) co_return found.error();
    co_return reply{*found};
  }
};

scoll::task<bool> ask(scoll::node& node, const std::vector<scoll::target>& servers) {
  auto group = co_await node.create_group<count_primes>(servers);
  auto r = co_await scoll::bcast(group.value(), count_primes::request{100'000}, {.deadline = 30s});
  if (r.has_value()) fmt::print("{} primes, counted {} times\n", r->value / servers.size(), servers.size());
  co_return r.ok() && r->value == 9592 * servers.size();
}

}  // namespace

int main() {
  scoll::node_options options;
  options.workers = 2;  // threads per node, started when the first hook asks for them
  scoll::local_cluster cluster(4, options);
  cluster.serve(count_primes{});
  return cluster.run(ask(cluster[0], cluster.targets())) ? 0 : 1;
}
