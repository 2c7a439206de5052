#include <atomic>
#include <chrono>
#include <thread>

#include "probe.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

const tree_spec more_trees[] = {flat{}, chain{}, kary{2}, kary{3}, knomial{2}, knomial{4}, greedy{7, 1, 1}};

void set_limit(bcast_options& options, bool by_deadline, nanoseconds limit) {
  if (by_deadline) {
    options.deadline = limit;
  } else {
    options.processing_bound = limit;
  }
}

/// Each hook can be made to hang at one rank until `release`. The time that is left is recorded.
struct hanging {
  static constexpr service_id id{0x0202};
  static constexpr std::string_view name = "hanging";
  static constexpr nanoseconds processing_bound = 100ms;
  struct request {};
  struct reply {
    sum<std::uint32_t> members;
    sum<std::uint32_t> finished;
  };
  struct notes {
    std::uint32_t prepare_at = UINT32_MAX, on_reply_at = UINT32_MAX, finish_at = UINT32_MAX;
    std::map<std::uint32_t, nanoseconds> extended, work;
    std::map<std::uint32_t, nanoseconds> remaining;
    std::map<std::uint32_t, int> executed, replied;
    event release;
  };
  std::shared_ptr<notes> n = std::make_shared<notes>();

  task<status> prepare(request&, bcast_context& c) {
    if (n->extended.contains(c.rank())) c.extend_processing_bound(n->extended[c.rank()]);
    if (n->prepare_at == c.rank()) co_await n->release.wait();
    co_return status{};
  }
  task<result<reply>> execute(const request&, bcast_context& c) {
    ++n->executed[c.rank()];
    n->remaining[c.rank()] = c.remaining().left(c.get_executor().now());
    if (n->work.contains(c.rank())) co_await sleep_for(n->work[c.rank()]);
    co_return reply{{1}, {0}};
  }
  task<void> on_reply(const arrival<reply>&, bcast_context& c) {
    if (n->on_reply_at == c.rank()) co_await n->release.wait();
  }
  task<status> finish(reply& r, bcast_context& c) {
    if (n->finish_at == c.rank()) co_await n->release.wait();
    ++r.finished.value;
    co_return status{};
  }
  void replied(bcast_context& c) noexcept { ++n->replied[c.rank()]; }
};

std::set<std::uint32_t> all_but(std::uint32_t n, const std::set<std::uint32_t>& those) {
  std::set<std::uint32_t> rest;
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    if (!those.contains(rank)) rest.insert(rank);
  }
  return rest;
}

void check_states(const outcome& o, const std::set<std::uint32_t>& ranks, member_state state) {
  for (const std::uint32_t rank : ranks) {
    INFO("rank " << rank << ": " << describe(o));
    REQUIRE(to_string(o.state(rank)) == to_string(state));
  }
}

}  // namespace

TEST_CASE("a member whose execute never returns names itself, and all others are merged", "[timeout]") {
  constexpr std::uint32_t n = 12;
  for (const tree_spec& spec : more_trees) {
    virtual_cluster c(n);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(1, spec);
    const tree_view tree(spec, n, 1);
    for (std::uint32_t stuck = 0; stuck < n; ++stuck) {
      for (const bool by_deadline : {false, true}) {
        INFO(to_string(spec) << " stuck " << stuck << " by deadline " << by_deadline);
        service.log->clear();
        service.log->stuck = {stuck};
        bcast_options options;
        set_limit(options, by_deadline, 50ms);
        flight<probe> f(c, g, {}, options);
        auto& r = f.land();
        check_account(r, *service.log, n);
        check_states(r.outcome(), all_but(n, {stuck}), member_state::merged);
        check_members(r.outcome(), {stuck}, member_state::unknown, phase::execute, errc::deadline_exceeded,
                      stuck);
        if (by_deadline) {
          REQUIRE(f.took() <= 50ms);
          if (stuck != 1) REQUIRE(f.took() < 50ms);
        } else {
          REQUIRE(f.took() <= 50ms + tree.levels(1) * 25ms);
          if (stuck != 1) REQUIRE(f.took() < 50ms + (tree.levels(stuck)) * 25ms);
        }
        for (std::uint32_t rank = 0; rank < n; ++rank) {
          if (rank != stuck) REQUIRE(c.engine(rank).operations() == 0);
        }
        REQUIRE(c.engine(stuck).operations() == 1);
        REQUIRE(c.engine(stuck).running_hooks() == std::vector<std::string>{"probe::execute"});
        service.log->stuck.clear();
        service.log->release.set();
        REQUIRE(c.quiet());
        service.log->release.reset();
        REQUIRE(service.log->replied[stuck] == 1);
      }
    }
  }
}

