#include <chrono>

#include "mapped.hpp"
#include "outsider.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

membership_ptr without_last(const cluster& c) {
  auto targets = c.targets();
  targets.pop_back();
  return membership::make(targets).value();
}

/// A hook that is a plain function.
struct plainly_mapped {
  static constexpr service_id id{0x0212};
  struct request {};
  std::shared_ptr<membership_ptr> all = std::make_shared<membership_ptr>();
  bool throws = false;
  static void execute(const request&, bcast_context&) {}
  result<membership_ptr> members(std::uint64_t wanted) const {
    if (throws) throw std::runtime_error("the configuration is gone");
    if (wanted == 0) return error(errc::not_found, "there is no pool 0");
    return *all;
  }
};

/// Pings the urgent class of a node, and notes how long the answer took.
struct urgent_probe : transport::exchange {
  explicit urgent_probe(cluster& c) : exchange(&heard), cluster_(c), sent_(c.now()) {
    detail::collective_head head;
    head.kind = static_cast<std::uint8_t>(detail::collective_kind::sweep);
    transport::message& m = c.engine(0).wire().acquire_message();
    m.set_head_bytes(*wire::encode_to(m.head_space(), head));
    m.copy_payload({}, wire::checksum({}));
    c.engine(0).wire().find(2)->request(*this, transport::traffic_class::urgent, m, 4096).value();
  }
  ~urgent_probe() {
    if (pending()) cancel();
  }
  static void heard(transport::exchange& self, transport::reply_event& event) noexcept {
    auto& p = static_cast<urgent_probe&>(self);
    if (event.final) p.took = p.cluster_.now() - p.sent_;
  }
  nanoseconds took = nanoseconds::max();

 private:
  cluster& cluster_;
  time_point sent_;
};

}  // namespace

TEST_CASE("a node that gets a request for an out-of-band group asks its own hook", "[mapper]") {
  constexpr std::uint32_t n = 9;
  for (const tree_spec& tree : {tree_spec(flat{}), tree_spec(chain{}), tree_spec(knomial{2})}) {
    mapped_cluster m(n);
    const auto g = m.hold(0, 7, {.tree = tree});
    REQUIRE(m.asked() == 1);
    REQUIRE(m.c.engine(0).wire().statistics().frames_sent == 0);
    auto r = m.c.bcast(g, {2});
    check_account(r, *m.log, n, 2);
    REQUIRE(r.ok());
    REQUIRE(m.asked() == n);
    REQUIRE(m.c.bcast(g, {}).ok());
    REQUIRE(m.asked() == n);
    // Any member may be root. It holds the group, and asks its hook again when it is asked for it.
    const auto mine = m.hold(n - 1, 7, {.tree = tree});
    REQUIRE(mine.id() == g.id());
    REQUIRE(m.c.bcast(mine, {}).ok());
    REQUIRE(m.asked() == n + 1);
    REQUIRE(m.c.quiet());
  }
}

TEST_CASE("a hook that takes long holds nothing else up, and is called once for all", "[mapper]") {
  node_options many;
  many.max_operations = 4000;
  many.max_pending_admissions = 2000;
  many.link.queue_limit = 2000;
  mapped_cluster m(2, many);
  m.c.serve(probe{});
  const auto other = m.c.make_group<probe>(0, flat{});
  const auto g = m.hold(0, 7);
  m.orders[1]->takes = 1s;
  std::vector<std::unique_ptr<flight<mapped_probe>>> flights;
  for (int i = 0; i < 1000; ++i)
    flights.push_back(
        std::make_unique<flight<mapped_probe>>(m.c, g, probe::request{}, bcast_options{.deadline = 5s}));
  m.c.ex.run_for(100ms);
  REQUIRE(m.c[1].snapshot().admissions_waiting == 1000);
  urgent_probe ping(m.c);
  m.c.ex.run_for(1ms);
  CHECK(ping.took < 100us);
  flight<probe> beside(m.c, other, {});
  m.c.ex.run_for(1ms);
  REQUIRE(beside.done());
  CHECK(beside.land().ok());
  CHECK(m.orders[1]->asked == 1);
  m.c.ex.run_for(1s);
  for (auto& f : flights) {
    REQUIRE(f->done());
    REQUIRE(f->land().ok());
  }
  CHECK(m.orders[1]->asked == 1);
  CHECK(m.c[1].snapshot().admissions_waiting == 0);
  CHECK(m.c.quiet());
}

