#include <string>
#include <vector>

#include "scoll/collective/bcast.hpp"
#include "scoll/log.hpp"
#include "scoll/log_limit.hpp"
#include "scoll/node_control/ask_limit.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/collective/cluster.hpp"
#include "tests/scoll/node/counted.hpp"
#include "tests/transport/io/on_reactor.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using test::count;

namespace {

class kept_log final : public log_sink {
 public:
  struct line {
    log_level level;
    std::string text;
  };
  std::vector<line> lines;

  void log(log_level level, std::string_view text) noexcept override {
    lines.push_back({level, std::string(text)});
  }
  std::size_t count(std::string_view part) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(lines, [&](const line& l) { return l.text.find(part) != std::string::npos; }));
  }
};

std::vector<node_event> of_kind(const node& n, node_event_kind kind) {
  std::vector<node_event> found;
  for (const node_event& e : n.events()) {
    if (e.kind == kind) found.push_back(e);
  }
  return found;
}

}  // namespace

TEST_CASE("a node that other hosts can reach says once if its connections prove nothing") {
  test::tcp_world w(test::tcp_world::family::v4);
  const auto rail = w.make_rail(1);
  const auto warnings_at = [&](const std::string& address, bool guarded) {
    kept_log log;
    node_options options;
    options.id = 1;
    options.log = &log;
    if (guarded) options.security = w.security(1);
    node n(w.ex(), *rail, options);
    REQUIRE(n.listen(address).has_value());
    CHECK(of_kind(n, node_event_kind::security).size() == log.count("security.mode is none"));
    CHECK(on_reactor::run(w.loop(), n.shutdown(1s)).has_value());
    return log.count("security.mode is none: whoever reaches");
  };
  CHECK(warnings_at("0.0.0.0:0", false) == 1);
  CHECK(warnings_at("[::]:0", false) == 1);
  CHECK(warnings_at("127.0.0.1:0", false) == 0);
  CHECK(warnings_at("[::1]:0", false) == 0);
  w.guard();
  CHECK(warnings_at("0.0.0.0:0", true) == 0);
}

TEST_CASE("a line passes once in ten seconds, and says how many did not") {
  scoll::detail::log_limit limit;
  const time_point start{1h};
  CHECK(limit.ask(1, start).passes);
  CHECK(limit.ask(2, start).passes);
  for (int i = 0; i < 5; ++i) CHECK_FALSE(limit.ask(1, start + i * 1s).passes);
  CHECK_FALSE(limit.ask(1, start + 9999ms).passes);
  const auto again = limit.ask(1, start + 10s);
  CHECK(again.passes);
  CHECK(again.left_out == 6);
  const auto later = limit.ask(1, start + 20s);
  CHECK(later.passes);
  CHECK(later.left_out == 0);
}

TEST_CASE("the limit of lines forgets what may pass again before it forgets anything else") {
  scoll::detail::log_limit limit;
  const time_point start{1h};
  for (std::uint64_t i = 0; i < scoll::detail::log_limit::most_subjects - 1; ++i)
    CHECK(limit.ask(i, start).passes);
  CHECK(limit.ask(5000, start + 9s).passes);
  CHECK(limit.ask(5001, start + 11s).passes);
  CHECK_FALSE(limit.ask(5000, start + 11s).passes);
}

TEST_CASE("questions pass up to a rate, after as many at once") {
  scoll::detail::ask_limit limit(10);
  const time_point start{1h};
  for (int i = 0; i < 10; ++i) CHECK(limit.take(start));
  CHECK_FALSE(limit.take(start));
  CHECK(limit.take(start + 101ms));
  CHECK_FALSE(limit.take(start + 101ms));
  for (int i = 0; i < 10; ++i) CHECK(limit.take(start + 10s));
  CHECK_FALSE(limit.take(start + 10s));
}

TEST_CASE("a node keeps what happens to its peers and groups, and logs it") {
  kept_log log;
  node_options options;
  options.log = &log;
  test::cluster c(test::world_kind::memory, 3, options);
  c.serve(count{});
  CHECK(c[0].events().empty());
  auto g = c.make_group<count>(0, flat{});
  REQUIRE(c.bcast(g, {}).ok());

  const auto begun = of_kind(c[0], node_event_kind::session_begun);
  REQUIRE(begun.size() == 2);
  CHECK(of_kind(c[1], node_event_kind::session_begun).size() == 1);
  REQUIRE(of_kind(c[1], node_event_kind::group_created).size() == 1);
  CHECK(of_kind(c[1], node_event_kind::group_created)[0].peer == 1);

  c[0].on_dead(3, 1);
  const auto dead = of_kind(c[0], node_event_kind::peer_dead);
  REQUIRE(dead.size() == 1);
  CHECK(dead[0].peer == 3);
  CHECK(dead[0].level == log_level::warning);
  const auto lost = of_kind(c[0], node_event_kind::session_lost);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].text == "the session with node 3 is lost: peer_died: node 3 is dead");
  c[0].on_alive(3, 2);
  CHECK(of_kind(c[0], node_event_kind::peer_alive).size() == 1);

  REQUIRE(c.run(c[0].destroy(g)).has_value() == false);  // node 3 was not told
  CHECK(of_kind(c[0], node_event_kind::group_ended).size() == 1);
  CHECK(c[0].event_count(node_event_kind::group_ended) == 1);
  CHECK(log.count("node 3 is dead") >= 1);

  const std::uint64_t last = c[0].events().back().number;
  CHECK(c[0].events(last).empty());
  CHECK(c[0].events(last - 1).size() == 1);
}

