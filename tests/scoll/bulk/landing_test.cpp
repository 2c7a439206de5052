#include "scoll/bulk/landing.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/scoll/bulk/trees.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/transport/memory/piece_orders.hpp"

using namespace pieces;
using scoll::detail::bulk_destination;
using scoll::detail::bulk_landing;
using scoll::detail::bulk_landing_events;
using scoll::detail::bulk_routes;
using scoll::test::tree_of;

namespace {

/// One member, which lands the object and serves it.
struct member final : bulk_landing_events, piece_events {
  explicit member(memory_world& w, node_id id) : at(w, options_of(id)), landing(*at.ep, *this) {}

  network::node at;
  std::optional<fenced> place;
  std::span<std::byte> memory;
  std::vector<std::span<std::byte>> parts;
  std::vector<std::uint32_t> ancestors;
  memory_region region;
  bulk_landing landing;
  std::function<void(std::uint32_t)> wanted;
  std::function<void(std::uint32_t)> landed;
  std::vector<std::uint32_t> landings;  // in order
  std::uint32_t ordered_up = 0;
  error failed;

  void on_wanted(std::uint32_t from) noexcept override { wanted(from); }
  void on_landed(std::uint32_t piece) noexcept override {
    landings.push_back(piece);
    if (landed) landed(piece);
  }
  void on_failed(const error& why) noexcept override {
    failed = why;
    if (region.exposed()) region.fail(why);
  }
  void on_ordered(std::uint32_t piece, node_id, bool up) noexcept override {
    ordered_up += up;
    if (up) landing.rise(piece);
  }
};

/// Members that pass an object on by a plan; the first is the root.
class party {
 public:
  party(const bulk_plan& plan, std::uint32_t n, std::uint32_t pieces, const tree_spec& control = knomial{2},
        bool complete = true)
      : plan_(plan),
        object_((std::size_t{pieces} - 1) * piece_bytes + 1000, 7),
        control_(tree_of(control)),
        routes_(plan, n, pieces, control_) {
    for (node_id id = 1; id <= n; ++id) members.emplace_back(w, id);
    for (std::uint32_t a = 0; a < n; ++a) {
      for (std::uint32_t b = a + 1; b < n; ++b) introduce(members[a].at, members[b].at);
    }
    for (std::uint32_t r = 0; r < n; ++r) expose(r, complete);
  }

  memory_world w;
  std::deque<member> members;

  void start() {
    for (std::uint32_t r = 1; r < members.size(); ++r) {
      if (!members[r].failed) start(r);
    }
  }
  /// Gives a member's memory to whoever wants it, unless the member is gone.
  void answer(std::uint32_t by, std::uint32_t from) {
    if (members[from].region.exposed() && !members[from].failed) {
      const auto descriptor = members[from].region.descriptor();
      return members[by].landing.source_ready(from, members[by].at.to(from + 1), descriptor);
    }
    members[by].landing.source_lost(from, {errc::stale_descriptor, "it has no memory"});
  }
  /// Cuts the members' memory into odd spans.
  void cut_places(std::size_t size) {
    for (member& m : members) {
      std::vector<std::span<std::byte>> parts;
      for (auto rest = m.memory; !rest.empty(); rest = rest.subspan(parts.back().size()))
        parts.push_back(rest.first(std::min(size, rest.size())));
      m.parts = std::move(parts);
    }
  }
  /// The member gives nothing more: it withdraws its memory, or says that its part has failed.
  void lose(std::uint32_t r, bool says_so) {
    member& m = members[r];
    m.failed = {errc::cancelled, "it gives up"};
    m.landing.end();
    says_so ? m.region.fail(m.failed) : m.region.unexpose();
  }
  bool holds(std::uint32_t r) { return members[r].place->holds(object_.all()); }
  bool all_end() {
    return w.until([&] {
      for (std::uint32_t r = 1; r < members.size(); ++r) {
        if (members[r].landing.missing() != 0 && !members[r].failed) return false;
      }
      return true;
    });
  }
  /// Returns what is wrong with the members other than `lost`, or nothing.
  std::string fault(const std::set<std::uint32_t>& lost = {}) {
    if (!all_end()) return "a member waits for ever";
    for (std::uint32_t r = 1; r < members.size(); ++r) {
      if (lost.contains(r)) continue;
      if (members[r].failed) return fmt::format("{}: {}", r, members[r].failed.text());
      if (!holds(r)) return fmt::format("{} has other bytes", r);
      if (members[r].landings.size() != object_.count()) return fmt::format("{} has landed a piece twice", r);
    }
    return {};
  }
  /// Lets a member begin once more with nothing, and end at once. Returns what its landing allocates.
  std::size_t begin_again(std::uint32_t r) {
    open(r, false);
    const std::size_t before = allocation_counter::on_this_thread();
    start(r);
    members[r].landing.end();
    return allocation_counter::on_this_thread() - before;
  }
  content& object() { return object_; }
  std::uint32_t went_up() {
    std::uint32_t sum = 0;
    for (member& m : members) sum += m.landing.risen();
    return sum;
  }