TEST_CASE("requests that waited are admitted in the order in which they came", "[mapper]") {
  mapped_cluster m(2);
  m.orders[1]->takes = 10ms;
  const auto g = m.hold(0, 7);
  std::vector<std::uint64_t> order;
  struct noting {};
  std::vector<std::unique_ptr<flight<mapped_probe>>> flights;
  for (std::uint64_t i = 1; i <= 20; ++i)
    flights.push_back(std::make_unique<flight<mapped_probe>>(m.c, g, probe::request{i}));
  for (auto& f : flights) REQUIRE(f->land().ok());
  for (std::size_t i = 1; i < flights.size(); ++i) CHECK(flights[i - 1]->took() >= flights[i]->took());
}

TEST_CASE("waiting requests are bounded, and are counted as operations", "[mapper]") {
  SECTION("by a bound of their own") {
    node_options few;
    few.max_pending_admissions = 3;
    mapped_cluster m(2, few);
    m.orders[1]->takes = 100ms;
    const auto g = m.hold(0, 7);
    std::vector<std::unique_ptr<flight<mapped_probe>>> flights;
    for (int i = 0; i < 4; ++i)
      flights.push_back(std::make_unique<flight<mapped_probe>>(m.c, g, probe::request{}));
    m.c.ex.run_for(10ms);
    REQUIRE(flights[3]->done());
    const error full = flights[3]->land().outcome().why(1).what;
    CHECK(full == errc::busy);
    CHECK(full.text() == "3 requests wait for admission: node.max_pending_admissions is 3");
    CHECK_FALSE(flights[2]->done());
    for (int i = 0; i < 3; ++i) CHECK(flights[static_cast<std::size_t>(i)]->land().ok());
  }
  SECTION("by the bound on operations") {
    node_options few;
    few.max_operations = 5;
    mapped_cluster m(2, few);
    m.orders[1]->takes = 100ms;
    const auto g = m.hold(0, 7);
    std::vector<std::unique_ptr<flight<mapped_probe>>> flights;
    for (int i = 0; i < 5; ++i)
      flights.push_back(std::make_unique<flight<mapped_probe>>(m.c, g, probe::request{}));
    m.c.ex.run_for(10ms);
    REQUIRE(m.c[1].snapshot().admissions_waiting == 5);
    m.c.serve(probe{});
    const auto back = m.c[1].adopt_group<probe>(1, membership::make(m.c.targets()).value()).value();
    CHECK(m.c.bcast(back, {}).error() == errc::busy);
    for (auto& f : flights) CHECK(f->land().ok());
  }
}

