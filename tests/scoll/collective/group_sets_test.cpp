#include "probe.hpp"

using namespace scoll;
using namespace scoll::test;

namespace {

group<probe> group_of(cluster& c, std::uint64_t id, const std::vector<node_id>& nodes) {
  std::vector<target> targets;
  targets.reserve(nodes.size());
  for (const node_id node : nodes) targets.push_back({node, {}});
  const membership_ptr members = membership::make(std::move(targets)).value();
  std::optional<group<probe>> at_first;
  for (std::uint32_t i = 0; i < c.size(); ++i) {
    if (!members->rank_of(i + 1)) continue;
    auto held = c[i].adopt_group<probe>(id, members).value();
    if (i == 0) at_first = held;
  }
  return *at_first;
}

std::vector<node_id> nodes_of(const group<probe>& g) {
  std::vector<node_id> nodes;
  g.addressed().for_each([&](std::uint32_t rank) { nodes.push_back(g.members().node(rank)); });
  return nodes;
}

}  // namespace

TEST_CASE("groups meet by the nodes that they address", "[sets][world]") {
  cluster c(any_kind_of_world(), 7);
  probe service;
  c.serve(service);
  const auto a = group_of(c, 1, {1, 2, 3, 4, 5});
  const auto b = group_of(c, 2, {6, 5, 1, 3});
  CHECK(nodes_of(a & b) == std::vector<node_id>{1, 3, 5});
  CHECK(nodes_of(b & a) == std::vector<node_id>{5, 1, 3});
  CHECK(nodes_of(a - b) == std::vector<node_id>{2, 4});
  CHECK(nodes_of(b - a) == std::vector<node_id>{6});
  CHECK(nodes_of(a & a) == nodes_of(a));
  CHECK(nodes_of(a - a).empty());
  CHECK((a & b).id() == a.id());
  CHECK(nodes_of(a.only({0, 1, 2}) & b) == std::vector<node_id>{1, 3});
  CHECK(nodes_of(a & b.except({1})) == std::vector<node_id>{1, 3});
  CHECK(nodes_of(a - a.only({0, 4})) == std::vector<node_id>{2, 3, 4});
  const auto sent = c.engine(0).wire().statistics().requests_sent;
  CHECK(sent == 0);
  const auto r = c.bcast(a & b, {});
  CHECK(r.ok());
  CHECK(r->members.value == 3);
  CHECK(service.log->executed[1] == 0);
  CHECK(c.bcast(a - b, {}).error() == errc::not_member);  // this node is in b
  CHECK(c.bcast(a - a, {}).error() == errc::invalid_argument);
  CHECK(c.bcast(a & group<probe>(), {}).error() == errc::invalid_argument);
  CHECK_FALSE((group<probe>() & a).valid());
}

TEST_CASE("memberships unite in the order of the first, and so do the entities of a node", "[sets]") {
  const auto a = membership::make({{3, {{0, 1}, {0, 2}}}, {1, {}}, {4, {{9, 9}}}}).value();
  const auto b =
      membership::make({{2, {{5, 5}}}, {3, {{0, 2}, {0, 3}, {0, 1}, {0, 4}}}, {1, {{7, 7}}}}).value();
  const std::vector<target> both = unite(*a, *b);
  REQUIRE(both.size() == 4);
  CHECK(both[0].node == 3);
  CHECK(both[0].entities == std::vector<entity>{{0, 1}, {0, 2}, {0, 3}, {0, 4}});
  CHECK(both[1].node == 1);
  CHECK(both[1].entities == std::vector<entity>{{7, 7}});
  CHECK(both[2].node == 4);
  CHECK(both[2].entities == std::vector<entity>{{9, 9}});
  CHECK(both[3].node == 2);
  CHECK(both[3].entities == std::vector<entity>{{5, 5}});
  CHECK(membership::make(unite(*a, *a)).value()->digest() == a->digest());
  CHECK(unite(*membership::none(), *b).size() == 3);
}
