#include <array>
#include <list>
#include <optional>
#include <vector>

#include "tests/transport/memory/remotes.hpp"

using namespace transfers;
using scoll::test::fake_verbs_world;

namespace {

constexpr std::size_t piece_bytes = 4096;

struct right final : read_grant {
  void on_granted(std::span<const remote_extent> extents) noexcept override {
    REQUIRE_FALSE(granted);
    granted = true;
    first = extents.front();
    pieces = extents.size();
  }
  void on_ended() noexcept override {
    REQUIRE_FALSE(ended);
    ended = true;
  }

  bool granted = false;
  bool ended = false;
  remote_extent first;
  std::size_t pieces = 0;
};

/// Two nodes by RDMA with a link for bulk data. Node 2 grants rights to a slab of its own, and node 1 reads by them.
template <class World>
struct granting_in {
  explicit granting_in(std::uint32_t windows) {
    w.options.windows = windows;
    nodes.emplace(w);
    fenced some(made(mebibyte, 1));
    const auto region = nodes->exposed(some.memory());
    std::array<std::byte, 1> one;
    REQUIRE(nodes->pull(region.descriptor(), 0, one).has_value());
    from = owner().registrar().outgoing().try_acquire();
    into = reader().registrar().incoming().try_acquire();
    test::fill(from->memory.bytes, std::byte{7});
  }
  ~granting_in() {
    nodes->right->transport().registrar(0)->outgoing().release(*from);  // their link may have ended
    nodes->left->transport().registrar(0)->incoming().release(*into);
  }
  remote_access& owner() { return *nodes->right->to(1).remote(); }
  remote_access& reader() { return *nodes->left->to(2).remote(); }
  registered_piece piece(std::size_t number) const {
    registered_piece p = from->memory;
    p.bytes = p.bytes.subspan(number * piece_bytes, piece_bytes);
    p.remote_address += number * piece_bytes;
    return p;
  }
  void grant(right& to, std::initializer_list<std::size_t> numbers) {
    std::vector<registered_piece> pieces;
    for (const std::size_t each : numbers) pieces.push_back(piece(each));
    owner().grant(to, pieces);
  }
  void grant_now(right& to, std::initializer_list<std::size_t> numbers) {
    grant(to, numbers);
    REQUIRE(w.until([&] { return to.granted; }));
  }
  void end_now(right& which) {
    owner().end(which);
    REQUIRE(w.until([&] { return which.ended; }));
  }
  /// Reads by an extent, `offset` bytes behind its beginning.
  bool reads(const remote_extent& by, std::size_t offset = 0) {
    remote_read what;
    std::optional<status> outcome;
    what.from = {by.address + offset, by.key, piece_bytes};
    what.into = into->memory;
    what.into.bytes = what.into.bytes.first(piece_bytes);
    test::fill(what.into.bytes, std::byte{0});
    what.on_complete([](remote_read&, void* to,
                        const status& s) noexcept { *static_cast<std::optional<status>*>(to) = s; },
                     &outcome);
    reader().read(what);
    REQUIRE(w.until([&] { return outcome.has_value(); }));
    return outcome->has_value() && test::holds_only(what.into.bytes, std::byte{7});
  }
  std::uint64_t bound() { return w.devices.statistics().windows_bound_now; }

  World w;
  std::optional<two> nodes;
  slab* from = nullptr;
  slab* into = nullptr;
};
using granting = granting_in<fake_verbs_world>;

}  // namespace

TEST_CASE("a right reaches its own memory, and with windows no other of the same registration") {
  const std::uint32_t windows = GENERATE(0U, 4U);
  const bool beyond = GENERATE(false, true);
  granting g(windows);
  right r;
  g.grant_now(r, {1});
  CHECK(g.bound() == (windows == 0 ? 0 : 1));
  CHECK(g.reads(r.first));
  const std::size_t offset =
      beyond ? piece_bytes : SIZE_MAX - piece_bytes + 1;  // the piece behind it, or before
  CHECK(g.reads(r.first, offset) == (windows == 0));
  g.w.expect_access_errors(windows == 0 ? 0 : 1);
  if (windows == 0) return g.end_now(r);
  REQUIRE(g.w.until([&] { return r.ended; }));  // with its link
  CHECK(g.bound() == 0);
}

TEST_CASE("a READ that fails keeps its memory until its queue pair is destroyed") {
  const std::uint32_t windows = GENERATE(0U, 4U);
  granting g(windows);
  g.w.devices.set_control_time(3ms);
  right r;
  g.grant_now(r, {0});
  g.w.devices.set_port(2, false, false);  // no event says so
  CHECK_FALSE(g.reads(r.first));
  // The device has written what it had of the answer, late, and the memory is its owner's again.
  test::fill(g.into->memory.bytes, std::byte{9});
  g.w.pass(1s);
  CHECK(test::holds_only(g.into->memory.bytes, std::byte{9}));
  REQUIRE(g.w.until([&] { return r.ended; }));  // with its link
}

