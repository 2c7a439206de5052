#include <chrono>
#include <stdexcept>
#include <string>

#include "probe.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

/// The actions of hooks, by rank, and the order that one of them has.
struct hook_journal {
  enum class thrown { nothing, std_exception, failure, number };
  struct heard {
    std::uint32_t rank;
    bool value;
    bool clean;
    errc why;
  };

  std::map<std::uint32_t, std::string> steps;
  std::map<std::uint32_t, std::uint64_t> seen;
  std::map<std::uint32_t, std::vector<heard>> arrivals;
  std::string where;  ///< the hook that fails
  std::uint32_t rank = 0;
  thrown throws = thrown::nothing;
  error gives;
  nanoseconds pause{0};
  int merging = 0, listening = 0;

  void clear() {
    steps.clear();
    seen.clear();
    arrivals.clear();
  }
  status act(const char* hook, char letter, std::uint32_t at) {
    steps[at] += letter;
    if (where != hook || rank != at) return {};
    switch (throws) {
      case thrown::std_exception: throw std::runtime_error("boom");
      case thrown::failure: throw failure(error::user(7, "said so"));
      case thrown::number: throw 42;
      case thrown::nothing: break;
    }
    if (gives) return gives;
    return {};
  }
};

/// All hooks, each plain or a coroutine as the bits say. `prepare` adds one to the factor that is forwarded.
template <unsigned Coroutines>
struct formed {
  static constexpr service_id id{0x0300 + Coroutines};
  static constexpr std::string_view name = "formed";
  struct request {
    std::uint64_t factor = 0;
  };
  struct reply {
    std::uint64_t total = 0;
    std::uint32_t members = 0, finishes = 0;
  };
  static constexpr bool is(unsigned bit) { return (Coroutines >> bit & 1U) != 0; }

  std::shared_ptr<hook_journal> j = std::make_shared<hook_journal>();

  status begin(request& r, bcast_context& c) {
    ++r.factor;
    return j->act("prepare", 'p', c.rank());
  }
  status prepare(request& r, bcast_context& c)
    requires(!is(0))
  {
    return begin(r, c);
  }
  task<status> prepare(request& r, bcast_context& c)
    requires(is(0))
  {
    if (j->pause.count() != 0) co_await sleep_for(j->pause);
    co_return begin(r, c);
  }

  result<reply> work(request& r, bcast_context& c) {
    if (const status s = j->act("execute", 'x', c.rank()); !s) return s.error();
    j->seen[c.rank()] = r.factor;
    reply mine{r.factor, 1, 0};
    r.factor = 1000000;  // its own copy
    return mine;
  }
  result<reply> execute(request& r, bcast_context& c)
    requires(!is(1))
  {
    return work(r, c);
  }
  task<result<reply>> execute(request& r, bcast_context& c)
    requires(is(1))
  {
    if (j->pause.count() != 0) co_await sleep_for(j->pause);
    co_return work(r, c);
  }

  static void merge(reply& into, const reply& from) noexcept {
    into.total += from.total;
    into.members += from.members;
    into.finishes += from.finishes;
  }

  void hear(const arrival<reply>& a, bcast_context& c) {
    j->arrivals[c.rank()].push_back({a.rank, a.value != nullptr, a.clean, a.reason.code()});
    REQUIRE(c.child_rank(a.child) == a.rank);
    j->act("on_reply", 'o', c.rank()).value();
  }
  void on_reply(const arrival<reply>& a, bcast_context& c)
    requires(!is(2))
  {
    hear(a, c);
  }
  task<void> on_reply(const arrival<reply>& a, bcast_context& c)
    requires(is(2))
  {
    if (j->pause.count() != 0) co_await sleep_for(j->pause);
    hear(a, c);
  }

  status end(reply& r, bcast_context& c) {
    ++r.finishes;
    return j->act("finish", 'f', c.rank());
  }
  status finish(reply& r, bcast_context& c)
    requires(!is(3))
  {
    return end(r, c);
  }
  task<status> finish(reply& r, bcast_context& c)
    requires(is(3))
  {
    if (j->pause.count() != 0) co_await sleep_for(j->pause);
    co_return end(r, c);
  }

