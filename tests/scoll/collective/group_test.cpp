#include <fmt/format.h>

#include <chrono>

#include "probe.hpp"
#include "tests/scoll/collective/trees.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

node_options short_lease() {
  node_options options;
  options.group_lease = 1s;
  return options;
}

std::string short_hex(const membership_digest& digest) {
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) text += fmt::format("{:02x}", std::to_integer<unsigned>(digest[i]));
  return text;
}

/// Reports what its context says about entities.
struct surveyor {
  static constexpr service_id id{0x0401};
  struct request {};
  struct reply {
    sum<std::uint64_t> entities;
    sum<std::uint64_t> low_words;
    sum<std::uint32_t> children;
  };
  std::shared_ptr<std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint64_t>>>> below =
      std::make_shared<std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint64_t>>>>();

  reply execute(const request&, bcast_context& c) {
    reply r;
    r.entities.value = c.entities().size();
    for (const entity& e : c.entities()) r.low_words.value += e.low;
    r.children.value = c.child_count();
    REQUIRE(c.self() == c.members().node(c.rank()));
    REQUIRE(c.root() == c.members().node(c.root_rank()));
    REQUIRE(c.is_root() == (c.self() == c.root()));
    REQUIRE(c.id().root == c.root());
    (*below)[c.rank()].clear();
    for (std::uint32_t i = 0; i < c.child_count(); ++i) {
      (*below)[c.rank()].emplace_back(c.child_subtree_nodes(i), c.child_subtree_entities(i));
    }
    return r;
  }
};

}  // namespace

TEST_CASE("all members hold a group from its creation to its end", "[group][world]") {
  constexpr std::uint32_t n = 9;
  cluster c(any_kind_of_world(), n);
  probe service;
  c.serve(service);
  std::uint64_t counter = 0;
  for (const tree_spec& spec : trees) {
    for (const std::uint32_t root : {0U, 4U, 8U}) {
      INFO(to_string(spec) << " root " << root);
      auto g = c.make_group<probe>(root, spec);
      if (root == 4) {
        REQUIRE(g.id().counter == ++counter);
        REQUIRE(g.id().creator == 5);
        REQUIRE(g.id().incarnation == 1);
      }
      REQUIRE(g.tree() == spec);
      REQUIRE(g.rank() == root);
      REQUIRE(groups_left(c) == n);
      REQUIRE(c.run(c[root].destroy(g)).has_value());
      REQUIRE(groups_left(c) == 0);
      const auto sent = c.engine(root).wire().statistics().requests_sent;
      service.log->clear();
      auto r = c.bcast(g, {});
      REQUIRE(r.status().error() == errc::unknown_group);
      REQUIRE(r.outcome().not_reached().size() == n);
      REQUIRE(c.engine(root).wire().statistics().requests_sent == sent);
      REQUIRE(service.log->executed.empty());
      REQUIRE(c.run(c[root].destroy(g)).error() == errc::unknown_group);
      REQUIRE(c[root].find_group<probe>(g.id()).error() == errc::unknown_group);
    }
  }
  REQUIRE(c.quiet());
}