TEST_CASE("a revoke is an event at every member") {
  test::cluster c(test::world_kind::memory, 3);
  c.serve(count{});
  auto g = c.make_group<count>(0, flat{});
  REQUIRE(c.run(g.revoke(7, "the pool is gone")).has_value());
  c.pass(100ms);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto revoked = of_kind(c[i], node_event_kind::group_revoked);
    REQUIRE(revoked.size() == 1);
    CHECK(revoked[0].text.find("the pool is gone") != std::string::npos);
  }
}

TEST_CASE("events that may be frequent do not drive out the others, and their lines say what is missing") {
  kept_log log;
  node_options options;
  options.log = &log;
  test::cluster c(test::world_kind::memory, 2, options);
  c.serve(count{});
  c[0].on_dead(2, 1);
  c[0].on_alive(2, 2);
  const std::vector<target> alone{{1, {}}};
  const auto make_one = [&] {
    auto made = c.run(c[0].create_group<count>(alone));
    REQUIRE(made.has_value());
    REQUIRE(c.run(c[0].destroy(*made)).has_value());
  };
  for (int i = 0; i < 400; ++i) make_one();
  CHECK(c[0].event_count(node_event_kind::group_created) == 400);
  CHECK(of_kind(c[0], node_event_kind::group_created).size() == 1);
  CHECK(of_kind(c[0], node_event_kind::peer_dead).size() == 1);
  c.pass(scoll::detail::log_limit::quiet);
  make_one();
  CHECK(of_kind(c[0], node_event_kind::group_created).size() == 2);
  CHECK(log.count("was created (number 401 of node 1) (399 lines like this were left out)") == 1);
}

TEST_CASE("a node keeps its latest 256 events") {
  test::cluster c(test::world_kind::memory, 2);
  for (std::uint64_t life = 1; life <= 200; ++life) {
    c[0].on_alive(2, life);
    c[0].on_dead(2, life);
  }
  const auto kept = c[0].events();
  REQUIRE(kept.size() == 256);
  for (std::size_t i = 1; i < kept.size(); ++i) CHECK(kept[i].number == kept[i - 1].number + 1);
  CHECK(kept.back().text == "node 2 is dead (incarnation 200)");
  CHECK(c[0].event_count(node_event_kind::peer_dead) == 200);
}

TEST_CASE("waiting for events ends with the first one, and with a stop") {
  test::cluster c(test::world_kind::memory, 2);
  std::vector<status> ended;
  scope waiting(c.get_executor());
  const auto wait = [&]() -> task<void> { ended.push_back(co_await c[0].event_after(0, waiting.token())); };
  waiting.spawn(wait());
  waiting.spawn(wait());
  c.run_ready();
  CHECK(ended.empty());
  c[0].on_dead(2, 1);
  c.run_ready();
  CHECK(ended.size() == 2);
  const auto wait_longer = [&]() -> task<void> {
    ended.push_back(co_await c[0].event_after(1, waiting.token()));
  };
  waiting.spawn(wait_longer());
  c.run_ready();
  waiting.request_stop();
  c.run_ready();
  REQUIRE(ended.size() == 3);
  CHECK(ended[2].error() == errc::cancelled);
  REQUIRE(waiting.try_join());
}

TEST_CASE("a node hears of handshakes that are refused") {
  test::cluster c(test::world_kind::memory, 2);
  c.serve(count{});
  const std::vector<target> both{{1, {}}, {2, {}}};
  group_options within;
  within.deadline = 500ms;
  c[0].on_alive(2, 9);  // a later life of node 2 than the one that it has now
  REQUIRE_FALSE(c.run(c[0].create_group<count>(both, within)).has_value());
  const auto refused = of_kind(c[0], node_event_kind::handshake_refused);
  REQUIRE_FALSE(refused.empty());
  CHECK(refused[0].peer == 2);
  CHECK(refused[0].text.find("stale") != std::string::npos);
  CHECK_FALSE(of_kind(c[1], node_event_kind::handshake_refused).empty());
}