TEST_CASE("with windows, a key is of no use when its right has ended") {
  const std::uint32_t windows = GENERATE(0U, 4U);
  granting g(windows);
  right old, next;
  g.grant_now(old, {0, 1});
  CHECK(old.pieces == 2);
  CHECK(g.reads(old.first));
  g.end_now(old);
  CHECK(g.bound() == 0);
  g.grant_now(next, {0});
  CHECK(next.first.address == old.first.address);
  CHECK((next.first.key == old.first.key) == (windows == 0));
  CHECK(g.reads(next.first));
  CHECK(g.reads(old.first) == (windows == 0));
  g.w.expect_access_errors(windows == 0 ? 0 : 1);
  if (windows == 0) g.end_now(next);
}

TEST_CASE("rights wait for windows, in their order") {
  granting g(5);
  std::list<right> rights(4);
  auto of = rights.begin();
  right& first = *of++;
  right& second = *of++;
  right& third = *of++;
  right& fourth = *of++;
  g.grant_now(first, {0, 1, 2});
  g.grant(second, {3, 4, 5});
  g.grant(third, {6});
  g.grant(fourth, {7, 8, 9, 10});
  g.w.pass(1ms);
  CHECK_FALSE(second.granted);
  CHECK_FALSE(third.granted);  // though there would be windows
  g.end_now(first);
  REQUIRE(g.w.until([&] { return second.granted && third.granted; }));
  CHECK(g.bound() == 4);
  CHECK(g.reads(third.first));
  SECTION("one that is not wanted any more gives way") {
    g.end_now(fourth);
    CHECK_FALSE(fourth.granted);
    g.end_now(second);
    g.end_now(third);
  }
  SECTION("the last one is granted when there is room again") {
    g.end_now(third);
    g.w.pass(1ms);
    CHECK_FALSE(fourth.granted);
    g.end_now(second);
    REQUIRE(g.w.until([&] { return fourth.granted; }));
    CHECK(g.reads(fourth.first));
    g.end_now(fourth);
  }
}

TEST_CASE("a right that waits no longer lets those behind it go on") {
  granting g(5);
  right first, second, third;
  g.grant_now(first, {0, 1, 2});
  g.grant(second, {3, 4, 5});
  g.grant(third, {6});
  g.w.pass(1ms);
  CHECK_FALSE(third.granted);
  g.end_now(second);
  REQUIRE(g.w.until([&] { return third.granted; }));
  CHECK_FALSE(second.granted);
  g.end_now(first);
  g.end_now(third);
}

TEST_CASE("a right may end at any moment after it was granted") {
  granting g(4);
  for (int step = 0; step < 40; ++step) {
    right r;
    g.grant(r, {0, 1, 2, 3});
    g.w.pass(step * 100ns);
    const bool granted = r.granted;
    g.end_now(r);
    CHECK(r.granted == granted);
    CHECK(g.bound() == 0);
  }
  right last;
  g.grant_now(last, {0});
  CHECK(g.reads(last.first));
  g.end_now(last);
}

TEST_CASE("a window is bound behind the reads that its own node has posted") {
  granting g(4);
  g.w.net.common_path().model.ps_per_byte = 2000;
  // Node 2 reads from node 1, which has granted it a right.
  right other;
  slab& there = *g.reader().registrar().outgoing().try_acquire();
  slab& here = *g.owner().registrar().incoming().try_acquire();
  std::array<registered_piece, 1> whole{there.memory};
  g.reader().grant(other, whole);
  REQUIRE(g.w.until([&] { return other.granted; }));
  remote_read long_one;
  std::optional<status> outcome;
  long_one.from = other.first;
  long_one.into = here.memory;
  long_one.on_complete(
      [](remote_read&, void* to, const status& s) noexcept { *static_cast<std::optional<status>*>(to) = s; },
      &outcome);
  g.owner().read(long_one);
  right r;
  g.grant(r, {0});
  g.w.pass(20us);
  CHECK_FALSE(outcome.has_value());
  CHECK_FALSE(r.granted);
  REQUIRE(g.w.until([&] { return r.granted; }));
  CHECK(g.reads(r.first));
  REQUIRE(g.w.until([&] { return outcome.has_value(); }));
  CHECK(outcome->has_value());
  g.end_now(r);
  g.reader().end(other);
  REQUIRE(g.w.until([&] { return other.ended; }));
  g.reader().registrar().outgoing().release(there);
  g.owner().registrar().incoming().release(here);
}

TEST_CASE("devices of this machine grant rights by windows", "[.][rxe]") {
  REQUIRE_FALSE(test::rxe_world::devices().empty());
  granting_in<test::rxe_world> g(4);
  remote_extent old;
  for (int i = 0; i < 300; ++i) {  // a key has 8 bits of its window's own
    right r;
    g.grant_now(r, {0, 1});
    CHECK(r.first != old);
    CHECK(g.reads(r.first));
    g.end_now(r);
    old = r.first;
  }
  right next;
  g.grant_now(next, {0});
  CHECK_FALSE(g.reads(old));
  REQUIRE(g.w.until([&] { return next.ended; }));  // with its link
}