TEST_CASE("a membership that makes no sense is refused with the reason", "[group]") {
  virtual_cluster c(3);
  c.serve(probe{});
  const auto create = [&](const std::vector<target>& targets, group_options options = {}) {
    auto made = c.run(c[0].create_group<probe>(targets, options));
    return made ? error{} : made.error();
  };
  REQUIRE(create({}) == errc::invalid_argument);
  REQUIRE(create({{1, {}}, {0, {}}}) == errc::invalid_argument);
  REQUIRE(create({{1, {}}, {0, {}}}).text() == "target 1 names node 0, which is not a valid id");
  REQUIRE(create({{1, {}}, {2, {}}, {3, {}}, {2, {}}}) == errc::duplicate_target);
  REQUIRE(create({{1, {}}, {2, {}}, {3, {}}, {2, {}}}).text() == "node 2 is both target 1 and target 3");
  REQUIRE(create({{2, {}}, {3, {}}}) == errc::not_member);
  std::vector<target> many;
  for (node_id id = 1; id <= 3801; ++id) many.push_back({id, {}});
  const error large = create(many, {.membership = inline_only});
  REQUIRE(large == errc::too_large);
  REQUIRE(large.text() == "a creation with 3801 members takes 7608 bytes: at most 7607 fit");
  const error ridden = create(many, {.populate = populate::delayed, .membership = inline_only});
  REQUIRE(ridden.text() == "a creation with 3801 members takes 7608 bytes: at most 3584 fit");
  many = {{1, std::vector<entity>(1'100'000)}};
  REQUIRE(create(many).text() ==
          "a membership of 1 members takes 17600005 bytes: at most 16777216 are pulled");
  REQUIRE(create({{1, {}}}, {.name = "two\nlines"}) == errc::invalid_argument);
  many.clear();
  for (node_id id = 1; id <= max_members + 1; ++id) many.push_back({id, {}});
  const error beyond = create(many);
  REQUIRE(beyond == errc::too_large);
  REQUIRE(beyond.text() == "a group of 1048577 members: at most 1048576 are possible");
  many = {{1, std::vector<entity>(481)}};
  REQUIRE(create(many, {.membership = inline_only}) == errc::too_large);
  const auto sent = c.engine(0).wire().statistics().requests_sent;
  REQUIRE(sent == 0);
  REQUIRE(groups_left(c) == 0);
}

TEST_CASE("one digest stands for one ordered membership", "[group]") {
  const auto digest = [](std::vector<target> targets) {
    return membership::make(std::move(targets)).value()->digest();
  };
  const auto base = digest({{1, {}}, {2, {}}, {3, {}}});
  REQUIRE(base == digest({{1, {}}, {2, {}}, {3, {}}}));
  REQUIRE(base != digest({{2, {}}, {1, {}}, {3, {}}}));
  REQUIRE(base != digest({{1, {}}, {2, {}}}));
  REQUIRE(base != digest({{1, {{0, 1}}}, {2, {}}, {3, {}}}));
  REQUIRE(digest({{1, {{0, 1}}}, {2, {}}}) != digest({{1, {}}, {2, {{0, 1}}}}));
  REQUIRE(digest({{1, {{0, 1}, {0, 2}}}}) != digest({{1, {{0, 2}, {0, 1}}}}));
  const auto m = membership::make({{30, {}}, {10, {}}, {20, {}}}).value();
  REQUIRE(m->rank_of(10) == 1U);
  REQUIRE(m->rank_of(30) == 0U);
  REQUIRE_FALSE(m->rank_of(15).has_value());
}

TEST_CASE("a creation that one member refuses leaves no state anywhere", "[group][world]") {
  const world_kind kind = any_kind_of_world();
  constexpr std::uint32_t n = 9;
  for (const tree_spec& spec : trees) {
    for (std::uint32_t without = 0; without < n; ++without) {
      INFO(to_string(spec) << " without " << without);
      cluster c(kind, n);
      for (std::uint32_t i = 0; i < n; ++i) {
        if (i != without) c[i].serve(probe{}).value();
      }
      auto made = c.try_group<probe>(2, spec);
      REQUIRE_FALSE(made.has_value());
      REQUIRE(made.error() == errc::unknown_service);
      if (without != 2) {
        const tree_view tree(spec, n, 2);
        const std::string text(made.error().text());
        REQUIRE(
            text.starts_with(std::to_string(tree.subtree(without).size()) + " of 9 members did not join: "));
      }
      REQUIRE(groups_left(c) == 0);
      REQUIRE(c.quiet());
    }
  }
}