TEST_CASE("a request that waits ends with its own time, its parent, its service or its node", "[mapper]") {
  node_options quick;
  quick.rtt_estimate = 1ms;
  quick.level_margin = 1ms;
  mapped_cluster m(2, quick);
  m.orders[1]->stuck = true;
  const auto g = m.hold(0, 7);
  stop_source stop;
  bcast_options options;
  nanoseconds at_least{0}, at_most{0};
  errc expected = errc::ok;
  SECTION("the deadline less the margin") {
    options.deadline = 100ms;
    at_least = 87ms;  // two levels: the margin is an eighth of the time
    at_most = 100ms;
    expected = errc::deadline_exceeded;
  }
  SECTION("the processing bound") {
    options.processing_bound = 50ms;
    at_least = 50ms;
    at_most = 51ms;
    expected = errc::deadline_exceeded;
  }
  SECTION("the root's wish") {
    options.stop = stop.token();
    expected = errc::cancelled;
    at_most = 11ms;
  }
  SECTION("the end of the service") {
    expected = errc::unknown_service;
    at_most = 11ms;
  }
  SECTION("the end of the node") {
    expected = errc::closed;
    at_most = 11ms;
  }
  flight<mapped_probe> f(m.c, g, {}, options);
  m.c.ex.run_for(10ms);
  REQUIRE(m.c[1].snapshot().admissions_waiting == 1);
  scope s(m.c.ex);
  stop.request_stop();
  if (expected == errc::unknown_service) s.spawn(m.handles[1].close());
  status ended;
  const auto end = [&]() -> task<void> {
    status e = co_await m.c[1].shutdown(2s);
    ended = e;
  };
  if (expected == errc::closed) s.spawn(end());
  auto& r = f.land();
  INFO(describe(r.outcome()));
  CHECK(r.outcome().why(1).what.code() == expected);
  CHECK(r.outcome().state(1) == member_state::failed);
  CHECK(r.outcome().why(1).where == phase::admission);
  CHECK(f.took() >= at_least);
  CHECK(f.took() <= at_most);
  CHECK(m.c[1].snapshot().admissions_waiting == 0);
  if (expected == errc::closed) {
    m.c.ex.run_for(3s);
    CHECK(ended.error().text() == "hooks that have not returned: mapped::members");
  }
  m.orders[1]->release.set();
  m.orders[1]->stuck = false;
  m.c.run([&]() -> task<void> { co_await s.join(); }());
}

TEST_CASE("a request that waits ends with the death of its root", "[mapper]") {
  mapped_cluster m(2);
  m.orders[1]->takes = 1s;
  const auto g = m.hold(0, 7);
  flight<mapped_probe> f(m.c, g, {});
  m.c.ex.run_for(10ms);
  REQUIRE(m.c[1].snapshot().admissions_waiting == 1);
  m.c[1].on_dead(1, 1);
  CHECK(m.c[1].snapshot().admissions_waiting == 0);
  m.c[1].on_alive(1, 1);
  m.c.ex.run_for(2s);
  CHECK(m.log->executed[1] == 0);
  f.land();
}

TEST_CASE("a request that waits ends with the revoke of its group, which is not taken up",
          "[mapper][revoke]") {
  mapped_cluster m(3);
  const auto g = m.hold(0, 7, {.tree = flat{}});
  const auto other = m.hold(2, 7, {.tree = flat{}});
  m.orders[1]->takes = 1s;
  flight<mapped_probe> f(m.c, g, {});
  m.c.ex.run_for(10ms);
  REQUIRE(m.c[1].snapshot().admissions_waiting == 1);
  // The root hears of the revoke by the refusal.
  m.c.network.path(2, 0).model.latency = 500ms;
  REQUIRE(m.c.run(other.revoke(3, "moved")));
  m.c.ex.run_for(5ms);
  CHECK(m.c[1].snapshot().admissions_waiting == 0);
  REQUIRE(f.done());
  CHECK(f.land().error() == errc::revoked);
  CHECK(f.land().outcome().state(1) == member_state::failed);
  m.c.ex.run_for(2s);
  CHECK(m.c.engine(1).groups() == 0);
  CHECK(m.log->executed[1] == 0);
  // No request brings the group back, but the program of this node may hold it again.
  REQUIRE(m.c.run(m.c[0].destroy(g)));
  const auto again = m.hold(0, 7, {.tree = flat{}});
  CHECK(m.c.bcast(again.only({0, 1}), {}).error() == errc::revoked);
  CHECK(m.log->executed[1] == 0);
  CHECK(m.hold(1, 7).valid());
  CHECK(m.c.quiet());
}

