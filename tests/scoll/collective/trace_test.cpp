#include "scoll/collective/trace.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "infiltrated.hpp"
#include "probe.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/trace/record.hpp"
#include "scoll/coro/error_format.hpp"
#include "timed_nodes.hpp"
#include "transport/wire/wire.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

// The course of broadcasts, as their roots hear of it.
namespace {

constexpr tree_spec traced_trees[] = {flat{}, chain{}, knomial{2}, kary{3}, greedy{7, 1, 1}};

bool lies_within(nanoseconds from, nanoseconds to, nanoseconds outer_from, nanoseconds outer_to) {
  return outer_from <= from && from <= to && to <= outer_to;
}

/// Spans lie within the exchanges of their parents, their steps follow one another, and each has its place.
void check_nested(const collective_trace& trace) {
  INFO(to_text(trace));
  REQUIRE_FALSE(trace.empty());
  const trace_span& root = trace.spans().front();
  CHECK_FALSE(root.parent);
  CHECK(root.arrived == 0ns);
  CHECK(root.error == 0ns);
  for (const trace_span& s : trace.spans()) {
    INFO("rank " << s.rank);
    const nanoseconds prepared = s.prepared.value_or(s.arrived), begun = s.begun.value_or(prepared);
    CHECK(lies_within(s.arrived, s.answered, s.arrived, root.answered));
    CHECK(lies_within(prepared, begun, s.arrived, s.answered));
    CHECK(lies_within(begun, s.ended.value_or(s.answered), begun, s.answered));
    for (const trace_link& c : s.children)
      CHECK(lies_within(c.sent, c.answered.value_or(c.sent), s.arrived, s.answered));
    if (&s == &root) continue;
    REQUIRE(s.parent);
    const trace_span* const parent = trace.find(*s.parent);
    REQUIRE(parent != nullptr);
    CHECK(parent < &s);
    CHECK(s.level == parent->level + 1);
    CHECK(s.error >= parent->error);
    const auto link = std::ranges::find(parent->children, s.rank, &trace_link::rank);
    REQUIRE(link != parent->children.end());
    REQUIRE(link->answered);
    CHECK(link->node == s.node);
    CHECK(lies_within(s.arrived, s.answered, link->sent, *link->answered));
  }
}

/// Notes at which time of the world members begin and end their work.
struct watched {
  static constexpr service_id id{0x0622};
  struct request {
    std::uint32_t work_us = 0;
  };
  struct reply {
    sum<std::uint32_t> members;
  };
  struct times {
    const testing::sim_world* world = nullptr;
    std::vector<nanoseconds> begun, ended;
  };
  std::shared_ptr<times> seen;

  task<result<reply>> execute(const request& r, bcast_context& c) {
    seen->begun[c.rank()] = seen->world->now();
    const auto slept = co_await sleep_for(std::chrono::microseconds(r.work_us) * (c.rank() % 5), c.stop());
    seen->ended[c.rank()] = seen->world->now();
    if (!slept) co_return slept.error();
    co_return reply{{1}};
  }
};

using latency_between = std::function<nanoseconds(std::uint32_t, std::uint32_t)>;

/// Nodes on hosts of their own, and the truth about their broadcasts.
class watched_nodes {
 public:
  watched_nodes(std::uint32_t n, const latency_between& latency, std::vector<testing::sim_clock> clocks)
      : all_(3, n, 16384, std::move(clocks)), n_(n) {
    for (std::uint32_t a = 0; a < n; ++a) {
      for (std::uint32_t b = 0; b < n; ++b) {
        if (a != b) all_.network.path(a, b).model = testing::sim_link_model::ideal(latency(a, b));
      }
    }
    *seen_ = {&all_.world, std::vector<nanoseconds>(n), std::vector<nanoseconds>(n)};
    all_.boot([this](node& self, std::uint32_t) { self.serve(watched{seen_}).value(); });
  }

  collective_trace broadcast(const tree_spec& tree, std::uint32_t work_us) {
    std::vector<target> targets;
    for (std::uint32_t i = 0; i < n_; ++i) targets.push_back({i + 1, {}});
    group_options options;
    options.tree = tree;
    const auto group = all_.run(all_[0].create_group<watched>(targets, options)).value();
    began_ = all_.world.now();
    collective_trace trace = all_.run(ask(group, work_us));
    REQUIRE(all_.run(all_[0].destroy(group)).has_value());
    return trace;
  }
  /// The true times at which a member began and ended, since the last broadcast began.
  nanoseconds begun(std::uint32_t rank) const { return seen_->begun[rank] - began_; }
  nanoseconds ended(std::uint32_t rank) const { return seen_->ended[rank] - began_; }