  void replied(bcast_context& c) noexcept { j->steps[c.rank()] += 'r'; }
};

constexpr std::uint32_t members = 7;

struct expectation {
  std::string steps;
  std::uint64_t seen;
};

template <class S>
struct fixture {
  cluster c;
  S service;
  group<S> g;
  tree_view tree{kary{2}, members, 0};

  explicit fixture(world_kind kind) : c(kind, members) {
    c.serve(service);
    g = c.template make_group<S>(0, kary{2});
  }
  hook_journal& j() { return *service.j; }
  bcast_result<typename S::reply> ask() {
    j().clear();
    return c.bcast(g, {0});
  }
};

template <unsigned Coroutines>
void all_hooks_in_order(world_kind kind) {
  INFO("coroutines " << Coroutines);
  fixture<formed<Coroutines>> f(kind);
  for (const nanoseconds pause : {nanoseconds(0), nanoseconds(100us)}) {
    f.j().pause = pause;
    auto r = f.ask();
    INFO(describe(r.outcome()));
    REQUIRE(r.ok());
    REQUIRE(r->members == members);
    REQUIRE(r->finishes == members);
    std::uint64_t total = 0;
    for (std::uint32_t rank = 0; rank < members; ++rank) {
      INFO("rank " << rank);
      const std::string arrivals(f.tree.children(rank).size(), 'o');
      REQUIRE(f.j().steps[rank] == "px" + arrivals + "fr");
      REQUIRE(f.j().seen[rank] == f.tree.depth(rank) + 1);  // what the parent left is what is forwarded
      total += f.tree.depth(rank) + 1;
      for (const auto& a : f.j().arrivals[rank]) {
        REQUIRE(a.value);
        REQUIRE(a.clean);
        REQUIRE(a.why == errc::ok);
      }
    }
    REQUIRE(r->total == total);
  }
  REQUIRE(f.c.quiet());
}

template <unsigned... All>
void for_all_forms(world_kind kind, std::integer_sequence<unsigned, All...>) {
  (all_hooks_in_order<All>(kind), ...);
}

/// How `hook` of one rank fails, and what the account must say.
template <class S>
void one_hook_fails(world_kind kind, const std::string& hook, std::uint32_t rank,
                    hook_journal::thrown throws) {
  fixture<S> f(kind);
  const error given = error::user(-99, "not today");
  f.j().where = hook;
  f.j().rank = rank;
  f.j().throws = throws;
  if (throws == hook_journal::thrown::nothing) f.j().gives = given;
  const std::map<hook_journal::thrown, error> expected{
      {hook_journal::thrown::nothing, given},
      {hook_journal::thrown::std_exception, error(errc::hook_failed, "boom")},
      {hook_journal::thrown::failure, error::user(7, "said so")},
      {hook_journal::thrown::number, error(errc::hook_failed, hook + " threw")}};
  const error why = expected.at(throws);
  auto r = f.ask();
  INFO(hook << " of rank " << rank << ": " << describe(r.outcome()));
  const outcome& o = r.outcome();
  const std::set<std::uint32_t> below = f.tree.subtree(rank);
  for (std::uint32_t other = 0; other < members; ++other) {
    INFO("rank " << other);
    const std::string& steps = f.j().steps[other];
    member_state state = member_state::merged;
    phase where = phase::none;
    if (hook == "prepare" && below.contains(other)) {
      state = other == rank ? member_state::failed : member_state::not_reached;
      where = phase::prepare;
      REQUIRE(steps == (other == rank ? "pr" : ""));
    } else if (hook == "execute" && other == rank) {
      state = member_state::failed;
      where = phase::execute;
    } else if (below.contains(other) && (hook == "finish" || (hook == "on_reply" && other != rank))) {
      state = member_state::executed;
      where = phase::reply;
    }
    REQUIRE(to_string(o.state(other)) == to_string(state));
    REQUIRE(to_string(o.why(other).where) == to_string(where));
    if (state != member_state::merged) {
      REQUIRE(o.why(other).what == why);
      REQUIRE(o.why(other).what.domain() == why.domain());
      REQUIRE(o.why(other).what.detail() == why.detail());
      REQUIRE(o.why(other).reporter == rank);
    }
    if (state != member_state::not_reached) {
      REQUIRE(std::count(steps.begin(), steps.end(), 'r') == 1);
      REQUIRE(steps.back() == 'r');
    }
  }
  REQUIRE(r.ok() == (o.count(member_state::merged) == members));
  REQUIRE(r.has_value() == (o.count(member_state::merged) != 0));
  if (r.has_value()) REQUIRE(r->members == o.count(member_state::merged));
  REQUIRE(f.c.quiet());
  f.j().where.clear();
  REQUIRE(f.ask().ok());
}

}  // namespace