TEST_CASE("another digest makes a node ask its hook once more", "[mapper]") {
  constexpr std::uint32_t n = 4;
  mapped_cluster m(n);
  const auto before = m.hold(0, 7, {.tree = chain{}});
  REQUIRE(m.c.bcast(before, {}).ok());
  const membership_ptr fewer = without_last(m.c);
  for (std::uint32_t i = 0; i < 2; ++i) m.orders[i]->usual = fewer;
  m.orders[1]->asked = m.orders[2]->asked = 0;

  // The root asks for the group again, and has the new members. Node 2 has them too; node 3 has not.
  const auto after = m.hold(0, 7, {.tree = chain{}});
  REQUIRE(after.members().size() == 3);
  REQUIRE(after.id() != before.id());
  auto r = m.c.bcast(after, {});
  INFO(describe(r.outcome()));
  CHECK(r.outcome().state(1) == member_state::merged);
  CHECK(r.outcome().state(2) == member_state::failed);
  const error differs = r.outcome().why(2).what;
  CHECK(differs == errc::membership_changed);
  const auto word = [](const membership_digest& d) {
    std::string text;
    for (std::size_t i = 0; i < 8; ++i) {
      constexpr char digits[] = "0123456789abcdef";
      text += digits[std::to_integer<unsigned>(d[i]) >> 4];
      text += digits[std::to_integer<unsigned>(d[i]) & 15];
    }
    return text;
  };
  CHECK(differs.text() ==
        "membership differs: here " + word(before.members().digest()) + ", root " + word(fewer->digest()));
  CHECK(differs.text().size() == 64);
  CHECK(m.orders[1]->asked == 1);
  CHECK(m.orders[2]->asked == 1);
  // The group of before takes no new broadcast.
  const auto old = m.c.bcast(before, {});
  CHECK(old.error() == errc::membership_changed);
  CHECK(old.error().text() == "the group has other members now: ask out_of_band for it again");
  // Node 3 learns of the change too.
  m.orders[2]->usual = fewer;
  CHECK(m.c.bcast(after, {}).ok());
  CHECK(m.c.quiet());
}

TEST_CASE("an operation keeps the group that it began with", "[mapper]") {
  mapped_cluster m(3);
  const auto before = m.hold(0, 7, {.tree = flat{}});
  REQUIRE(m.c.bcast(before, {}).ok());
  m.log->usual = 50ms;
  flight<mapped_probe> running(m.c, before, {});
  m.c.ex.run_for(10ms);
  for (auto& o : m.orders) o->usual = without_last(m.c);
  const auto after = m.hold(0, 7, {.tree = flat{}});
  REQUIRE(m.c.bcast(after, {}).ok());
  CHECK(running.land().ok());
  CHECK(running.land()->members.value == 3);
  CHECK(m.c.quiet());
}

TEST_CASE("a hook's own error is the answer to all who wait for it", "[mapper]") {
  mapped_cluster m(2);
  const auto g = m.hold(0, 7);
  m.orders[1]->takes = 10ms;
  m.orders[1]->fails = {errc::not_found, "there is no pool 7"};
  std::vector<std::unique_ptr<flight<mapped_probe>>> flights;
  for (int i = 0; i < 3; ++i)
    flights.push_back(std::make_unique<flight<mapped_probe>>(m.c, g, probe::request{}));
  for (auto& f : flights) CHECK(f->land().outcome().why(1).what.text() == "there is no pool 7");
  CHECK(m.orders[1]->asked == 1);
  CHECK(m.c.run(m.c[1].out_of_band<mapped_probe>(7)).error() == errc::not_found);
  m.orders[1]->fails = {};
  m.orders[1]->usual = nullptr;
  CHECK(m.c.run(m.c[1].out_of_band<mapped_probe>(7)).error().text() == "members returned a null membership");
  m.orders[1]->usual = membership::make({{1, {}}}).value();
  CHECK(m.c.run(m.c[1].out_of_band<mapped_probe>(7)).error() == errc::not_member);
  CHECK(m.c.bcast(g, {}).outcome().why(1).what == errc::membership_changed);
  CHECK(m.c.quiet());
}

