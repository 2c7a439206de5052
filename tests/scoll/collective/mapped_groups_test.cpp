#include "scoll/collective/mapped_groups.hpp"

#include "scoll/collective/kept_windows.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::detail;

namespace {

constexpr service_id service{0x300};

membership_ptr nodes(const std::vector<node_id>& ids) {
  std::vector<target> targets;
  targets.reserve(ids.size());
  for (const node_id id : ids) targets.push_back({id, {}});
  return membership::make(std::move(targets)).value();
}

void admit(group_state& group, std::uint32_t root, std::uint64_t counter) {
  group.windows.push_back({root, 1});
  REQUIRE(group.windows.back().window.admit(counter));
}

struct tables {
  group_table table{1};
  kept_windows windows;
  mapped_groups mapped{table, windows, 3};
};

}  // namespace

TEST_CASE("windows are kept by id while the group is not held", "[mapper]") {
  kept_windows kept(10);
  group_state a;
  a.id = out_of_band_group(service, 1, {});
  a.next_counter = 5;
  admit(a, 0, 7);
  admit(a, 3, 9);
  kept.keep(a);
  CHECK(kept.size() == 2);
  group_state other;
  other.id = out_of_band_group(service, 2, {});
  kept.give_back(other);
  CHECK(other.windows.empty());
  CHECK_FALSE(other.window_gap);
  CHECK(other.next_counter == 5);  // no counter is used twice
  group_state again;
  again.id = a.id;
  kept.give_back(again);
  REQUIRE(again.windows.size() == 2);
  CHECK_FALSE(again.windows[0].window.admit(7));
  CHECK_FALSE(again.windows[1].window.admit(9));
  CHECK(again.windows[1].window.admit(10));
  CHECK(again.next_counter == 5);
  CHECK_FALSE(again.window_gap);
  CHECK(kept.size() == 0);
}

TEST_CASE("a group that comes back shares the operations that still run with its earlier state", "[mapper]") {
  kept_windows kept(10);
  group_state before;
  before.id = out_of_band_group(service, 1, {});
  rooted_operation runs;
  before.enter(runs);
  kept.keep(before);
  CHECK(kept.size() == 1);
  group_state after;
  after.id = before.id;
  kept.give_back(after);
  rooted_operation next;
  after.enter(next);
  CHECK(next.counter == runs.counter + 1);
  CHECK(after.watermark() == runs.counter);
  runs.unlink();
  CHECK(after.watermark() == next.counter);
}

TEST_CASE("windows that are given up leave a mark on every group that comes", "[mapper]") {
  kept_windows kept(3);
  for (std::uint64_t id = 1; id <= 4; ++id) {
    group_state g;
    g.id = out_of_band_group(service, id, {});
    admit(g, 0, id);
    kept.keep(g);
    CHECK(kept.size() == std::min<std::size_t>(id, 3));
  }
  group_state first, last;
  first.id = out_of_band_group(service, 1, {});
  kept.give_back(first);
  CHECK(first.windows.empty());
  CHECK(first.window_gap);
  last.id = out_of_band_group(service, 4, {});
  kept.give_back(last);
  CHECK(last.windows.size() == 1);
  CHECK_FALSE(last.window_gap);
  group_state large;
  large.id = out_of_band_group(service, 9, {});
  for (std::uint32_t root = 0; root < 5; ++root) admit(large, root, 1);
  kept.keep(large);
  CHECK(kept.size() == 0);  // it is larger than the table
}

TEST_CASE("the group that was not used for longest makes room", "[mapper]") {
  tables t;
  for (std::uint64_t id = 1; id <= 3; ++id)
    REQUIRE(t.mapped.hold(nodes({1, 2}), service, id, flat{}).has_value());
  t.mapped.use(*t.table.out_of_band(out_of_band_group(service, 1, {})));
  REQUIRE(t.mapped.hold(nodes({1, 2}), service, 4, flat{}).has_value());
  CHECK(t.mapped.size() == 3);
  CHECK(t.table.out_of_band(out_of_band_group(service, 2, {})) == nullptr);
  CHECK(t.table.out_of_band(out_of_band_group(service, 1, {})) != nullptr);
}

TEST_CASE("a group in use makes no room, and an adopted one does not count", "[mapper]") {
  tables t;
  REQUIRE(t.table.adopt(nodes({1, 2}), service, 50, flat{}).has_value());
  std::vector<std::shared_ptr<group_state>> used;
  for (std::uint64_t id = 1; id <= 3; ++id)
    used.push_back(t.mapped.hold(nodes({1, 2}), service, id, flat{}).value());
  const auto full = t.mapped.hold(nodes({1, 2}), service, 4, flat{});
  CHECK(full.error() == errc::busy);
  CHECK(full.error().text() == "3 out-of-band groups are in use here, and no more are held");
  used.erase(used.begin() + 1);
  CHECK(t.mapped.hold(nodes({1, 2}), service, 4, flat{}).has_value());
  CHECK(t.table.out_of_band(out_of_band_group(service, 2, {})) == nullptr);
  CHECK(t.table.size() == 4);
}

TEST_CASE("other members take the place of those that were named before", "[mapper]") {
  tables t;
  const auto before = t.mapped.hold(nodes({1, 2}), service, 1, flat{}).value();
  admit(*before, 1, 3);
  before->next_counter = 8;
  CHECK(t.mapped.hold(nodes({1, 2}), service, 1, flat{}).value() == before);
  const auto after = t.mapped.hold(nodes({1, 3}), service, 1, flat{}).value();
  CHECK(before->replaced);
  CHECK(before->forgotten);
  CHECK(after->windows.empty());
  CHECK(after->next_counter == 8);
  CHECK(t.mapped.size() == 1);
  const auto back = t.mapped.hold(nodes({1, 2}), service, 1, flat{}).value();
  CHECK(back != before);
  REQUIRE(back->windows.size() == 1);
  CHECK_FALSE(back->windows[0].window.admit(3));
  CHECK(t.mapped.hold(nodes({2, 3}), service, 1, flat{}).error() == errc::not_member);
}

TEST_CASE("creations have to wait while as many ended groups of their creator may still arrive", "[mapper]") {
  group_table table{1};
  constexpr node_id creator = 7;
  const auto group_of = [](std::uint64_t counter) { return group_id{creator, 3, counter, {}}; };
  const group_ending destroyed{group_fate::destroyed, creator, 0};
  for (std::uint64_t counter = 1; counter <= max_tombstones_of_life; ++counter) {
    REQUIRE_FALSE(table.why_no_creation(group_of(5000)));
    REQUIRE(table.bury(group_of(counter), lifetime::creator, destroyed));
  }
  CHECK(table.why_no_creation(group_of(5000)) == errc::busy);
  CHECK_FALSE(table.why_no_creation({creator + 1, 3, 5000, {}}));
}