 private:
  static task<collective_trace> ask(group<watched> to, std::uint32_t work_us) {
    auto r = co_await bcast(to, watched::request{work_us}, {.trace = true});
    CHECK(r.ok());
    co_return r.trace();
  }

  timed_nodes all_;
  std::uint32_t n_;
  std::shared_ptr<watched::times> seen_ = std::make_shared<watched::times>();
  nanoseconds began_{0};
};

nanoseconds distance(nanoseconds a, nanoseconds b) {
  return a < b ? b - a : a - b;
}

/// Clocks that are hours apart, and of which some are too fast and others too slow.
std::vector<testing::sim_clock> odd_clocks(std::uint32_t n, std::int64_t drift_ppm) {
  std::vector<testing::sim_clock> clocks;
  for (std::uint32_t i = 0; i < n; ++i)
    clocks.push_back({std::chrono::hours(1 + i * 7 % 24), i % 3 == 0   ? drift_ppm
                                                          : i % 3 == 1 ? -drift_ppm
                                                                       : 0});
  return clocks;
}

bcast_options traced() {
  bcast_options o;
  o.trace = true;
  return o;
}

}  // namespace

TEST_CASE("members are placed exactly where ways there and back take equally long", "[trace]") {
  const auto latency = [](std::uint32_t a, std::uint32_t b) {
    return (10 + std::min(a, b) + 3 * std::max(a, b)) * 1us;
  };
  watched_nodes c(13, latency, odd_clocks(13, 0));
  for (const tree_spec& tree : traced_trees) {
    const collective_trace trace = c.broadcast(tree, 700);
    INFO(to_text(trace));
    CHECK(trace.spans().size() == 13);
    CHECK(trace.members() == 13);
    CHECK(trace.tree() == tree);
    check_nested(trace);
    for (const trace_span& s : trace.spans()) {
      CHECK(s.arrived == c.begun(s.rank));
      CHECK(s.begun == c.begun(s.rank));
      CHECK(s.ended == c.ended(s.rank));
      if (s.parent) {
        const trace_span& parent = *trace.find(*s.parent);
        CHECK(s.error == parent.error + latency(s.rank, *s.parent));
      }
    }
  }
}

TEST_CASE("members are placed within the error where ways there and back differ", "[trace]") {
  const auto latency = [](std::uint32_t a, std::uint32_t b) { return (5 + 11 * a * b % 97 + 2 * a) * 1us; };
  watched_nodes c(13, latency, odd_clocks(13, 0));
  for (const tree_spec& tree : traced_trees) {
    const collective_trace trace = c.broadcast(tree, 300);
    check_nested(trace);
    nanoseconds most{0};
    for (const trace_span& s : trace.spans()) {
      INFO(to_text(trace) << "rank " << s.rank);
      CHECK(distance(s.arrived, c.begun(s.rank)) <= s.error);
      CHECK(distance(*s.ended, c.ended(s.rank)) <= s.error);
      most = std::max(most, distance(s.arrived, c.begun(s.rank)));
    }
    CHECK(most > 1us);
  }
}