TEST_CASE("the hook may be a plain function, and may throw", "[mapper][world]") {
  cluster c(any_kind_of_world(), 2);
  plainly_mapped service;
  *service.all = membership::make(c.targets()).value();
  c[0].serve(service).value();
  service.throws = true;
  c[1].serve(service).value();
  const auto g = c.run(c[0].out_of_band<plainly_mapped>(3)).value();
  CHECK(c.run(c[0].out_of_band<plainly_mapped>(0)).error().text() == "there is no pool 0");
  const auto r = c.bcast(g, {});
  CHECK(r.outcome().why(1).what == errc::hook_failed);
  CHECK(r.outcome().why(1).what.text() == "the configuration is gone");
}

TEST_CASE("an adopted group is no business of the hook", "[mapper]") {
  mapped_cluster m(3);
  const membership_ptr fewer = without_last(m.c);
  const auto g = m.hold(0, 7);
  REQUIRE(m.c[1].adopt_group<mapped_probe>(7, fewer).has_value());
  m.orders[1]->asked = 0;
  CHECK(m.c.bcast(g.only({0, 1}), {}).outcome().why(1).what == errc::membership_changed);
  CHECK(m.orders[1]->asked == 0);
  CHECK(m.c.run(m.c[1].out_of_band<mapped_probe>(7)).error() == errc::already_exists);
  CHECK(m.c[0].adopt_group<mapped_probe>(7, fewer).error() == errc::already_exists);
}

TEST_CASE("a group that is destroyed here is asked for again when a request comes", "[mapper]") {
  mapped_cluster m(2);
  const auto g = m.hold(0, 7);
  REQUIRE(m.c.bcast(g, {}).ok());
  const auto held = m.c[1].find_group<mapped_probe>(g.id()).value();
  REQUIRE(m.c.run(m.c[1].destroy(held)).has_value());
  CHECK(m.c.engine(1).groups() == 0);
  CHECK(m.c.engine(0).groups() == 1);
  CHECK(m.c.bcast(held, {}).error() == errc::unknown_group);
  m.orders[1]->asked = 0;
  CHECK(m.c.bcast(g, {}).ok());
  CHECK(m.orders[1]->asked == 1);
}

TEST_CASE("a name travels nowhere for an out-of-band group, and is shown here", "[mapper]") {
  mapped_cluster m(2);
  const auto g = m.hold(0, 7, {.name = "pool 7"});
  const node_snapshot s = m.c[0].snapshot();
  REQUIRE(s.named_groups.size() == 1);
  CHECK(s.named_groups[0].name == "pool 7");
  CHECK(s.named_groups[0].id == g.id());
  CHECK(s.named_groups[0].members == 2);
  REQUIRE(m.c.run(m.c[0].destroy(g)).has_value());
  CHECK(m.c.bcast(g, {}).error().text() == "group \"pool 7\" has been destroyed");
  CHECK(m.c.run(m.c[0].out_of_band<mapped_probe>(7, {.name = std::string(33, 'x')})).error() ==
        errc::invalid_argument);
}

TEST_CASE("whoever asks for an out-of-band group waits for its hook no longer than the deadline",
          "[mapper]") {
  mapped_cluster m(1);
  m.orders[0]->stuck = true;
  const time_point asked = m.c.ex.now();
  group_options options;
  options.deadline = 100ms;
  const auto late = m.c.run(m.c[0].out_of_band<mapped_probe>(7, options));
  CHECK(late.error() == errc::deadline_exceeded);
  CHECK(m.c.ex.now() - asked == 100ms);
  m.orders[0]->stuck = false;
  m.orders[0]->release.set();
  m.hold(0, 7);
}

