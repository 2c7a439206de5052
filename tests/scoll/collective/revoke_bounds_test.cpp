#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "mapped.hpp"
#include "outsider.hpp"
#include "scoll/collective/creation_section.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/notice_head.hpp"
#include "scoll/collective/revoke_report.hpp"

// The bounds of what a node remembers and sends about revoked groups that it does not hold.

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t most_unknown = detail::max_unknown_revokes;
constexpr std::uint64_t most_leaving = detail::max_leaving_revokes;

/// A node that tells the first node of a cluster of revokes, and refuses to name the members of their groups.
struct teller {
  explicit teller(virtual_cluster& on) : c(on), node(on, id, on.size()) {
    c[0].add_peer(id, testing::sim_network::address_of(c.size())).value();
    node.refuse_all({errc::unknown_group, "this node holds no group"});
  }

  /// The reason is the counter of the group.
  void tell(const group_id& group) {
    detail::notice_head notice;
    notice.group = group;
    notice.by = id;
    notice.reason = static_cast<std::uint32_t>(group.counter);
    notice.say("plan B");
    transport::message& m = node.wire().acquire_message();
    m.set_head_bytes(wire::encode_to(m.head_space(), notice).value());
    ticket.forget();
    REQUIRE(node.wire().find(1)->notify(m, ticket));
    c.ex.run_for(100us);
  }
  /// Gives the error with which the first node refuses a broadcast to a group, which comes with the creation
  /// if there are members.
  error refusal(const group_id& group, service_id service = probe::id, const membership_ptr& members = {}) {
    detail::collective_head head;
    head.service = static_cast<std::uint32_t>(service);
    head.tree_kind = flat::kind;
    head.group = group;
    head.operation = {id, 1, ++operations, 0};
    std::vector<std::byte> payload(members == nullptr ? 0 : 200);
    if (members != nullptr) {
      payload.resize(detail::encode_creation(detail::creation_terms{}, *members, payload).value());
      head.flags = detail::collective_head::creation_rides;
      head.creation_bytes = static_cast<std::uint16_t>(payload.size());
    }
    return node.ask(1, head, payload).refused;
  }

  static constexpr node_id id = 9;
  virtual_cluster& c;
  outsider node;
  std::uint64_t operations = 0;
  struct silent final : transport::emission {
    silent() : emission([](emission&, transport::notice_state, const error&) noexcept {}) {}
  } ticket;
};

/// A group that no program has named.
group_id nobodys(std::uint64_t id) {
  return out_of_band_group(service_id{0x0999}, id, {});
}

/// The refusal of a group that the outsider has revoked, as long as all that its notice said is remembered.
std::string revoked(std::uint64_t reason) {
  return "node 9 has revoked the group, reason " + std::to_string(reason) + ": plan B";
}

std::string refusal_text(const error& refused) {
  return std::string(refused.text());
}

void cut(virtual_cluster& c, std::uint32_t a, std::uint32_t b) {
  c.network.refuse(a, b);
  c.network.refuse(b, a);
  c.network.cut(a, b);
  c.ex.run_for(1ms);
}

void join(virtual_cluster& c, std::uint32_t a, std::uint32_t b) {
  c.network.admit(a, b);
  c.network.admit(b, a);
}

membership_ptr members_of(std::uint32_t a, std::uint32_t b) {
  return membership::make({{a + 1, {}}, {b + 1, {}}}).value();
}

/// Revokes groups of two nodes at one of them, which cannot reach the other, and then ends them there.
void revoke_and_leave(virtual_cluster& c, std::uint32_t at, const std::vector<group<probe>>& groups) {
  scope revokes(c.ex);
  for (const auto& g : groups) {
    revokes.spawn([](group<probe> mine) -> task<> {
      const auto told = co_await mine.revoke(9);
      CHECK(told);
    }(g));
  }
  c.run([](scope& s) -> task<> { co_await s.join(); }(revokes));
  for (const auto& g : groups) REQUIRE(c.run(c[at].destroy(g)));
  REQUIRE(c.engine(at).find_group(groups.back().id()) == nullptr);
}

/// Makes `count` groups end at one node while the notices of their revokes wait for another node.
void leave(virtual_cluster& c, std::uint32_t at, std::uint32_t unreached, std::uint64_t count) {
  std::vector<group<probe>> groups;
  for (std::uint64_t k = 0; k < count; ++k)
    groups.push_back(c[at].adopt_group<probe>(k, members_of(at, unreached)).value());
  cut(c, at, unreached);
  revoke_and_leave(c, at, groups);
}