TEST_CASE("every form of every hook runs once and in order", "[hooks][world]") {
  for_all_forms(any_kind_of_world(), std::make_integer_sequence<unsigned, 16>{});
}

TEST_CASE("a hook that fails or throws costs what the account says, and no more", "[hooks][world]") {
  const world_kind kind = any_kind_of_world();
  for (const char* hook : {"prepare", "execute", "on_reply", "finish"}) {
    for (const std::uint32_t rank : {0U, 1U, 2U, 5U}) {
      for (const auto throws : {hook_journal::thrown::nothing, hook_journal::thrown::std_exception,
                                hook_journal::thrown::failure, hook_journal::thrown::number}) {
        if (hook == std::string("on_reply")) {
          if (rank == 5) continue;                                // a leaf has no child
          if (throws == hook_journal::thrown::nothing) continue;  // it returns nothing
        }
        one_hook_fails<formed<0>>(kind, hook, rank, throws);
        one_hook_fails<formed<15>>(kind, hook, rank, throws);
      }
    }
  }
}

TEST_CASE("a system error of execute keeps its domain and number up to the root", "[hooks][world]") {
  cluster c(any_kind_of_world(), 5);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  service.log->failing[4] = error::system(28, "write");
  service.log->failing[2] = error::user(-7, "pool is gone");
  auto r = c.bcast(g, {});
  check_account(r, *service.log, 5);
  check_members(r.outcome(), {4}, member_state::failed, phase::execute, errc::io_error, 4);
  check_members(r.outcome(), {2}, member_state::failed, phase::execute, errc::hook_failed, 2);
  REQUIRE(r.outcome().why(4).what == error::system(28, "write"));
  REQUIRE(r.outcome().why(2).what == error::user(-7, "pool is gone"));
  REQUIRE(r.outcome().failed().size() == 2);
  REQUIRE(r.outcome().merged().size() == 3);
  REQUIRE(r.status().error() == errc::incomplete);
}

TEST_CASE("on_reply hears of every child, lost ones too", "[hooks][world]") {
  fixture<formed<15>> f(any_kind_of_world({fault::part}));
  SECTION("one below refuses") {
    f.j().where = "prepare";
    f.j().rank = 3;
    f.j().gives = error::user(5, "no");
    f.ask();
    for (const auto& a : f.j().arrivals[0]) {
      REQUIRE(a.value);
      REQUIRE(a.clean == (a.rank == 2));
      REQUIRE(a.why == (a.rank == 2 ? errc::ok : errc::hook_failed));
    }
    for (const auto& a : f.j().arrivals[1]) {
      REQUIRE(a.value == (a.rank == 4));
      REQUIRE(a.why == (a.rank == 4 ? errc::ok : errc::hook_failed));
    }
    REQUIRE(f.j().arrivals[0].size() == 2);
    REQUIRE(f.j().arrivals[1].size() == 2);
  }
  SECTION("one is dead") {
    f.c.kill(4);
    f.ask();
    REQUIRE(f.j().arrivals[1].size() == 2);
    const auto& lost = f.j().arrivals[1].back();
    REQUIRE(lost.rank == 4);
    REQUIRE_FALSE(lost.value);
    REQUIRE_FALSE(lost.clean);
    REQUIRE(lost.why == errc::connection_lost);
  }
}

namespace {

/// Its `on_reply` suspends; meanwhile no merge and no other `on_reply` of the operation may begin.
struct slow_listener {
  static constexpr service_id id{0x0320};
  struct request {};
  struct reply {
    std::uint32_t members;
  };
  static inline std::map<std::uint32_t, int> inside;
  static inline int overlaps;

