#include "probe.hpp"
#include "scoll/collective/bcast.hpp"
#include "scoll/coro/stop.hpp"
#include "tests/scoll/collective/trees.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

/// The time limit for the end of a stopped broadcast: the way down and up again, without work.
nanoseconds abort_limit(const tree_spec& spec, std::uint32_t n, std::uint32_t root) {
  const node_options usual;
  return tree_view(spec, n, root).levels(root) * (usual.rtt_estimate + usual.level_margin);
}

std::map<std::uint32_t, int> begun(const probe& service) {
  return service.log->executed;
}

}  // namespace

TEST_CASE("an abort is acknowledged by all, and nothing begins afterwards", "[abort]") {
  constexpr std::uint32_t n = 15;
  for (const tree_spec& spec : trees) {
    virtual_cluster c(n);
    probe service;
    service.log->usual = 100ms;
    c.serve(service);
    auto g = c.make_group<probe>(1, spec);
    for (nanoseconds at{0}; at <= 200us; at += 10us) {
      INFO(to_string(spec) << " at " << at.count());
      service.log->clear();
      stop_source stop;
      flight<probe> f(c, g, {}, {.stop = stop.token()});
      c.ex.run_for(at);
      stop.request_stop();
      auto& r = f.land();
      INFO(describe(r.outcome()));
      REQUIRE(f.took() <= at + 2 * tree_view(spec, n, 1).levels(1) * 10us);
      REQUIRE(r.status().error() == errc::cancelled);
      check_account(r, *service.log, n);
      REQUIRE(r.outcome().count(member_state::merged) == 0);
      REQUIRE(r.outcome().count(member_state::unknown) == 0);
      const auto at_the_end = begun(service);
      for (std::uint32_t rank = 0; rank < n; ++rank) {
        INFO("rank " << rank);
        REQUIRE(c.engine(rank).operations() == 0);
        REQUIRE(service.log->stopped[rank] == service.log->executed[rank]);
      }
      c.ex.run_for(1s);
      REQUIRE(begun(service) == at_the_end);
    }
    REQUIRE(c.quiet());
    service.log->usual = 0ns;
    service.log->clear();
    REQUIRE(c.bcast(g, {}).ok());
  }
}

TEST_CASE("a hook that does not stop stays in the account of an abort", "[abort]") {
  constexpr std::uint32_t n = 15;
  for (const tree_spec& spec : trees) {
    INFO(to_string(spec));
    virtual_cluster c(n);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(1, spec);
    service.log->stuck = {0, 7};
    service.log->usual = 10s;
    service.log->work = {{0, 0ns}, {7, 0ns}};
    stop_source stop;
    flight<probe> f(c, g, {}, {.processing_bound = 60s, .stop = stop.token()});
    c.ex.run_for(1ms);
    stop.request_stop();
    auto& r = f.land();
    REQUIRE(f.took() <= 1ms + abort_limit(spec, n, 1));
    check_account(r, *service.log, n);
    for (const std::uint32_t stuck : {0U, 7U})
      check_members(r.outcome(), {stuck}, member_state::unknown, phase::execute, errc::cancelled, stuck);
    REQUIRE(r.outcome().count(member_state::unknown) == 2);
    REQUIRE(c.engine(7).operations() == 1);
    service.log->release.set();
    c.ex.run_for(1ms);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("an abort does not wait for a member that says nothing", "[abort]") {
  constexpr std::uint32_t n = 15;
  constexpr std::uint32_t silent = 3;
  for (const tree_spec& spec : trees) {
    INFO(to_string(spec));
    virtual_cluster c(n);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(1, spec);
    const tree_view tree(spec, n, 1);
    const auto lost = tree.subtree(silent);
    service.log->usual = 10s;
    stop_source stop;
    c.network.freeze(silent);
    flight<probe> f(c, g, {}, {.processing_bound = 60s, .stop = stop.token()});
    c.ex.run_for(1ms);
    stop.request_stop();
    auto& r = f.land();
    REQUIRE(f.took() <= 1ms + abort_limit(spec, n, 1));
    check_account(r, *service.log, n);
    check_members(r.outcome(), lost, member_state::unknown, phase::delivery, errc::deadline_exceeded,
                  tree.parent(silent));
    REQUIRE(r.outcome().count(member_state::unknown) == lost.size());
    const auto at_the_end = begun(service);
    c.network.thaw(silent);
    c.ex.run_for(5s);
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      if (lost.contains(rank)) continue;
      const auto found = at_the_end.find(rank);
      REQUIRE(service.log->executed[rank] == (found == at_the_end.end() ? 0 : found->second));
    }
    REQUIRE(c.quiet());
  }
}

TEST_CASE("an abort finds dead members dead", "[abort]") {
  constexpr std::uint32_t n = 7;
  constexpr std::uint32_t victim = 2;
  virtual_cluster c(n);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, kary{2});
  const auto lost = tree_view(kary{2}, n, 0).subtree(victim);
  service.log->usual = 10s;
  stop_source stop;
  flight<probe> f(c, g, {}, {.processing_bound = 60s, .stop = stop.token()});
  c.ex.run_for(1ms);
  c.kill(victim);
  stop.request_stop();
  auto& r = f.land();
  check_account(r, *service.log, n);
  for (const std::uint32_t rank : lost) REQUIRE(r.outcome().state(rank) == member_state::unknown);
  REQUIRE(r.outcome().count(member_state::unknown) == lost.size());
  REQUIRE(r.outcome().count(member_state::failed) == n - lost.size());
}

TEST_CASE("a stop that comes after the last answer changes nothing", "[abort]") {
  virtual_cluster c(7);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, kary{2});
  stop_source stop;
  flight<probe> f(c, g, {}, {.stop = stop.token()});
  REQUIRE(f.land().ok());
  stop.request_stop();
  c.ex.run_for(1s);
  REQUIRE(c.quiet());
}

TEST_CASE("a stop token that has fired already sends nothing", "[abort]") {
  virtual_cluster c(4);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, flat{});
  const auto sent = c.engine(0).wire().statistics().requests_sent;
  stop_source stop;
  stop.request_stop();
  auto r = c.bcast(g, {}, {.stop = stop.token()});
  REQUIRE(r.status().error() == errc::cancelled);
  REQUIRE(r.outcome().not_reached().size() == 4);
  REQUIRE(service.log->executed.empty());
  REQUIRE(c.engine(0).wire().statistics().requests_sent == sent);
  REQUIRE(c.bcast(g, {}).ok());
}
