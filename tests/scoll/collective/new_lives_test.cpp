#include <chrono>
#include <optional>

#include "probe.hpp"
#include "scoll/collective/subset.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

// Broadcasts that are repaired, in groups that a new life of a member can enter: out of band, and delayed.
namespace {

enum class kind { out_of_band, delayed };

/// Four members in a chain, whose root may know which lives there are.
struct chain_of_four {
  explicit chain_of_four(kind of, bool told = true) : what(of) {
    c.serve(service);
    group_options options;
    options.tree = chain{};
    options.populate = populate::delayed;
    if (what == kind::delayed) g = c.run(c[0].create_group<probe>(c.targets(), options)).value();
    for (std::uint32_t i = 0; i < c.size() && what == kind::out_of_band; ++i) adopt(i);
    for (std::uint32_t i = 1; i < c.size() && told; ++i) c[0].on_alive(i + 1, 1);
    REQUIRE(c.bcast(*g, {}).ok());
    service.log->clear();
  }

  void adopt(std::uint32_t i) {
    group_options options;
    options.tree = chain{};
    auto held = c[i].adopt_group<probe>(7, membership::make(c.targets()).value(), options).value();
    if (i == 0) g = held;
  }
  /// A node is killed, and its next life begins.
  void reboot(std::uint32_t i) {
    c.kill(i);
    c.reboot(i, 2);
    static_cast<void>(c[i].serve(service).value());
    if (what == kind::out_of_band) adopt(i);
    c.revive(i);
  }
  std::uint64_t rounds() { return c.engine(0).statistics().repair_rounds; }

  kind what;
  virtual_cluster c{4};
  probe service;
  std::optional<group<probe>> g;
};

}  // namespace

TEST_CASE("a new life of a member does not execute what an earlier one has executed", "[repair]") {
  const kind what = GENERATE(kind::out_of_band, kind::delayed);
  const bool told = GENERATE(true, false);
  chain_of_four f(what, told);
  f.service.log->usual = 1s;
  flight<probe> asked(f.c, *f.g, {}, {.deadline = 60s, .on_failure = repair});
  f.c.pass(1ms);
  REQUIRE(f.service.log->executed[2] == 1);
  f.reboot(2);
  auto& r = asked.land();
  INFO(describe(r.outcome()));
  CHECK(f.service.log->executed[2] == 1);
  CHECK(r.outcome().state(2) == member_state::unknown);
  CHECK(r.outcome().merged().size() == 3);  // the reply that the last one has kept is found
  CHECK(f.rounds() >= 1);
  // It holds the group, and takes part in the next one.
  f.service.log->usual = 0ns;
  f.service.log->clear();
  const auto next = f.c.bcast(*f.g, {}, {.on_failure = repair});
  INFO(describe(next.outcome()));
  CHECK(next.ok());
  CHECK(f.service.log->executed[2] == 1);
  REQUIRE(f.c.quiet());
}

TEST_CASE("a member that no round has reached executes in whichever life it is found", "[repair]") {
  const kind what = GENERATE(kind::out_of_band, kind::delayed);
  chain_of_four f(what);
  f.c.kill(2);
  f.c.pass(3s);  // its parent has given the connection up
  flight<probe> asked(f.c, *f.g, {}, {.deadline = 60s, .on_failure = repair});
  f.c.pass(1ms);
  f.reboot(3);
  f.c.kill(2);
  f.c.engine(1).on_dead(3, 1);
  auto& r = asked.land();
  INFO(describe(r.outcome()));
  CHECK(f.service.log->executed[3] == 1);
  CHECK(r.outcome().state(3) == member_state::merged);
  CHECK(r.outcome().merged().size() == 3);
  f.c.revive(2);
  REQUIRE(f.c.quiet());
}

TEST_CASE("a member that has rebooted without its root's knowledge does nothing at first, and is asked again",
          "[repair]") {
  const kind what = GENERATE(kind::out_of_band, kind::delayed);
  chain_of_four f(what);
  for (const std::uint32_t i : {2U, 3U}) f.reboot(i);
  const std::uint64_t before = f.rounds();
  const auto r = f.c.bcast(*f.g, {}, {.on_failure = repair});
  INFO(describe(r.outcome()));
  CHECK(r.ok());
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(f.service.log->executed[i] == 1);
  CHECK(f.rounds() == before + 1);
  REQUIRE(f.c.quiet());
}

TEST_CASE("where the root knows no lives, members tell what they have done, and no other one executes",
          "[repair]") {
  chain_of_four f(kind::out_of_band, false);
  f.service.log->usual = 100ms;
  flight<probe> asked(f.c, *f.g, {}, {.deadline = 60s, .on_failure = repair});
  const bool late = GENERATE(false, true);  // whether the last one has the request
  const auto began = [&](std::uint32_t i) { return f.service.log->executed[i] != 0; };
  const std::uint32_t last = late ? 3 : 1;
  while (!began(last)) f.c.run_once(1ms);
  f.c.kill(2);
  for (const std::uint32_t i : {0U, 1U, 3U}) f.c.engine(i).on_dead(3, 1);
  auto& r = asked.land();
  INFO(describe(r.outcome()));
  CHECK(f.service.log->executed[3] == (late ? 1 : 0));
  CHECK(r.outcome().state(3) == (late ? member_state::merged : member_state::unknown));
  f.c.revive(2);
  REQUIRE(f.c.quiet());
}

TEST_CASE("a broadcast is repaired only if a request has room for the lives of its members", "[repair]") {
  constexpr std::uint32_t most = 895;
  virtual_cluster c(2);
  probe service;
  c.serve(service);
  const auto adopted = [&](std::uint64_t id, std::uint32_t members) {
    std::vector<target> targets;
    for (node_id node = 1; node <= members; ++node) targets.push_back({node, {}});
    const auto all = membership::make(targets).value();
    c[1].adopt_group<probe>(id, all, {}).value();
    return c[0].adopt_group<probe>(id, all, {}).value();
  };
  const auto large = adopted(1, most + 1);
  const auto refused = c.bcast(large, {}, {.on_failure = repair});
  CHECK(refused.status().error() == errc::unsupported);
  CHECK(refused.status().error().text().find("896 members") != std::string_view::npos);
  CHECK(service.log->executed.empty());
  CHECK(c.bcast(large.only({0, 1}), {}, {.on_failure = repair}).ok());
  const auto fits = c.bcast(adopted(2, most), {}, {.on_failure = repair});
  CHECK(fits.outcome().merged().size() == 2);  // the others have no address
  CHECK(service.log->executed[0] == 2);
  REQUIRE(c.quiet());
}