  reply execute(const request&, bcast_context&) { return {1}; }
  static void merge(reply& into, const reply& from) noexcept {
    for (const auto& [rank, count] : inside) {
      if (count != 0 && rank == 0) overlaps += 1;  // only the root has more than one child here
    }
    into.members += from.members;
  }
  task<void> on_reply(const arrival<reply>& a, bcast_context& c) {
    if (++inside[c.rank()] != 1) ++overlaps;
    const std::uint32_t before = a.value->members;
    co_await sleep_for(1ms);
    REQUIRE(a.value->members == before);
    --inside[c.rank()];
  }
};

}  // namespace

TEST_CASE("merge and on_reply of one broadcast never overlap", "[hooks]") {
  virtual_cluster c(9);
  c.serve(slow_listener{});
  auto g = c.make_group<slow_listener>(0, flat{});
  slow_listener::overlaps = 0;
  const auto before = c.ex.now();
  auto r = c.bcast(g, {});
  REQUIRE(r.ok());
  REQUIRE(r->members == 9);
  REQUIRE(slow_listener::overlaps == 0);
  REQUIRE(c.ex.now() - before >= 8ms);
}

namespace {

/// Notes how many requests its node had sent when `execute` began.
struct early {
  static constexpr service_id id{0x0321};
  static constexpr bool short_execute = false;
  struct request {};
  std::shared_ptr<std::map<std::uint32_t, std::uint64_t>> sent =
      std::make_shared<std::map<std::uint32_t, std::uint64_t>>();
  cluster* c = nullptr;
  void execute(const request&, bcast_context& at) {
    (*sent)[at.rank()] = c->engine(at.rank()).wire().statistics().requests_sent;
  }
};

/// Does the same, and promises to take no time.
struct early_and_short : early {
  static constexpr service_id id{0x0326};
  static constexpr bool short_execute = true;
};

/// A service whose number belongs to the library.
struct low {
  static constexpr service_id id{255};
  struct request {};
  void execute(const request&, bcast_context&) {}
};

/// Makes the request longer before it is forwarded.
struct grower {
  static constexpr service_id id{0x0322};
  struct request {
    std::vector<std::byte> bytes;
  };
  std::size_t to = 0;
  std::uint32_t at = 1;
  std::shared_ptr<std::map<std::uint32_t, std::size_t>> seen =
      std::make_shared<std::map<std::uint32_t, std::size_t>>();
  void prepare(request& r, bcast_context& c) {
    if (c.rank() == at) r.bytes.resize(to, std::byte{7});
  }
  void execute(const request& r, bcast_context& c) { (*seen)[c.rank()] = r.bytes.size(); }
};

}  // namespace

TEMPLATE_TEST_CASE("forwards have left before execute begins, unless it is brief", "[hooks]", early,
                   early_and_short) {
  constexpr std::uint32_t n = 13;
  for (const tree_spec& spec :
       {tree_spec(kary{3}), tree_spec(knomial{2}), tree_spec(flat{}), tree_spec(chain{})}) {
    virtual_cluster c(n);
    TestType service;
    service.c = &c;
    c.serve(service);
    auto g = c.make_group<TestType>(0, spec);
    REQUIRE(c.bcast(g, {}).ok());  // now all links are up
    const tree_view tree(spec, n, 0);
    std::map<std::uint32_t, std::uint64_t> before;
    for (std::uint32_t rank = 0; rank < n; ++rank)
      before[rank] = c.engine(rank).wire().statistics().requests_sent;
    REQUIRE(c.bcast(g, {}).ok());
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      INFO(to_string(spec) << " rank " << rank);
      REQUIRE((*service.sent)[rank] - before[rank] ==
              (TestType::short_execute ? 0 : tree.children(rank).size()));
    }
  }
}