TEST_CASE("a creation that meets a dead member leaves no state anywhere", "[group]") {
  constexpr std::uint32_t n = 7;
  for (const tree_spec& spec : trees) {
    for (std::uint32_t victim = 1; victim < n; ++victim) {
      for (nanoseconds at{0}; at <= 200us; at += 10us) {
        INFO(to_string(spec) << " victim " << victim << " at " << at.count());
        virtual_cluster c(n, short_lease());
        c.serve(probe{});
        c.make_group<probe>(0, spec);  // so that links are up
        std::optional<errc> failed;
        scope s(c.ex);
        group_options options;
        options.tree = spec;
        const auto create = [&]() -> task<void> {
          auto made = co_await c[0].create_group<probe>(c.targets(), options);
          failed = made ? errc::ok : made.error().code();
        };
        s.spawn(create());
        c.ex.run_for(at);
        c.kill(victim);
        c.run([&]() -> task<void> { co_await s.join(); }());
        REQUIRE(failed.has_value());
        if (*failed == errc::ok) continue;  // it came too late to harm
        for (std::uint32_t i = 0; i < n; ++i) {
          if (i != victim) REQUIRE(c.engine(i).groups() == 1);
        }
        // The creator cannot tell the victim to forget the group. The victim asks, gets no answer, and drops
        // the group.
        c.ex.run_for(10s);
        REQUIRE(c.engine(victim).groups() <= 1);
        REQUIRE(c.engine(victim).operations() == 0);
      }
    }
  }
}