TEST_CASE("idle out-of-band groups make room, and those in use do not", "[mapper]") {
  mapped_cluster m(2);
  std::vector<group<mapped_probe>> held;
  for (std::uint64_t id = 0; id < detail::max_mapped_groups; ++id) held.push_back(m.hold(0, id));
  CHECK(m.c.run(m.c[0].out_of_band<mapped_probe>(5000)).error() == errc::busy);
  held.erase(held.begin() + 10, held.begin() + 12);
  m.hold(0, 5000);
  m.hold(0, 5001);
  m.hold(0, 5002);  // in the place of 5000, which is idle again
  CHECK(m.c.engine(0).groups() == detail::max_mapped_groups);
  CHECK(m.c.bcast(held[0], {}).ok());
  CHECK(m.c.bcast(held.back(), {}).ok());
}

TEST_CASE("out-of-band groups that were revoked make room, and stay revoked", "[mapper]") {
  mapped_cluster m(2);
  for (std::uint64_t id = 0; id < detail::max_mapped_groups; ++id) {
    const auto g = m.hold(0, id);
    CHECK(m.c.run(g.revoke(1, "plan A has failed")).has_value());
  }
  m.c.ex.run_for(1s);
  CHECK(m.c.engine(0).groups() == detail::max_mapped_groups);
  const auto further = m.hold(0, 5000);
  CHECK(m.c.engine(0).groups() == detail::max_mapped_groups);
  CHECK(m.c.bcast(further, {}).ok());
  // The first of them has made room. To others it is revoked, and this program may hold it again.
  detail::collective_head head;
  head.service = static_cast<std::uint32_t>(mapped_probe::id);
  head.tree_kind = flat::kind;
  head.group = out_of_band_group(mapped_probe::id, 0, further.members().digest());
  head.root_rank = 1;
  head.operation = {2, 2, 1, 0};
  head.processing_ns = 1'000'000'000;
  m.c.stop(1).ignore();
  outsider root(m.c, 2, 1, 2);
  CHECK(root.ask(1, head, std::vector<std::byte>(8, std::byte{1})).refused == errc::revoked);
  const auto again = m.hold(0, 0);
  CHECK(m.c.engine(0).find_group(again.id())->revoked == nullptr);
}

TEST_CASE("an operation that was seen before is refused, though its group was dropped meanwhile",
          "[mapper]") {
  mapped_cluster m(2);
  const auto g = m.hold(0, 7);
  REQUIRE(m.c.bcast(g, {}).ok());
  detail::collective_head head;
  head.service = static_cast<std::uint32_t>(mapped_probe::id);
  head.tree_kind = flat::kind;
  head.group = g.id();
  head.operation = {1, 2, 40, 0};
  head.processing_ns = 1'000'000'000;
  m.c.stop(0).ignore();
  outsider root(m.c, 1, 0, 2);
  const std::vector<std::byte> request(8, std::byte{1});
  REQUIRE_FALSE(root.ask(2, head, request).refused);
  REQUIRE(m.log->executed[1] == 2);
  const auto held = m.c[1].find_group<mapped_probe>(g.id()).value();
  REQUIRE(m.c.run(m.c[1].destroy(held)).has_value());
  CHECK(root.ask(2, head, request).refused == errc::already_exists);
  CHECK(m.log->executed[1] == 2);
  ++head.operation.counter;
  CHECK_FALSE(root.ask(2, head, request).refused);
}

TEST_CASE("a member that cannot know whether it has executed is unknown, and its subtree is not reached",
          "[mapper]") {
  virtual_cluster c(3);
  const auto handle = c[0].serve(probe{}).value();
  const auto g = c[0].adopt_group<probe>(1, membership::make(c.targets()).value(), {.tree = chain{}}).value();
  c.stop(1).ignore();
  outsider member(c, 2, 1, 2);
  member.refuse_all({errc::record_gone, "the record is gone"});
  const auto r = c.bcast(g, {});
  CHECK(r.outcome().state(1) == member_state::unknown);
  CHECK(r.outcome().why(1).what == errc::record_gone);
  CHECK(r.outcome().state(2) == member_state::not_reached);
  member.refuse_all({errc::busy, "the table is full"});
  CHECK(c.bcast(g, {}).outcome().state(1) == member_state::failed);
}