TEST_CASE("two stuck members on one path are both named", "[timeout]") {
  constexpr std::uint32_t n = 6;
  virtual_cluster c(n);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  service.log->stuck = {2, 4};
  auto r = c.bcast(g, {}, {.processing_bound = 50ms});
  check_account(r, *service.log, n);
  check_members(r.outcome(), {2}, member_state::unknown, phase::execute, errc::deadline_exceeded, 2);
  check_members(r.outcome(), {4}, member_state::unknown, phase::execute, errc::deadline_exceeded, 4);
  check_states(r.outcome(), {0, 1, 3, 5}, member_state::merged);
  service.log->stuck.clear();
  service.log->release.set();
  REQUIRE(c.quiet());
}

TEST_CASE("with a deadline each level answers before its parent gives up", "[timeout]") {
  constexpr std::uint32_t n = 13;
  for (const tree_spec& spec : more_trees) {
    const tree_view tree(spec, n, 0);
    for (std::uint32_t victim = 1; victim < n; ++victim) {
      INFO(to_string(spec) << " victim " << victim);
      virtual_cluster c(n);
      probe service;
      c.serve(service);
      auto g = c.make_group<probe>(0, spec);
      c.network.freeze(victim);
      flight<probe> f(c, g, {}, {.deadline = 100ms});
      auto& r = f.land();
      check_account(r, *service.log, n);
      const auto lost = tree.subtree(victim);
      check_members(r.outcome(), lost, member_state::unknown, phase::delivery, errc::deadline_exceeded,
                    tree.parent(victim));
      check_states(r.outcome(), all_but(n, lost), member_state::merged);
      REQUIRE(f.took() <= 100ms);
      c.network.thaw(victim);
      REQUIRE(c.quiet());
    }
  }
}

TEST_CASE("a deadline that is too short for the depth fails at once", "[timeout]") {
  constexpr std::uint32_t n = 20;
  virtual_cluster c(n);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  const auto sent = c.engine(0).wire().statistics().requests_sent;
  const auto before = c.ex.now();
  auto r = c.bcast(g, {}, {.deadline = 4ms});
  REQUIRE(c.ex.now() == before);
  REQUIRE(r.status().error() == errc::deadline_exceeded);
  REQUIRE(r.status().error().text() ==
          "a deadline of 4000 us is too short for 20 levels: more than 4000 us needed");
  REQUIRE(r.outcome().not_reached().size() == n);
  REQUIRE(service.log->executed.empty());
  REQUIRE(c.engine(0).wire().statistics().requests_sent == sent);
  REQUIRE(c.engine(0).operations() == 0);
  REQUIRE(c.bcast(g, {}, {.deadline = -1ms}).status().error() == errc::deadline_exceeded);
  REQUIRE(c.bcast(g, {}, {.deadline = 5ms}).ok());
  REQUIRE(c.quiet());
}