TEST_CASE("a member that misses the end of a failed creation asks when its lease is over", "[group]") {
  for (const bool back : {true, false}) {
    INFO("back " << back);
    virtual_cluster c(3, short_lease());
    c.serve(probe{});
    c.ex.run_now();
    scope s(c.ex);
    std::optional<errc> failed;
    group_options options;
    options.tree = flat{};
    const auto create = [&]() -> task<void> {
      auto made = co_await c[0].create_group<probe>(c.targets(), options);
      failed = made ? errc::ok : made.error().code();
    };
    s.spawn(create());
    while (c.engine(2).groups() == 0) c.ex.run_for(1us);
    c.kill(2);
    c.run([&]() -> task<void> { co_await s.join(); }());
    REQUIRE(failed == errc::connection_lost);
    REQUIRE(c.engine(0).groups() == 0);
    REQUIRE(c.engine(1).groups() == 0);
    REQUIRE(c.engine(2).groups() == 1);
    if (back) {
      c.revive(2);
      c.ex.run_for(2500ms);
    } else {
      c.ex.run_for(6s);
    }
    REQUIRE(c.engine(2).groups() == 0);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a lease that ends during a slow creation does not spoil it", "[group]") {
  virtual_cluster c(3, short_lease());
  c.serve(probe{});
  std::optional<result<group<probe>>> made;
  scope s(c.ex);
  group_options options;
  options.tree = flat{};
  options.deadline = 20s;
  const auto create = [&]() -> task<void> { made = co_await c[0].create_group<probe>(c.targets(), options); };
  REQUIRE(c.run(c[0].destroy(c.make_group<probe>(0, flat{}))).has_value());  // now links are up
  c.network.freeze(2);
  s.spawn(create());
  c.ex.run_for(8s);
  REQUIRE(c.engine(1).groups() == 1);
  SECTION("it succeeds") {
    c.network.thaw(2);
    c.run([&]() -> task<void> { co_await s.join(); }());
    REQUIRE(made->has_value());
    c.ex.run_for(10s);
    REQUIRE(groups_left(c) == 3);
    REQUIRE(c.bcast(**made, {}).ok());
  }
  SECTION("it fails, and nobody can be told") {
    c.kill(1);
    c.ex.run_for(13s);
    c.network.thaw(2);
    c.run([&]() -> task<void> { co_await s.join(); }());
    REQUIRE_FALSE(made->has_value());
    REQUIRE(c.engine(0).groups() == 0);
    c.revive(1);
    c.ex.run_for(10s);
    REQUIRE(groups_left(c) == 0);
  }
}

TEST_CASE("a group that nobody has used ends with its creator", "[group]") {
  for (const bool used : {false, true}) {
    for (const bool reboots : {false, true}) {
      INFO("used " << used << " reboots " << reboots);
      virtual_cluster c(3, short_lease());
      c.serve(probe{});
      auto g = c.make_group<probe>(0, flat{});
      if (used) REQUIRE(c.bcast(g, {}).ok());
      c.kill(0);
      if (reboots) {
        c.reboot(0, 2);
        c.revive(0);
      }
      c.pass(8s);
      const std::size_t left = used && !reboots ? 1 : 0;  // only liveness could tell of a death
      REQUIRE(c.engine(1).groups() == left);
      REQUIRE(c.engine(2).groups() == left);
    }
  }
}

TEST_CASE("a group that a member has used only as root survives a silent creator", "[group]") {
  for (const bool used : {false, true}) {
    INFO("used " << used);
    virtual_cluster c(3, short_lease());
    c.serve(probe{});
    auto g = c.make_group<probe>(0, flat{});
    auto theirs = c[1].find_group<probe>(g.id()).value();
    if (used) REQUIRE(c.bcast(theirs.only({1, 2}), {}).ok());
    c.kill(0);
    c.pass(8s);
    REQUIRE(c.engine(1).groups() == (used ? 1 : 0));
    REQUIRE(c.engine(2).groups() == (used ? 1 : 0));
  }
}

TEST_CASE("a broadcast that only its root has executed does not keep a group", "[group]") {
  for (const bool reaches_another : {false, true}) {
    INFO("reaches another " << reaches_another);
    virtual_cluster c(3, short_lease());
    c.serve(probe{});
    auto g = c.make_group<probe>(0, flat{});
    auto theirs = c[1].find_group<probe>(g.id()).value();
    c.kill(0);
    if (!reaches_another) c.kill(2);
    const auto r = c.bcast(theirs, {});
    REQUIRE(r.outcome().state(1) == member_state::merged);
    REQUIRE((r.outcome().state(2) == member_state::merged) == reaches_another);
    c.pass(8s);
    REQUIRE(c.engine(1).groups() == (reaches_another ? 1 : 0));
  }
}

TEST_CASE("members that the end of a group has missed find it out by themselves", "[group]") {
  virtual_cluster c(4, short_lease());
  c.serve(probe{});
  auto g = c.make_group<probe>(0, flat{});
  auto other = c.make_group<probe>(0, flat{});
  REQUIRE(c.bcast(g, {}).ok());
  REQUIRE(c.bcast(other, {}).ok());
  c.engine(0).leave_telling_to_sweeps();
  c.kill(2);
  REQUIRE(c.run(c[0].destroy(g)).error() == errc::incomplete);
  REQUIRE(c[0].snapshot().groups_ending == 0);
  REQUIRE(c.engine(2).groups() == 2);
  c.revive(2);
  c.pass(2500ms);  // two leases and the answer
  REQUIRE(c.engine(2).groups() == 1);
  REQUIRE(groups_left(c) == 4);
  REQUIRE(c.bcast(other, {}).ok());
}

TEST_CASE("one question that is lost ends no group", "[group]") {
  virtual_cluster c(3, short_lease());
  c.serve(probe{});
  auto g = c.make_group<probe>(0, flat{});
  c.kill(1);
  c.pass(1500ms);
  c.revive(1);
  c.pass(10s);
  REQUIRE(groups_left(c) == 3);
  REQUIRE(c.bcast(g, {}).ok());
}

TEST_CASE("a member asks the creator to end a group, which tells the others", "[group][world]") {
  const world_kind kind = any_kind_of_world();
  for (const tree_spec& spec : trees) {
    INFO(to_string(spec));
    cluster c(kind, 7);
    c.serve(probe{});
    auto g = c.make_group<probe>(0, spec);
    REQUIRE(c.bcast(g, {}).ok());
    const auto theirs = c[3].find_group<probe>(g.id()).value();
    REQUIRE(c.run(c[3].destroy(theirs)).has_value());
    REQUIRE(groups_left(c) == 0);
    REQUIRE(c.bcast(theirs, {}).status().error() == errc::unknown_group);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a member that cannot reach the creator tells the others itself", "[group]") {
  node_options unasked;
  unasked.group_lease = 1h;
  virtual_cluster c(4, unasked);
  c.serve(probe{});
  auto g = c.make_group<probe>(0, flat{});
  REQUIRE(c.bcast(g, {}).ok());
  const auto theirs = c[3].find_group<probe>(g.id()).value();
  c.kill(0);
  REQUIRE(c.run(c[3].destroy(theirs)).error() == errc::incomplete);
  for (std::uint32_t i = 1; i < 4; ++i) REQUIRE(c.engine(i).groups() == 0);
  REQUIRE(c[3].snapshot().groups_ending == 1);
  c.revive(0);
  c.pass(12s);
  REQUIRE(groups_left(c) == 0);
  REQUIRE(c[3].snapshot().groups_ending == 0);
}

TEST_CASE("a lease ends quietly for a group that is there to stay", "[group]") {
  virtual_cluster c(3, short_lease());
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, flat{});
  c.pass(20s);
  REQUIRE(groups_left(c) == 3);
  REQUIRE(c.bcast(g, {}).ok());
  REQUIRE(c.quiet());
}

TEST_CASE("destroying a group tells those below a dead member too", "[group][world]") {
  cluster c(any_kind_of_world({fault::part}), 7);
  c.serve(probe{});
  auto g = c.make_group<probe>(0, kary{2});
  c.kill(1);
  const status destroyed = c.run(c[0].destroy(g));
  REQUIRE(destroyed.error() == errc::incomplete);
  for (const std::uint32_t i : {0U, 2U, 3U, 4U, 5U, 6U}) {
    INFO(i);
    REQUIRE(c.engine(i).groups() == 0);
  }
}

TEST_CASE("any member can be root of a group it holds", "[group][world]") {
  const world_kind kind = any_kind_of_world();
  constexpr std::uint32_t n = 8;
  for (const tree_spec& spec : trees) {
    cluster c(kind, n);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(3, spec);
    for (std::uint32_t root = 0; root < n; ++root) {
      auto mine = c[root].find_group<probe>(g.id()).value();
      REQUIRE(mine.rank() == root);
      REQUIRE(mine.members().digest() == g.members().digest());
      service.log->clear();
      auto r = c.bcast(mine, {2});
      check_account(r, *service.log, n, 2);
      REQUIRE(r.ok());
    }
    REQUIRE(c.quiet());
  }
}

TEST_CASE("many broadcasts from all members at once do not mix", "[group]") {
  constexpr std::uint32_t n = 6;
  constexpr std::uint32_t each = 60;
  for (const tree_spec& spec :
       {tree_spec(kary{2}), tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(flat{})}) {
    virtual_cluster c(n);
    probe service;
    service.log->usual = 20us;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    std::vector<std::unique_ptr<flight<probe>>> flights;
    std::vector<std::uint64_t> factors;
    for (std::uint32_t k = 0; k < each; ++k) {
      for (std::uint32_t root = 0; root < n; ++root) {
        factors.push_back(k * n + root + 1);
        auto mine = c[root].find_group<probe>(g.id()).value();
        flights.push_back(std::make_unique<flight<probe>>(c, mine, probe::request{factors.back()}));
      }
    }
    for (std::size_t i = 0; i < flights.size(); ++i) {
      auto& r = flights[i]->land();
      INFO(to_string(spec) << " flight " << i << ": " << describe(r.outcome()));
      REQUIRE(r.ok());
      REQUIRE(r->total.value == factors[i] * triangle(n));
      REQUIRE(r->members.value == n);
      REQUIRE(flights[i]->took() < 1s);
    }
    flights.clear();
    for (std::uint32_t rank = 0; rank < n; ++rank)
      REQUIRE(service.log->executed[rank] == static_cast<int>(each * n));
    REQUIRE(c.quiet());
  }
}

TEST_CASE("entities travel with the membership, and subtrees know theirs", "[group][world]") {
  constexpr std::uint32_t n = 11;
  cluster c(any_kind_of_world(), n);
  surveyor service;
  c.serve(service);
  std::vector<target> targets = c.targets();
  std::uint64_t entities = 0;
  std::uint64_t low_words = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t e = 0; e < i % 4; ++e) {
      targets[i].entities.push_back({~std::uint64_t{0}, 100 * i + e});
      ++entities;
      low_words += 100 * i + e;
    }
  }
  for (const tree_spec& spec : trees) {
    group_options options;
    options.tree = spec;
    auto g = c.run(c[5].create_group<surveyor>(targets, options)).value();
    const tree_view tree(spec, n, 5);
    auto r = c.bcast(g, {});
    REQUIRE(r.ok());
    REQUIRE(r->entities.value == entities);
    REQUIRE(r->low_words.value == low_words);
    REQUIRE(r->children.value == n - 1);
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      const auto children = tree.children(rank);
      const auto& below = (*service.below)[rank];
      REQUIRE(below.size() == children.size());
      for (std::size_t i = 0; i < children.size(); ++i) {
        const auto subtree = tree.subtree(children[i]);
        std::uint64_t sum = 0;
        for (const std::uint32_t member : subtree) sum += targets[member].entities.size();
        REQUIRE(below[i].first == subtree.size());
        REQUIRE(below[i].second == sum);
      }
    }
    REQUIRE(c.run(c[5].destroy(g)).has_value());
  }
  REQUIRE(groups_left(c) == 0);
}