 private:
  void expose(std::uint32_t r, bool complete) {
    member& m = members[r];
    if (r != 0) m.place.emplace(object_.all().size());
    m.memory = r == 0 ? object_.all() : m.place->memory();
    m.parts = {m.memory};
    if (!m.wanted) m.wanted = [this, r](std::uint32_t from) { answer(r, from); };
    open(r, complete);
  }
  void open(std::uint32_t r, bool complete) {
    member& m = members[r];
    piece_options options;
    options.piece_bytes = piece_bytes;
    options.complete = r == 0 && complete;
    options.events = &m;
    auto region = memory_region::expose_pieces(*m.at.ep, m.memory, options);
    REQUIRE(region.has_value());
    m.region = std::move(*region);
  }
  void start(std::uint32_t r) {
    member& m = members[r];
    std::vector<std::uint32_t>& ancestors = m.ancestors;
    ancestors.clear();
    const auto n = static_cast<std::uint32_t>(members.size());
    for (std::uint32_t at = r; at != 0; at = ancestors.back()) ancestors.push_back(control_.parent(n, at));
    bulk_destination into;
    into.pieces = *bulk_pieces::divide(object_.all().size(), piece_bytes);
    into.place = m.parts;
    into.region = &m.region;
    into.whole = plan_.kind() == bulk_plan_kind::whole;
    m.landing.begin(into, routes_.intake(r), ancestors);
  }

  bulk_plan plan_;
  content object_;
  any_tree control_;
  bulk_routes routes_;
};

bulk_plan any_plan() {
  return GENERATE(bulk_plan::whole(), bulk_plan::chain(), bulk_plan::binary(), bulk_plan::knomial(3),
                  bulk_plan::circulant());
}

}  // namespace

TEST_CASE("every member lands every piece once, by every plan, and nothing goes up", "[bulk_landing]") {
  const bulk_plan plan = any_plan();
  const auto n = GENERATE(range(2U, 18U));
  const std::uint32_t pieces = GENERATE(1U, 3U, 7U);
  party p(plan, n, pieces);
  p.start();
  INFO(to_string(plan) << ", " << n << " members, " << pieces << " pieces");
  CHECK(p.fault() == "");
  CHECK(p.went_up() == 0);
}

TEST_CASE("when a member gives up after any piece, the others land all the same", "[bulk_landing]") {
  const bulk_plan plan = any_plan();
  const auto n = GENERATE(range(3U, 10U));
  const tree_spec control = GENERATE(tree_spec(knomial{2}), tree_spec(chain{}));
  constexpr std::uint32_t pieces = 5;
  for (std::uint32_t victim = 1; victim < n; ++victim) {
    for (std::uint32_t after = 0; after <= pieces; ++after) {
      const bool says_so = (victim + after) % 2 == 0;
      party p(plan, n, pieces, control);
      if (after == 0) p.lose(victim, says_so);
      p.members[victim].landed = [&, left = after](std::uint32_t) mutable {
        if (--left == 0) p.lose(victim, says_so);
      };
      p.start();
      INFO(to_string(plan) << ", " << n << " members: " << victim << " gives up after " << after);
      REQUIRE(p.fault({victim}) == "");
    }
  }
}