TEST_CASE("time that is left shrinks from level to level", "[timeout]") {
  constexpr std::uint32_t n = 12;
  for (const tree_spec& spec : {tree_spec(chain{}), tree_spec(kary{2}), tree_spec(knomial{2})}) {
    virtual_cluster c(n);
    hanging service;
    c.serve(service);
    auto g = c.make_group<hanging>(0, spec);
    const tree_view tree(spec, n, 0);
    for (const bool by_deadline : {false, true}) {
      bcast_options options;
      set_limit(options, by_deadline, 80ms);
      REQUIRE(c.bcast(g, {}, options).ok());
      for (std::uint32_t rank = 1; rank < n; ++rank) {
        INFO(to_string(spec) << " rank " << rank);
        REQUIRE(service.n->remaining[rank] < service.n->remaining[tree.parent(rank)]);
        REQUIRE(service.n->remaining[rank] > 0ns);
      }
      if (by_deadline) REQUIRE(service.n->remaining[0] <= 80ms);
    }
    REQUIRE(c.quiet());
  }
}

TEST_CASE("the stop token of a call fires when its time is over", "[timeout]") {
  constexpr std::uint32_t n = 7;
  virtual_cluster c(n);
  probe service;
  service.log->work[5] = 10s;
  c.serve(service);
  auto g = c.make_group<probe>(0, kary{2});
  flight<probe> f(c, g, {}, {.deadline = 60ms});
  auto& r = f.land();
  check_account(r, *service.log, n);
  REQUIRE(service.log->stopped[5] == 1);
  REQUIRE(r.outcome().state(5) != member_state::merged);
  check_states(r.outcome(), all_but(n, {5}), member_state::merged);
  REQUIRE(r.outcome().why(5).where == phase::execute);
  REQUIRE(r.outcome().why(5).reporter == 5);
  REQUIRE(f.took() <= 60ms);
  REQUIRE(c.quiet());
}

TEST_CASE("a prepare that never returns fails its member and keeps the request from those below",
          "[timeout]") {
  constexpr std::uint32_t n = 12;
  for (const tree_spec& spec : more_trees) {
    virtual_cluster c(n);
    hanging service;
    c.serve(service);
    auto g = c.make_group<hanging>(0, spec);
    const tree_view tree(spec, n, 0);
    for (std::uint32_t stuck = 0; stuck < n; ++stuck) {
      for (const bool by_deadline : {false, true}) {
        INFO(to_string(spec) << " stuck " << stuck << " by deadline " << by_deadline);
        bcast_options options;
        set_limit(options, by_deadline, 80ms);
        service.n->executed.clear();
        service.n->prepare_at = stuck;
        flight<hanging> f(c, g, {}, options);
        auto& r = f.land();
        INFO(describe(r.outcome()));
        auto below = tree.subtree(stuck);
        check_states(r.outcome(), all_but(n, below), member_state::merged);
        for (std::uint32_t rank = 0; rank < n; ++rank)
          REQUIRE(service.n->executed[rank] == (below.contains(rank) ? 0 : 1));
        check_members(r.outcome(), {stuck}, member_state::failed, phase::prepare, errc::deadline_exceeded,
                      stuck);
        below.erase(stuck);
        check_members(r.outcome(), below, member_state::not_reached, phase::prepare, errc::deadline_exceeded,
                      stuck);
        REQUIRE(c.engine(stuck).running_hooks() == std::vector<std::string>{"hanging::prepare"});
        service.n->prepare_at = UINT32_MAX;
        service.n->release.set();
        REQUIRE(c.quiet());
        service.n->release.reset();
      }
    }
  }
}

