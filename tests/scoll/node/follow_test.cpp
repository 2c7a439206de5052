#include "following.hpp"

using namespace following;

namespace {

error why_not(server& one, const std::vector<gossip_address>& nodes) {
  error why;
  one.home.enter([&] {
    const auto bond = follow(one.self, one.member, nodes);
    why = bond ? error() : bond.error();
  });
  return why;
}

}  // namespace

TEST_CASE("a node hears of deaths, returns and reboots from the participant it follows") {
  servers s;
  s.start_gossip();
  s.run_for(stealth_is_over);
  REQUIRE(s[0].member.stage() == gossip::participation::active);
  CHECK(s[0].dead() == 0);

  s.end(s.all[2]);
  s.run_for(interval * (s[0].member.threshold() + 4));
  for (const std::uint32_t i : {0U, 1U, 3U}) {
    CHECK(scoll::detail::node_access::engine(s[i].self).lives().is_dead(3));
    CHECK(s[i].dead() == 1);
  }
  std::optional<ending> refused;
  const auto g = s[0].everyone();
  s[0].count_in_background(g, {.deadline = 1s}, refused);
  s.run_for(1s);
  REQUIRE(refused);
  CHECK(refused->how.error() == errc::peer_died);

  s.all[2] = s.boot(2, 2);
  s[2].start_gossip();
  s.run_for(interval * (s[0].member.threshold() + 20));
  CHECK(s[0].dead() == 0);
  std::optional<ending> answered;
  for (const std::uint32_t i : {1U, 2U, 3U}) s[i].everyone();
  s[0].count_in_background(g, {.deadline = 1s}, answered);
  s.run_for(2s);
  REQUIRE(answered);
  CHECK(answered->how.has_value());
  CHECK(answered->value == host_count);
}

TEST_CASE("a broadcast that is started in stealth waits, and runs when the participant is active") {
  servers s;
  for (std::uint32_t i = 1; i < host_count; ++i) s[i].everyone();
  const auto g = s[0].everyone();
  s.start_gossip();
  std::optional<ending> with_deadline, without, created;
  s[0].count_in_background(g, {.deadline = 1min}, with_deadline);
  s[0].count_in_background(g, {}, without);
  s[0].home.enter([&] { s[0].work.spawn(s[0].create({.deadline = 1min}, created)); });
  s.run_for(1s);
  REQUIRE(s[0].member.stage() == gossip::participation::stealth);
  CHECK_FALSE((with_deadline || without || created));
  CHECK(s[0].requests_sent() == 0);
  s.run_for(stealth_is_over);
  REQUIRE(s[0].member.stage() == gossip::participation::active);
  for (const auto* one : {&with_deadline, &without, &created}) {
    REQUIRE(*one);
    CHECK((*one)->how.has_value());
    CHECK((*one)->value == host_count);
  }
}

TEST_CASE("a member in stealth answers the broadcasts of others") {
  servers s;
  s[1].start_gossip();
  const auto g = s[0].everyone();
  for (std::uint32_t i = 1; i < host_count; ++i) s[i].everyone();
  std::optional<ending> answered;
  s[0].count_in_background(g, {.deadline = 1s}, answered);
  s.run_for(1s);
  REQUIRE(s[1].member.stage() == gossip::participation::stealth);
  REQUIRE(answered);
  CHECK(answered->value == host_count);
}