TEST_CASE("a rewritten request is what travels on, and its size is checked", "[hooks][world]") {
  cluster c(any_kind_of_world(), 3);
  grower service;
  const std::size_t most = max_request_bytes - 4;  // behind its length
  SECTION("it fits exactly") {
    service.to = most;
    c.serve(service);
    auto g = c.make_group<grower>(0, chain{});
    const grower::request r{std::vector<std::byte>(10)};
    REQUIRE(c.bcast(g, r).ok());
    REQUIRE(*service.seen == std::map<std::uint32_t, std::size_t>{{0, 10}, {1, most}, {2, most}});
  }
  SECTION("it is one byte too large") {
    service.to = most + 1;
    c.serve(service);
    auto g = c.make_group<grower>(0, chain{});
    const grower::request r{std::vector<std::byte>(10)};
    auto answer = c.bcast(g, r);
    check_members(answer.outcome(), {1}, member_state::failed, phase::prepare, errc::too_large, 1);
    check_members(answer.outcome(), {2}, member_state::not_reached, phase::prepare, errc::too_large, 1);
    REQUIRE(*service.seen == std::map<std::uint32_t, std::size_t>{{0, 10}});
  }
  REQUIRE(c.quiet());
}

TEST_CASE("closing a service refuses what is new and drains what runs", "[hooks]") {
  constexpr std::uint32_t n = 7;
  virtual_cluster c(n);
  probe service;
  service.log->usual = 10ms;
  auto handles = c.serve(service);
  auto g = c.make_group<probe>(0, kary{2});
  flight<probe> running(c, g, {});
  c.ex.run_for(1ms);
  bool closed = false;
  const auto close = [&]() -> task<void> {
    co_await handles[1].close();
    closed = true;
  };
  scope closing(c.ex);
  closing.spawn(close());
  c.ex.run_for(1ms);
  REQUIRE_FALSE(closed);
  service.log->clear();
  flight<probe> refused(c, g, {});
  auto& r = refused.land();
  check_members(r.outcome(), {1}, member_state::failed, phase::admission, errc::unknown_service, 0);
  check_members(r.outcome(), {3, 4}, member_state::not_reached, phase::admission, errc::unknown_service, 0);
  check_account(r, *service.log, n);
  REQUIRE(running.land().ok());
  c.run([&]() -> task<void> { co_await closing.join(); }());
  REQUIRE(closed);
  // The number is free again.
  c[1].serve(service).value();
  service.log->clear();
  REQUIRE(c.bcast(g, {}).ok());
  // At the root it is an error of the call.
  c.run(handles[0].close());
  auto nowhere = c.bcast(g, {});
  REQUIRE(nowhere.status().error() == errc::unknown_service);
  REQUIRE(nowhere.outcome().not_reached().size() == n);
  REQUIRE(c.quiet());
}

namespace {

task<void> close_within(service_handle& service, nanoseconds limit, std::optional<status>& closed) {
  closed = co_await service.close(limit);
}

}  // namespace

TEST_CASE("a service that is closed within a limit ends its own part and passes on the others'", "[hooks]") {
  constexpr std::uint32_t n = 7;
  virtual_cluster c(n);
  probe service;
  auto handles = c.serve(service);
  auto g = c.make_group<probe>(0, kary{2});
  std::optional<status> closed;
  scope closing(c.ex);
  SECTION("an interior member whose hook hears the stop has failed") {
    service.log->usual = 300ms;
    flight<probe> running(c, g, {});
    c.ex.run_for(1ms);
    closing.spawn(close_within(handles[1], 100ms, closed));
    c.ex.run_for(51ms);
    REQUIRE_FALSE(closed);  // its children take 300 ms
    auto& r = running.land();
    check_members(r.outcome(), {1}, member_state::failed, phase::execute, errc::closed, 1);
    REQUIRE(r.outcome().merged().size() == n - 1);
    REQUIRE(closed->error() == errc::deadline_exceeded);
  }
  SECTION("one whose hook is deaf is unknown, and the others are not waited for in vain") {
    service.log->usual = 10ms;
    service.log->stuck = {1};
    flight<probe> running(c, g, {});
    c.ex.run_for(1ms);
    closing.spawn(close_within(handles[1], 100ms, closed));
    auto& r = running.land();
    check_members(r.outcome(), {1}, member_state::unknown, phase::execute, errc::closed, 1);
    REQUIRE(r.outcome().merged().size() == n - 1);
    c.ex.run_for(200ms);
    REQUIRE(closed->error() == errc::deadline_exceeded);
    REQUIRE(std::string(closed->error().text()) == "1 requests still use the service");
    c[1].serve(service).value();  // the number is free
    service.log->release.set();
  }
  SECTION("at the root the broadcast ends, and says what the members have done") {
    service.log->usual = 300ms;
    flight<probe> running(c, g, {});
    c.ex.run_for(1ms);
    closing.spawn(close_within(handles[0], 100ms, closed));
    auto& r = running.land();
    REQUIRE(r.status().error() == errc::closed);
    REQUIRE(r.outcome().merged().size() == 0);
    c.ex.run_for(50ms);
    REQUIRE(closed->has_value());
  }
  SECTION("what ends by itself is not disturbed") {
    service.log->usual = 10ms;
    flight<probe> running(c, g, {});
    c.ex.run_for(1ms);
    const nanoseconds limit = GENERATE(nanoseconds(100ms), nanoseconds::max());
    closing.spawn(close_within(handles[1], limit, closed));
    REQUIRE(running.land().ok());
    c.ex.run_for(1ms);
    REQUIRE(closed->has_value());
  }
  c.run([&]() -> task<void> { co_await closing.join(); }());
  REQUIRE(c.quiet());
}