TEST_CASE("an on_reply or a finish that never returns loses values, not the account", "[timeout]") {
  constexpr std::uint32_t n = 7;
  for (const bool by_deadline : {false, true}) {
    for (const std::uint32_t stuck : {0U, 1U, 4U}) {
      for (const bool in_finish : {false, true}) {
        INFO("stuck " << stuck << " in finish " << in_finish << " by deadline " << by_deadline);
        virtual_cluster c(n);
        hanging service;
        c.serve(service);
        auto g = c.make_group<hanging>(0, kary{2});
        const tree_view tree(kary{2}, n, 0);
        (in_finish ? service.n->finish_at : service.n->on_reply_at) = stuck;
        bcast_options options;
        set_limit(options, by_deadline, 80ms);
        flight<hanging> f(c, g, {}, options);
        auto& r = f.land();
        INFO(describe(r.outcome()));
        for (std::uint32_t rank = 0; rank < n; ++rank) REQUIRE(service.n->executed[rank] == 1);
        if (stuck == 4 && !in_finish) {  // a leaf has nobody to reply
          REQUIRE(r.ok());
        } else if (in_finish) {
          const auto lost = tree.subtree(stuck);
          check_members(r.outcome(), lost, member_state::executed, phase::reply, errc::deadline_exceeded,
                        stuck);
          check_states(r.outcome(), all_but(n, lost), member_state::merged);
          REQUIRE(r.has_value() == (stuck != 0));
        } else {
          // The hook holds one child's value; the other child's answer had arrived and is merged.
          REQUIRE(r.outcome().merged().contains(stuck));
          const std::uint32_t in_hand =
              r.outcome().state(2 * stuck + 1) == member_state::merged ? 2 * stuck + 2 : 2 * stuck + 1;
          const auto lost = tree.subtree(in_hand);
          check_members(r.outcome(), lost, member_state::executed, phase::reply, errc::deadline_exceeded,
                        stuck);
          check_states(r.outcome(), all_but(n, lost), member_state::merged);
          REQUIRE(r->members.value == n - lost.size());
        }
        const bool hangs = stuck != 4 || in_finish;
        if (hangs) {
          REQUIRE(c.engine(stuck).running_hooks() ==
                  std::vector<std::string>{in_finish ? "hanging::finish" : "hanging::on_reply"});
        }
        if (by_deadline) REQUIRE(f.took() <= 80ms);
        service.n->release.set();
        REQUIRE(c.quiet());
      }
    }
  }
}

TEST_CASE("a longer processing bound from prepare is told to all ancestors", "[timeout]") {
  constexpr std::uint32_t n = 15;
  for (const tree_spec& spec : {tree_spec(kary{2}), tree_spec(chain{}), tree_spec(knomial{2})}) {
    const tree_view tree(spec, n, 0);
    std::uint32_t deep = 0;
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      if (tree.depth(rank) >= 3 && tree.levels(rank) == 1) deep = rank;
    }
    REQUIRE(tree.depth(deep) >= 3);
    for (const bool extend : {true, false}) {
      INFO(to_string(spec) << " deep " << deep << " extend " << extend);
      virtual_cluster c(n);
      hanging service;
      c.serve(service);
      auto g = c.make_group<hanging>(0, spec);
      service.n->work[deep] = 2s;
      if (extend) service.n->extended[deep] = 3s;
      flight<hanging> f(c, g, {});
      auto& r = f.land();
      INFO(describe(r.outcome()));
      if (extend) {
        REQUIRE(r.ok());
        REQUIRE(r->members.value == n);
        REQUIRE(r->finished.value == n);
        REQUIRE(f.took() >= 2s);
        REQUIRE(f.took() < 2s + 10ms);
      } else {
        check_members(r.outcome(), {deep}, member_state::unknown, phase::execute, errc::deadline_exceeded,
                      deep);
        check_states(r.outcome(), all_but(n, {deep}), member_state::merged);
        REQUIRE(f.took() < 1s);
      }
      c.ex.run_for(3s);
      REQUIRE(c.quiet());

      // A caller's deadline is not moved.
      flight<hanging> limited(c, g, {}, {.deadline = 200ms});
      check_members(limited.land().outcome(), {deep}, member_state::unknown, phase::execute,
                    errc::deadline_exceeded, deep);
      REQUIRE(limited.took() <= 200ms);
      c.ex.run_for(3s);
      REQUIRE(c.quiet());
    }
  }
}