TEST_CASE("spans nest on hosts whose clocks are hours apart and drift by two percent", "[trace]") {
  const auto latency = [](std::uint32_t a, std::uint32_t b) { return (20 + a + b) * 1us; };
  watched_nodes c(13, latency, odd_clocks(13, 20'000));
  for (const tree_spec& tree : traced_trees) {
    const collective_trace trace = c.broadcast(tree, 20'000);
    check_nested(trace);
    for (const trace_span& s : trace.spans()) {
      INFO(to_text(trace) << "rank " << s.rank);
      CHECK(distance(s.arrived, c.begun(s.rank)) <= s.error + trace.took() / 20);
    }
  }
}

TEST_CASE("a root without others has a trace of itself", "[trace]") {
  virtual_cluster c(1);
  probe service;
  service.log->usual = 3ms;
  c.serve(service);
  const auto g = c.make_group<probe>(0, knomial{2});
  const auto r = c.bcast(g, {}, traced());
  REQUIRE(r.ok());
  check_nested(r.trace());
  REQUIRE(r.trace().spans().size() == 1);
  const trace_span& s = r.trace().spans()[0];
  CHECK(s.node == 1);
  CHECK(*s.ended - *s.begun == 3ms);
  CHECK(r.trace().last() == last_arrival{});
}

TEST_CASE("a broadcast without the option has no trace, and its requests no flag", "[trace]") {
  infiltrated f(2, chain{}, 1);
  flight<probe> plain(f.c, f.g, {});
  REQUIRE(f.c.until([&] { return f.x->holds_one(); }));
  CHECK(f.x->last_head().flags == 0);
  f.x->refuse_one(error(errc::busy, "no"));
  CHECK(plain.land().trace().empty());
  flight<probe> asks(f.c, f.g, {}, traced());
  REQUIRE(f.c.until([&] { return f.x->holds_one(); }));
  CHECK(f.x->last_head().flags == detail::collective_head::trace);
  f.x->refuse_one(error(errc::busy, "no"));
  const collective_trace& trace = asks.land().trace();
  check_nested(trace);
  REQUIRE(trace.spans().size() == 1);
  REQUIRE(trace.spans()[0].children.size() == 1);
  CHECK_FALSE(trace.spans()[0].children[0].answered);
}

TEST_CASE("a trace changes neither outcome nor time", "[trace]") {
  for (const tree_spec& tree : traced_trees) {
    std::vector<std::string> told;
    std::vector<nanoseconds> took;
    for (const bool trace : {false, true}) {
      virtual_cluster c(9);
      probe service;
      for (std::uint32_t i = 0; i < 9; ++i) service.log->work[i] = i * 2ms;
      service.log->failing.emplace(4, error(errc::io_error, "broken"));
      c.serve(service);
      const auto g = c.make_group<probe>(0, tree);
      c.freeze(7);
      bcast_options options = traced();
      options.trace = trace;
      const time_point began = c.now();
      const auto r = c.bcast(g, {}, options);
      took.push_back(c.now() - began);
      told.push_back(describe(r.outcome()) + describe(r.status().error()));
      CHECK(r.trace().empty() != trace);
      c.thaw(7);
    }
    CHECK(told[0] == told[1]);
    CHECK(took[0] == took[1]);
  }
}

TEST_CASE("a trace shows who does not answer, and what the others did", "[trace]") {
  virtual_cluster c(12);
  probe service;
  c.serve(service);
  const auto g = c.make_group<probe>(0, kary{3});
  c.freeze(1);  // with members 4, 5 and 6 below it
  const auto r = c.bcast(g, {}, traced());
  CHECK_FALSE(r.ok());
  const collective_trace& trace = r.trace();
  check_nested(trace);
  CHECK(trace.spans().size() == 8);
  CHECK(trace.dropped() == 0);
  CHECK(trace.find(4) == nullptr);
  const auto& children = trace.spans()[0].children;
  REQUIRE(children.size() == 3);
  const auto silent = std::ranges::find(children, 1U, &trace_link::rank);
  CHECK_FALSE(silent->answered);
  CHECK(to_text(trace).find("sent to, no answer") != std::string::npos);
  c.thaw(1);
  c.pass(5s);
}

TEST_CASE("a trace of a broadcast to a part of a group names the ranks of the group", "[trace]") {
  virtual_cluster c(9);
  probe service;
  c.serve(service);
  const auto g = c.make_group<probe>(3, knomial{2});
  rank_set some;
  for (const std::uint32_t rank : {1U, 3U, 4U, 8U}) some.append(rank, rank + 1);
  const auto r = c.bcast(g.only(some), {}, traced());
  REQUIRE(r.ok());
  check_nested(r.trace());
  CHECK(r.trace().members() == 4);
  REQUIRE(r.trace().spans().size() == 4);
  CHECK(r.trace().spans()[0].rank == 3);
  some.for_each([&](std::uint32_t rank) {
    REQUIRE(r.trace().find(rank) != nullptr);
    CHECK(r.trace().find(rank)->node == rank + 1);
  });
}

TEST_CASE("a trace is told when a broadcast fails fast, and when a quorum ends its await", "[trace]") {
  virtual_cluster c(8);
  probe service;
  service.log->usual = 50ms;
  c.serve(service);
  const auto g = c.make_group<probe>(0, knomial{2});
  SECTION("fail fast") {
    service.log->work[7] = 0ns;
    service.log->failing.emplace(7, error(errc::io_error, "broken"));
    bcast_options options = traced();
    options.on_failure = fail_fast;
    const auto r = c.bcast(g, {}, options);
    CHECK(r.status().error() == errc::io_error);
    check_nested(r.trace());
    CHECK(r.trace().spans().size() == 8);
    CHECK(r.trace().took() < 10ms);
  }
  SECTION("a quorum, and the rest later") {
    for (const std::uint32_t rank : {0U, 1U, 2U, 4U}) service.log->work[rank] = 0ns;
    bcast_options options = traced();
    options.until = quorum{4};
    const auto r = c.bcast(g, {}, options);
    REQUIRE(r.ok());
    check_nested(r.trace());
    const std::size_t first = r.trace().spans().size();
    CHECK(first < 8);
    CHECK(c.run(r.rest()).pending().empty());
    check_nested(r.trace());
    CHECK(r.trace().spans().size() == 8);
    CHECK(r.trace().took() >= 50ms);
  }
}

namespace {

/// Takes the bulk data of a broadcast into a place of its own.
struct shelved {
  static constexpr service_id id{0x0623};
  struct request {};
  struct reply {
    sum<std::uint64_t> bytes;
  };
  std::shared_ptr<std::vector<std::vector<std::byte>>> places;

  status prepare(request&, bcast_context& c) {
    if (c.is_root()) return {};
    auto& place = (*places)[c.rank()];
    place.resize(c.bulk()->length);
    return c.receive_bulk(place);
  }
  reply execute(const request&, bcast_context& c) { return {{(*places)[c.rank()].size()}}; }
};

/// A service of which nodes have two versions.
template <std::uint16_t Version>
struct renewed {
  static constexpr service_id id{0x0624};
  static constexpr std::uint16_t version = Version;
  struct request {};
  struct reply {
    sum<std::uint32_t> members;
  };
  static reply execute(const request&, bcast_context&) { return {{1}}; }
};

}  // namespace

TEST_CASE("a member with bulk data executes when they have come, and its trace says so", "[trace]") {
  virtual_cluster c(6);
  shelved service{std::make_shared<std::vector<std::vector<std::byte>>>(6)};
  c.serve(service);
  const auto g = c.make_group<shelved>(0, chain{});
  const std::vector<std::byte> object(1'000'000);
  bcast_options options = traced();
  options.bulk = std::span(object);
  const auto r = c.bcast(g, {}, options);
  INFO(describe(r.outcome()));
  REQUIRE(r.ok());
  check_nested(r.trace());
  REQUIRE(r.trace().spans().size() == 6);
  for (const trace_span& s : r.trace().spans()) {
    REQUIRE(s.begun);
    CHECK((s.rank == 0 || *s.begun > *s.prepared));
  }
}

TEST_CASE("a member of another version passes the stamps of those below it on", "[trace]") {
  virtual_cluster c(4);
  std::vector<service_handle> served;
  for (const std::uint32_t i : {0U, 2U, 3U}) served.push_back(c[i].serve(renewed<2>{}).value());
  served.push_back(c[1].serve(renewed<1>{}).value());
  const auto g = c.make_group<renewed<2>>(0, chain{});
  const auto r = c.bcast(g, {}, traced());
  CHECK(r.outcome().state(1) == member_state::failed);
  CHECK(r.outcome().merged().size() == 3);
  check_nested(r.trace());
  REQUIRE(r.trace().spans().size() == 4);
  CHECK(r.trace().find(1)->prepared);
  CHECK_FALSE(r.trace().find(1)->begun);
  CHECK(r.trace().find(3)->ended);
}

// ---- what a member may send

namespace {

using reply_bytes = std::vector<std::byte>;

/// A reply of one member whose value is `total`, and behind it these bytes as its trace.
struct traced_reply {
  detail::collective_reply_head head;
  reply_bytes payload;

  explicit traced_reply(const reply_bytes& trace) : payload(16) {
    head.flags = detail::collective_reply_head::clean;
    head.values = 1;
    payload[0] = std::byte{12};
    payload[4] = std::byte{2};
    payload[12] = std::byte{1};
    payload.insert(payload.end(), trace.begin(), trace.end());
    head.trace_bytes = static_cast<std::uint32_t>(trace.size());
  }
};

reply_bytes trace_of(std::uint32_t member, std::uint64_t took, std::uint32_t dropped = 0) {
  reply_bytes all(64);
  detail::put_block_head(std::span(all).first<detail::trace_block::head_bytes>(), dropped);
  wire::writer out(std::span<std::byte>(all).subspan(detail::trace_block::head_bytes));
  detail::trace_record r;
  r.member = member;
  r.answered = took;
  detail::put_record(out, r);
  all.resize(detail::trace_block::head_bytes + out.needed());
  return all;
}

/// Two members, of which the second is an outsider that holds a traced request.
struct traced_pair {
  infiltrated f{2, chain{}, 1};
  flight<probe> asking{f.c, f.g, {}, traced()};

  traced_pair() {
    REQUIRE(f.c.until([&] { return f.x->holds_one(); }));
  }
  bcast_result<probe::reply>& end_with(const traced_reply& r) {
    f.x->answer_one(r.head, r.payload);
    return asking.land();
  }
};

}  // namespace

TEST_CASE("a member's stamps are taken as they come", "[trace]") {
  traced_pair p;
  p.f.c.pass(1ms);
  const auto& r = p.end_with(traced_reply(trace_of(1, 200'000)));
  REQUIRE(r.ok());
  check_nested(r.trace());
  CHECK(r.trace().find(1)->answered - r.trace().find(1)->arrived == 200us);
}

TEST_CASE("work that is longer than its exchange is shortened, and the rest is its error", "[trace]") {
  traced_pair p;
  p.f.c.pass(1ms);
  const auto& r = p.end_with(traced_reply(trace_of(1, 1'000'000'000'000)));
  REQUIRE(r.ok());
  check_nested(r.trace());
  const trace_span& s = *r.trace().find(1);
  CHECK(s.answered - s.arrived < 10ms);
  CHECK(s.error > 999s);
}

TEST_CASE("an answer without its trace counts as dropped, and one with a false trace as malformed",
          "[trace]") {
  SECTION("none") {
    traced_pair p;
    const auto& r = p.end_with(traced_reply({}));
    CHECK(r.ok());
    CHECK(r.trace().dropped() == 1);
    CHECK(to_text(r.trace()).find("without stamps") != std::string::npos);
  }
  SECTION("a number alone") {
    traced_pair p;
    const auto& r = p.end_with(traced_reply({std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}}));
    CHECK(r.ok());
    CHECK(r.trace().dropped() == 1);
  }
  SECTION("of another member") {
    traced_pair p;
    const auto& r = p.end_with(traced_reply(trace_of(0, 1)));
    CHECK(r.outcome().state(1) == member_state::unknown);
    CHECK(r.outcome().why(1).what == errc::malformed);
    CHECK(r.trace().find(1) == nullptr);
  }
  SECTION("longer than the reply") {
    traced_pair p;
    traced_reply reply(trace_of(1, 1));
    reply.head.trace_bytes = 1000;
    CHECK(p.end_with(reply).outcome().why(1).what == errc::malformed);
  }
  SECTION("to a request that has not asked for it") {
    infiltrated f(2, chain{}, 1);
    flight<probe> asking(f.c, f.g, {});
    REQUIRE(f.c.until([&] { return f.x->holds_one(); }));
    const traced_reply reply(trace_of(1, 1));
    f.x->answer_one(reply.head, reply.payload);
    CHECK(asking.land().outcome().why(1).what == errc::malformed);
  }
}

TEST_CASE("only broadcasts are traced", "[trace]") {
  virtual_cluster c(2);
  probe service;
  c.serve(service);
  for (std::uint32_t i = 0; i < c.size(); ++i) c[i].add_peer(77, "host:999").value();
  outsider x(c, 77, c.size());
  detail::collective_head head;
  head.kind = static_cast<std::uint8_t>(detail::collective_kind::forget);
  head.flags = detail::collective_head::trace;
  CHECK(x.ask(1, head, {}).refused == errc::malformed);
}