namespace {

/// A service whose `prepare` waits until it is let go, on one member, and does not hear its stop token.
struct undecided {
  static constexpr service_id id{0x0390};
  static constexpr std::string_view name = "undecided";
  struct request {
    std::uint64_t value = 0;
  };
  struct reply {
    std::uint64_t sum = 0;
  };
  task<status> prepare(request&, bcast_context& ctx) {
    if (ctx.rank() == 1) co_await release->wait();
    co_return status{};
  }
  result<reply> execute(const request& r, bcast_context&) { return reply{r.value}; }
  static void merge(reply& into, const reply& from) noexcept { into.sum += from.sum; }

  std::shared_ptr<event> release = std::make_shared<event>();
};

}  // namespace

TEST_CASE("a service that is closed within a limit does not wait for a prepare that is deaf", "[hooks]") {
  virtual_cluster c(3);
  undecided service;
  auto handles = c.serve(service);
  auto g = c.make_group<undecided>(0, chain{});
  std::optional<status> closed;
  scope closing(c.ex);
  flight<undecided> running(c, g, {1});
  c.ex.run_for(1ms);
  closing.spawn(close_within(handles[1], 100ms, closed));
  auto& r = running.land();
  check_members(r.outcome(), {1}, member_state::failed, phase::prepare, errc::closed, 1);
  check_members(r.outcome(), {2}, member_state::not_reached, phase::prepare, errc::closed, 1);
  REQUIRE_FALSE(closed);  // the hook has a quarter of the limit left to return
  c.ex.run_for(26ms);
  REQUIRE(closed->error() == errc::deadline_exceeded);
  service.release->set();
  c.run([&]() -> task<void> { co_await closing.join(); }());
  REQUIRE(c.quiet());
}

TEST_CASE("numbers of the library and numbers that are taken cannot be served", "[hooks][world]") {
  cluster c(any_kind_of_world(), 1);
  const auto refused = c[0].serve(low{});
  REQUIRE(refused.error() == errc::invalid_argument);
  REQUIRE(refused.error().text() == "service id 255 belongs to the library: 256 and up are free");
  c[0].serve(probe{}).value();
  REQUIRE(c[0].serve(probe{}).error() == errc::already_exists);
}

TEST_CASE("replied comes once on every member, also when the parent has died", "[hooks]") {
  constexpr std::uint32_t n = 7;
  virtual_cluster c(n);
  probe service;
  service.log->usual = 50ms;
  c.serve(service);
  auto g = c.make_group<probe>(0, kary{2});
  flight<probe> f(c, g, {});
  c.pass(10ms);
  c.kill(1);
  f.land();
  c.pass(5s);
  for (std::uint32_t rank = 0; rank < n; ++rank) REQUIRE(service.log->replied[rank] == 1);
}