TEST_CASE("a broadcast that is held ends at its deadline, by its stop token, and at shutdown") {
  servers s;
  const auto g = s[0].everyone();
  s.start_gossip();
  stop_source stop;
  std::optional<ending> late, stopped, closed, created, shut;
  const time_point began = s[0].home.now();
  s[0].count_in_background(g, {.deadline = 300ms}, late);
  s[0].count_in_background(g, {.stop = stop.token()}, stopped);
  s[0].count_in_background(g, {.deadline = 1min}, closed);
  s[0].home.enter([&] { s[0].work.spawn(s[0].create({.deadline = 400ms}, created)); });
  s.run_for(200ms);
  CHECK_FALSE((late || stopped || closed || created));
  s[0].home.enter([&] { stop.request_stop(); });
  s.run_for(1ms);
  REQUIRE(stopped);
  CHECK(stopped->how.error() == errc::cancelled);
  CHECK_THAT(std::string(stopped->how.error().text()), Contains("nothing was sent"));
  s.run_for(300ms);
  REQUIRE(late);
  CHECK(late->how.error() == errc::deadline_exceeded);
  CHECK(late->at - began == 300ms);
  REQUIRE(created);
  CHECK(created->how.error() == errc::deadline_exceeded);
  CHECK_FALSE(closed);
  s[0].home.enter([&] { s[0].work.spawn(s[0].shut_down(shut)); });
  s.run_for(1ms);
  REQUIRE(closed);
  CHECK(closed->how.error() == errc::closed);
  CHECK(s[0].requests_sent() == 0);
  s.run_for(5s);
  REQUIRE(shut);
  CHECK(shut->how.has_value());
}

TEST_CASE("what was held is checked again when it starts") {
  servers s;
  const auto g = s[0].everyone();
  s.start_gossip();
  std::optional<ending> refused;
  s[0].count_in_background(g, {.deadline = 1min}, refused);
  s.run_for(1s);
  s[0].home.enter([&] { s[0].self.on_dead(3, 1); });
  s.run_for(stealth_is_over);
  REQUIRE(refused);
  CHECK(refused->how.error() == errc::peer_died);
  CHECK(s[0].requests_sent() == 0);
}

TEST_CASE("gossip that ends before it took part ends what is held, and what comes later") {
  servers s;
  const auto g = s[0].everyone();
  s[0].start_gossip();
  std::optional<ending> held, later, freed;
  s[0].count_in_background(g, {}, held);
  s.run_for(1s);
  s[0].home.enter([&] { s[0].stop.request_stop(); });
  s.run_for(1ms);
  REQUIRE(held);
  CHECK(held->how.error() == errc::closed);
  s[0].count_in_background(g, {}, later);
  s.run_for(1ms);
  REQUIRE(later);
  CHECK_THAT(std::string(later->how.error().text()), Contains("ended before it took part"));

  for (std::uint32_t i = 1; i < host_count; ++i) s[i].everyone();
  s[0].home.enter([&] { s[0].bond.reset(); });
  s[0].count_in_background(g, {}, freed);
  s.run_for(1s);
  REQUIRE(freed);
  CHECK(freed->how.has_value());
}

TEST_CASE("a node is told why it cannot follow a participant") {
  servers s;
  CHECK(why_not(s[0], server::everybody()) == errc::ok);
  auto nodes = server::everybody();
  nodes[0].node = 3;
  CHECK(why_not(s[0], nodes) == errc::duplicate_target);
  nodes[0] = nodes[1];
  CHECK(why_not(s[0], nodes) == errc::duplicate_target);
  nodes[0] = {4, "elsewhere:3"};
  CHECK_THAT(std::string(why_not(s[0], nodes).text()), Contains("elsewhere:3 is not a participant"));
  nodes[0] = {0, sim_network::address_of(3)};
  CHECK(why_not(s[0], nodes) == errc::invalid_argument);
  nodes.erase(nodes.begin());
  CHECK(why_not(s[0], nodes) == errc::ok);  // a participant that is no node
  CHECK_THAT(std::string(why_not(s[3], nodes).text()), Contains("own address is not listed"));

  gossip::participant other(s[0].home, s[0].port, s.shared, sim_network::address_of(0),
                            server::gossip_options_of(9));
  s[0].home.enter([&] {
    const auto mismatch = follow(s[0].self, other, server::everybody());
    REQUIRE_FALSE(mismatch);
    CHECK_THAT(std::string(mismatch.error().text()), Contains("incarnation 9 is not the node's, 1"));
    const auto elsewhere = follow(s[0].self, s[1].member, server::everybody());
    CHECK(elsewhere.error() == errc::invalid_argument);
    const auto first = follow(s[0].self, s[0].member, server::everybody());
    CHECK(first.has_value());
    CHECK(follow(s[0].self, s[0].member, server::everybody()).error() == errc::already_exists);
  });
}