TEST_CASE("members that give up at any time, together, delay nobody else for ever", "[bulk_landing]") {
  const bulk_plan plan = any_plan();
  constexpr std::uint32_t n = 16;
  constexpr std::uint32_t pieces = 9;
  std::uint32_t went_up = 0, heard = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    auto random = [from = std::mt19937(seed)]() mutable { return static_cast<std::uint32_t>(from()); };
    const tree_spec controls[]{knomial{2}, chain{}, kary{3}};
    party p(plan, n, pieces, controls[seed % 3]);
    std::set<std::uint32_t> lost;
    while (lost.size() < 1 + seed % 5) lost.insert(1 + random() % (n - 1));
    for (const std::uint32_t victim : lost) {
      const bool says_so = random() % 2 == 0;
      const std::uint32_t after = random() % pieces;
      if (after == 0) p.lose(victim, says_so);
      p.members[victim].landed = [&p, victim, says_so, left = after](auto) mutable {
        if (--left == 0) p.lose(victim, says_so);
      };
    }
    p.start();
    INFO(to_string(plan) << ", seed " << seed);
    REQUIRE(p.fault(lost) == "");
    went_up += p.went_up();
    for (const member& m : p.members) heard += m.ordered_up;
  }
  CHECK(went_up != 0);
  CHECK((heard != 0 || plan == bulk_plan::whole()));
}

TEST_CASE("a byte that a member alters reaches nobody, and its consumers turn to others", "[bulk_landing]") {
  const bulk_plan plan = any_plan();
  constexpr std::uint32_t n = 7;
  constexpr std::uint32_t pieces = 4;
  for (std::uint32_t bad = 1; bad < n; ++bad) {
    party p(plan, n, pieces);
    p.members[bad].landed = [&](std::uint32_t piece) {
      p.members[bad].memory[piece * piece_bytes] ^= std::byte{1};
    };
    p.start();
    INFO(to_string(plan) << ": " << bad << " alters what it has verified");
    REQUIRE(p.fault({bad}) == "");
    CHECK(p.members[bad].landings.size() == pieces);
  }
}

TEST_CASE("without the root's memory nobody waits, and everybody learns why", "[bulk_landing]") {
  const bulk_plan plan = any_plan();
  constexpr std::uint32_t pieces = 40;
  party p(plan, 9, pieces);
  p.members[1].landed = [&, left = 2](std::uint32_t) mutable {
    if (--left == 0) p.members[0].region.fail({errc::cancelled, "the root gives up"});
  };
  p.start();
  REQUIRE(p.all_end());
  std::uint32_t failed = 0;
  for (std::uint32_t r = 1; r < 9; ++r) {
    const member& m = p.members[r];
    if (!m.failed) {
      CHECK(p.holds(r));
      continue;
    }
    ++failed;
    CHECK_THAT(std::string(m.failed.text()), Catch::Contains(" of 40: "));
    CHECK_FALSE(m.landings.size() == pieces);
  }
  CHECK(failed != 0);
}

TEST_CASE("a member that dies is a lost source", "[bulk_landing]") {
  const bulk_plan plan = any_plan();
  constexpr std::uint32_t n = 9;
  constexpr std::uint32_t pieces = 6;
  for (std::uint32_t victim = 1; victim < n; ++victim) {
    party p(plan, n, pieces);
    bool dying = false;
    p.members[victim].landed = [&, left = 3](std::uint32_t) mutable { dying |= --left == 0; };
    p.start();
    REQUIRE(p.w.until([&] { return dying; }));
    p.lose(victim, false);
    for (std::uint32_t r = 0; r < n; ++r) {
      if (r == victim) continue;
      p.w.net.refuse(victim + 1, r + 1);
      p.w.net.refuse(r + 1, victim + 1);
      p.w.net.cut(victim + 1, r + 1);
    }
    INFO(to_string(plan) << ": " << victim << " dies");
    REQUIRE(p.fault({victim}) == "");
  }
}