/// A group of the first three nodes that outlives its creator, the first of them.
group<probe> lasting_group(virtual_cluster& c) {
  std::vector<target> three = c.targets();
  three.resize(3);
  group_options options;
  options.lifetime = lifetime::members;
  options.tree = flat{};
  return c.run(c[0].create_group<probe>(three, options)).value();
}

std::uint64_t notices(virtual_cluster& c, std::uint32_t i) {
  return c[i].wire().statistics().notices_sent;
}

}  // namespace

TEST_CASE("the oldest revokes of groups that were never known are forgotten beyond a bound", "[revoke]") {
  constexpr std::uint64_t forgotten = 3, all = most_unknown + forgotten;
  virtual_cluster c(2);
  c.serve(probe{});
  teller t(c);
  for (std::uint64_t k = 1; k <= all; ++k) t.tell(nobodys(k));
  t.tell(nobodys(all));  // is no news
  CHECK(t.refusal(nobodys(1)) == errc::unknown_group);
  CHECK(t.refusal(nobodys(forgotten)) == errc::unknown_group);
  CHECK(refusal_text(t.refusal(nobodys(forgotten + 1))) == revoked(forgotten + 1));
  CHECK(refusal_text(t.refusal(nobodys(all))) == revoked(all));
  // A forgotten one is news again, and makes the oldest of the others go.
  t.tell(nobodys(1));
  CHECK(refusal_text(t.refusal(nobodys(1))) == revoked(1));
  CHECK(t.refusal(nobodys(forgotten + 1)) == errc::unknown_group);
  CHECK(refusal_text(t.refusal(nobodys(forgotten + 2))) == revoked(forgotten + 2));
}

TEST_CASE("no creation brings back a group that was revoked before and forgotten", "[revoke]") {
  // The first have tombstones, the last are remembered with all that their notices said.
  constexpr std::uint64_t buried = detail::max_tombstones_of_life, all = buried + 1 + most_unknown;
  virtual_cluster c(2);
  c.serve(probe{});
  teller t(c);
  const auto members = members_of(0, 1);
  const auto created = [&](std::uint64_t counter) { return group_id{2, 1, counter, members->digest()}; };
  for (std::uint64_t k = 1; k <= all; ++k) t.tell(created(k));
  for (const std::uint64_t k : {std::uint64_t{1}, buried}) {
    const error refused = t.refusal(created(k), probe::id, members);
    CHECK(refused == errc::revoked);
    CHECK(refusal_text(refused) == "node 9 has revoked the group, reason " + std::to_string(k));
  }
  CHECK(t.refusal(created(buried + 1), probe::id, members) == errc::busy);
  CHECK(t.refusal(created(buried + 1)) == errc::unknown_group);
  for (const std::uint64_t k : {buried + 2, all}) {
    const error refused = t.refusal(created(k), probe::id, members);
    CHECK(refused == errc::revoked);
    CHECK(refusal_text(refused) == revoked(k));
  }
  CHECK(c.engine(0).groups() == 0);
}

TEST_CASE("a revoked group that is dropped takes the place of the oldest that was never known",
          "[revoke][mapper]") {
  mapped_cluster m(2);
  std::vector<group_id> held;
  for (std::uint64_t id = 0; id < detail::max_mapped_groups; ++id) {
    const auto g = m.hold(0, id);
    REQUIRE(m.c.run(g.revoke(7)).has_value());
    held.push_back(g.id());
  }
  teller t(m.c);
  for (std::uint64_t k = 1; k <= most_unknown; ++k) t.tell(nobodys(k));
  CHECK(refusal_text(t.refusal(nobodys(1), mapped_probe::id)) == revoked(1));
  m.hold(0, 5000);
  CHECK(m.c.engine(0).find_group(held.front()) == nullptr);
  CHECK(t.refusal(held.front(), mapped_probe::id) == errc::revoked);
  CHECK(t.refusal(nobodys(1), mapped_probe::id) == errc::unknown_group);
  CHECK(refusal_text(t.refusal(nobodys(2), mapped_probe::id)) == revoked(2));
}