TEST_CASE("a shutdown names the hook that never returns, within its limit", "[timeout]") {
  for (const std::uint32_t stuck : {0U, 1U, 2U}) {
    virtual_cluster c(3);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, chain{});
    service.log->stuck = {stuck};
    auto r = c.bcast(g, {}, {.processing_bound = 20ms});
    REQUIRE(r.outcome().unknown().contains(stuck));
    const auto before = c.ex.now();
    const status ended = c.stop(stuck, 2s);
    REQUIRE(ended.error() == errc::deadline_exceeded);
    REQUIRE(ended.error().text() == "hooks that have not returned: probe::execute");
    REQUIRE(c.ex.now() - before <= 2s);
  }
}

TEST_CASE("a shutdown during a broadcast tells the parent what is known", "[timeout]") {
  virtual_cluster c(3);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  service.log->stuck = {1};
  flight<probe> f(c, g, {}, {.processing_bound = 20s});
  c.ex.run_for(1ms);
  const status ended = c.stop(1, 2s);
  REQUIRE(ended.error().text() == "hooks that have not returned: probe::execute");
  auto& r = f.land();
  INFO(describe(r.outcome()));
  REQUIRE(f.took() < 3s);
  check_members(r.outcome(), {1}, member_state::unknown, phase::execute, errc::closed, 1);
  check_states(r.outcome(), {0, 2}, member_state::merged);
}

TEST_CASE("a root that shuts down ends its own broadcasts", "[timeout]") {
  virtual_cluster c(3);
  probe service;
  service.log->usual = 20s;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  flight<probe> f(c, g, {}, {.processing_bound = 60s});
  c.ex.run_for(1ms);
  REQUIRE(c.stop(0, 2s).has_value());
  REQUIRE(f.done());
  auto& r = f.land();
  REQUIRE(r.status().error() == errc::closed);
  check_account(r, *service.log, 3);
  REQUIRE(f.took() < 2s);
  REQUIRE(service.log->stopped[0] == 1);
  c.ex.run_for(1s);
  REQUIRE(service.log->stopped[1] == 1);  // they were told before the links closed
  REQUIRE(service.log->stopped[2] == 1);
  REQUIRE(c.quiet());
}

namespace {

std::atomic<bool> spinning{true};
std::atomic<int> spinners{0};

struct spinner {
  static constexpr service_id id{0x0203};
  static constexpr std::string_view name = "spinner";
  struct request {};
  task<status> execute(const request&, bcast_context& c) {
    auto spun = co_await c.pool().run("spin", [] {
      ++spinners;
      while (spinning) std::this_thread::yield();
    });
    co_return spun;
  }
};

}  // namespace

TEST_CASE("a shutdown names the function that loops on the pool, within its limit", "[timeout]") {
  for (const std::uint32_t root : {0U, 1U}) {
    virtual_cluster c(2);
    c.serve(spinner{});
    group_options options;
    options.tree = flat{};
    const std::vector<target> targets{{1, {}}, {2, {}}};
    auto g = c.run(c[root].create_group<spinner>(targets, options)).value();
    spinners = 0;
    flight<spinner> f(c, g, {}, {.processing_bound = 20ms});
    c.ex.run_for(1ms);
    while (spinners != 2) std::this_thread::yield();
    auto& r = f.land();
    REQUIRE(r.status().error() == errc::deadline_exceeded);
    REQUIRE(r.outcome().unknown().size() == 2);
    for (const std::uint32_t i : {0U, 1U}) {
      const auto before = c.ex.now();
      const status ended = c.stop(i, 2s);
      REQUIRE(ended.error() == errc::deadline_exceeded);
      REQUIRE(ended.error().text() == "hooks that have not returned: spinner::execute spin (on the pool)");
      REQUIRE(c.ex.now() - before <= 2s + 250ms);
    }
  }
  spinning = false;
}