TEST_CASE("orders wait in bounded number, however slow the sources", "[bulk_landing]") {
  const bulk_plan plan = GENERATE(bulk_plan::chain(), bulk_plan::circulant());
  constexpr std::uint32_t n = 8;
  constexpr std::uint32_t pieces = 60;
  party p(plan, n, pieces, knomial{2}, false);  // the root has nothing yet
  p.start();
  p.w.pass(100ms);
  for (std::uint32_t r = 0; r < n; ++r) {
    const std::size_t parked = p.members[r].at.ep->memory().pieces().parked();
    CHECK(parked <= bulk_landing::most_orders_to_one * (plan == bulk_plan::chain() ? 1 : 3));
    if (r != 0) CHECK(p.members[r].landings.empty());
  }
  for (std::uint32_t piece = 0; piece < pieces; ++piece)
    p.members[0].region.publish(piece, p.object().checksum(piece));
  CHECK(p.fault() == "");
}

TEST_CASE("orders for 512 KiB are under way, and for two pieces at least", "[bulk_landing]") {
  using sizes = std::pair<std::uint32_t, std::size_t>;
  const auto found =
      GENERATE(sizes{1U << 16U, 7}, sizes{1U << 17U, 4}, sizes{1U << 18U, 2}, sizes{1U << 20U, 2});
  const std::uint32_t size = found.first;
  constexpr std::uint32_t pieces = 16;
  std::vector<bytes> memory(2, bytes(std::size_t{pieces} * size));
  memory_world w;
  std::deque<member> both;
  for (std::size_t i = 0; i < 2; ++i) {
    member& m = both.emplace_back(w, i + 1);
    piece_options options;
    options.piece_bytes = size;
    options.events = &m;
    m.region = memory_region::expose_pieces(*m.at.ep, std::span(memory[i]), options).value();
  }
  introduce(both[0].at, both[1].at);
  const any_tree control = tree_of(chain{});
  const bulk_routes routes(bulk_plan::chain(), 2, pieces, control);
  member& m = both[1];
  m.wanted = [&](std::uint32_t) { m.landing.source_ready(0, m.at.to(1), both[0].region.descriptor()); };
  m.parts = {std::span(memory[1])};
  m.ancestors = {0};
  bulk_destination into;
  into.pieces = bulk_pieces::divide(memory[1].size(), size).value();
  into.place = m.parts;
  into.region = &m.region;
  m.landing.begin(into, routes.intake(1), m.ancestors);
  w.pass(100ms);
  CHECK(both[0].at.ep->memory().pieces().parked() == found.second);
  m.landing.end();
}

TEST_CASE("pieces land in places of odd spans", "[bulk_landing]") {
  party p(any_plan(), 6, 5);
  p.cut_places(GENERATE(1000U, 65'537U, 100'000U));
  p.start();
  CHECK(p.fault() == "");
}

TEST_CASE("members whose memory is found late get it all the same", "[bulk_landing]") {
  const bulk_plan plan = any_plan();
  constexpr std::uint32_t n = 9;
  party p(plan, n, 5);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> asked;
  for (std::uint32_t r = 1; r < n; ++r)
    p.members[r].wanted = [&, r](std::uint32_t from) { asked.emplace_back(r, from); };
  p.start();
  p.w.pass(10ms);
  CHECK_FALSE(asked.empty());
  while (!asked.empty()) {
    const auto [by, from] = asked.back();
    asked.pop_back();
    p.answer(by, from);
    p.w.pass(10us);
  }
  CHECK(p.fault() == "");
}

TEST_CASE("a landing that is used again allocates nothing", "[bulk_landing]") {
  party p(any_plan(), 6, 7);
  p.start();
  REQUIRE(p.fault() == "");
  std::size_t allocated = 0;
  for (int i = 0; i < 4; ++i) {
    p.members[5].landing.end();
    allocated = p.begin_again(5);
    p.w.pass(100ms);
  }
  CHECK(allocated == 0);
}