TEST_CASE("the revokes of a bounded number of ended groups wait for a member", "[revoke]") {
  virtual_cluster c(2);
  c.serve(probe{});
  std::uint64_t ids = 0;
  // Groups that both nodes hold.
  const auto adopt = [&](std::uint64_t count) {
    std::vector<group<probe>> groups;
    for (; groups.size() < count; ++ids) {
      groups.push_back(c[0].adopt_group<probe>(ids, members_of(0, 1)).value());
      c[1].adopt_group<probe>(ids, members_of(0, 1)).value();
    }
    return groups;
  };
  const auto knows = [&](const group<probe>& g) {
    return c.engine(1).find_group(g.id())->revoked != nullptr;
  };
  const auto told = [&](const std::vector<group<probe>>& groups) {
    return static_cast<std::uint64_t>(std::count_if(groups.begin(), groups.end(), knows));
  };
  const auto first = adopt(most_leaving + 6);
  REQUIRE(c.bcast(first.front(), {}).ok());
  cut(c, 0, 1);
  revoke_and_leave(c, 0, first);
  join(c, 0, 1);
  c.ex.run_for(500ms);
  CHECK(told(first) == most_leaving);
  CHECK(knows(first[most_leaving - 1]));
  CHECK_FALSE(knows(first[most_leaving]));
  // A member that was not told finds nothing where the group has ended.
  const auto asked = c.bcast(c[1].find_group<probe>(first.back().id()).value(), {});
  CHECK(asked.outcome().why(0).what == errc::unknown_group);
  // Those that were told have made room: the revokes of more groups than a link has notices wait again.
  const auto second = adopt(2 * detail::max_notices_of_member);
  cut(c, 0, 1);
  revoke_and_leave(c, 0, second);
  join(c, 0, 1);
  c.ex.run_for(500ms);
  CHECK(told(second) == second.size());
  CHECK(c.quiet());
}

TEST_CASE("a group ends without notices if those about too many groups wait", "[revoke]") {
  const std::uint64_t leaving = GENERATE(most_leaving - 1, most_leaving);
  const bool floods = leaving < most_leaving;
  virtual_cluster c(4);
  c.serve(probe{});
  const auto g = lasting_group(c);
  const auto later = lasting_group(c);
  leave(c, 0, 3, leaving);
  const auto before = notices(c, 0);
  // The members hear of it by the messages of `destroy`.
  REQUIRE(c.run(c[0].destroy(g)));
  c.ex.run_for(1ms);
  CHECK(notices(c, 0) - before == (floods ? 2 : 0));
  for (const std::uint32_t i : {0U, 1U, 2U}) CHECK(c.engine(i).groups() == 1);
  // The member that was waited for is back.
  join(c, 0, 3);
  c.ex.run_for(500ms);
  const auto then = notices(c, 0);
  REQUIRE(c.run(c[0].destroy(later)));
  c.ex.run_for(1ms);
  CHECK(notices(c, 0) - then == 2);
  for (const std::uint32_t i : {0U, 1U, 2U}) CHECK(c.engine(i).groups() == 0);
  CHECK(c.quiet());
}

TEST_CASE("the notice of an end is not passed on if those about too many groups wait", "[revoke]") {
  const std::uint64_t leaving = GENERATE(most_leaving - 1, most_leaving);
  const bool floods = leaving < most_leaving;
  virtual_cluster c(4);
  c.serve(probe{});
  const auto g = lasting_group(c);
  leave(c, 1, 3, leaving);
  cut(c, 0, 2);
  const auto before = notices(c, 1);
  std::optional<status> ended;
  scope work(c.ex);
  work.spawn([](virtual_cluster& on, group<probe> which, std::optional<status>& into) -> task<> {
    const status done = co_await on[0].destroy(which);
    into.emplace(done);
  }(c, g, ended));
  c.ex.run_for(5ms);
  CHECK(notices(c, 1) - before == (floods ? 1 : 0));
  CHECK(c.engine(1).groups() == 0);
  CHECK(c.engine(2).groups() == (floods ? 0 : 1));
  c.run([](scope& s) -> task<> { co_await s.join(); }(work));
  REQUIRE(ended);
  CHECK(ended->error() == errc::incomplete);
  // A member that nobody has told asks the one that has ended the group.
  CHECK(c.engine(2).groups() == (floods ? 0 : 1));
  c.ex.run_for(40s);
  CHECK(c.engine(2).groups() == 0);
  join(c, 0, 2);
  join(c, 1, 3);
  c.ex.run_for(60s);
  CHECK(c.quiet());
}