TEST_CASE("an out-of-band group needs no message, and any member can be root", "[group][world]") {
  constexpr std::uint32_t n = 12;
  cluster c(any_kind_of_world(), n);
  probe service;
  c.serve(service);
  const membership_ptr members = membership::make(c.targets()).value();
  std::vector<group<probe>> held;
  for (std::uint32_t i = 0; i < n; ++i) {
    group_options options;
    options.tree = knomial{3};
    held.push_back(c[i].adopt_group<probe>(77, members, options).value());
    REQUIRE(held.back().rank() == i);
    REQUIRE(held.back().id() == held.front().id());
  }
  REQUIRE(c.engine(0).wire().statistics().frames_sent == 0);
  for (const std::uint32_t root : {0U, 5U, n - 1}) {
    const auto r = c.bcast(held[root], probe::request{});
    REQUIRE(r.ok());
    REQUIRE(r.outcome().clean());
  }
  REQUIRE(c[3].adopt_group<probe>(77, members).error() == errc::already_exists);
  REQUIRE(c.run(c[3].destroy(held[3])));
  REQUIRE(groups_left(c) == n - 1);
  REQUIRE(c[3].adopt_group<probe>(77, members).has_value());
}

TEST_CASE("who holds another membership, or none, says so", "[group][world]") {
  constexpr std::uint32_t n = 4;
  cluster c(any_kind_of_world(), n);
  probe service;
  c.serve(service);
  std::vector<target> targets = c.targets();
  const membership_ptr all = membership::make(targets).value();
  std::swap(targets[2], targets[3]);
  const membership_ptr other = membership::make(targets).value();
  group_options options;
  options.tree = flat{};
  const auto held = c[0].adopt_group<probe>(1, all, options).value();
  REQUIRE(c[1].adopt_group<probe>(1, all, options));
  REQUIRE(c[2].adopt_group<probe>(1, other, options));
  REQUIRE(c[3].adopt_group<probe>(2, all, options));
  const auto r = c.bcast(held, probe::request{});
  REQUIRE_FALSE(r.ok());
  REQUIRE(r.outcome().state(1) == member_state::merged);
  REQUIRE(r.outcome().state(2) == member_state::failed);
  REQUIRE(r.outcome().why(2).what == errc::membership_changed);
  REQUIRE(r.outcome().why(2).what.text() ==
          "membership differs: here " + short_hex(other->digest()) + ", root " + short_hex(all->digest()));
  REQUIRE(r.outcome().state(3) == member_state::failed);
  REQUIRE(r.outcome().why(3).what == errc::unknown_group);

  targets.pop_back();
  targets.pop_back();
  REQUIRE(c[3].adopt_group<probe>(3, membership::make(targets).value()).error() == errc::not_member);
  REQUIRE(c[3].adopt_group<surveyor>(3, all).error() == errc::unknown_service);
}
