// All members or none: one broadcast asks whether every member could apply the change, and only then does a
// second one apply it. Prints:
//   nothing was changed: 3 of 4 executed and merged; ...
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "scoll/local_cluster.hpp"

using namespace std::chrono_literals;

namespace {

struct server_state {
  std::uint64_t epoch = 6;
  bool frozen = false;
};

scoll::status may_install(const server_state& at, std::uint64_t epoch) {
  if (at.frozen) return scoll::error::user(1, "the server is frozen");
  if (epoch <= at.epoch) return scoll::error::user(2, "the epoch is not newer");
  return {};
}

// [services]
struct check {
  static constexpr scoll::service_id id{0x0130};
  struct request {
    std::uint64_t epoch;
  };
  scoll::status execute(const request& asked, scoll::bcast_context& call) const {
    return may_install((*servers)[call.rank()], asked.epoch);
  }
  std::vector<server_state>* servers;
};

struct install {
  static constexpr scoll::service_id id{0x0131};
  struct request {
    std::uint64_t epoch;
  };
  scoll::status execute(const request& asked, scoll::bcast_context& call) const {
    server_state& mine = (*servers)[call.rank()];
    if (auto still = may_install(mine, asked.epoch); !still) return still;  // it may have changed since then
    mine.epoch = asked.epoch;
    return {};
  }
  std::vector<server_state>* servers;
};
// [services]

// [ask]
scoll::task<bool> install_everywhere(const scoll::group<check>& checking,
                                     const scoll::group<install>& installing, std::uint64_t epoch) {
  auto checked = co_await scoll::bcast(checking, check::request{epoch}, {.deadline = 2s});
  if (!checked.ok()) {
    fmt::print("nothing was changed: {}\n", describe(checked.outcome()));
    co_return false;
  }
  auto installed = co_await scoll::bcast(installing, install::request{epoch}, {.deadline = 2s});
  if (!installed.ok()) fmt::print("changed on some only: {}\n", describe(installed.outcome()));
  co_return installed.ok();
}
// [ask]

scoll::task<bool> show(scoll::local_cluster& cluster, std::vector<server_state>& servers) {
  auto checking = co_await cluster[0].create_group<check>(cluster.targets());
  auto installing = co_await cluster[0].create_group<install>(cluster.targets());
  const auto all_have = [&](std::uint64_t epoch) {
    return std::ranges::all_of(servers, [&](const server_state& s) { return s.epoch == epoch; });
  };
  servers[2].frozen = true;
  const bool refused = !co_await install_everywhere(checking.value(), installing.value(), 7);
  const bool untouched = all_have(6);
  servers[2].frozen = false;
  const bool installed = co_await install_everywhere(checking.value(), installing.value(), 7);
  co_return refused&& untouched&& installed&& all_have(7);
}

}  // namespace

int main() {
  std::vector<server_state> servers(4);
  scoll::local_cluster cluster(4);
  cluster.serve(check{&servers});
  cluster.serve(install{&servers});
  return cluster.run(show(cluster, servers)) ? 0 : 1;
}
