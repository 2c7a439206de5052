#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include "rail_nodes.hpp"
#include "tests/transport/memory/transfers.hpp"

// Bulk data by several paths of a peer at once: how fast, and what becomes of them when a path fails.
using namespace transfers;

namespace {

constexpr std::size_t one_mebibyte = 1U << 20U;
constexpr std::uint64_t ps_per_byte_of_200_mbit = 40'000;
constexpr std::uint64_t ps_per_byte_of_50_mbit = 160'000;

/// Nodes 1 and 2 with rails of these speeds. The rails are networks of their own.
struct paced_pair {
  explicit paced_pair(const std::vector<std::uint64_t>& ps_per_byte) : w(ps_per_byte.size(), 4096) {
    for (std::size_t rail = 0; rail < w.rails; ++rail) {
      for (std::size_t theirs = 0; theirs < w.rails; ++theirs) {
        for (const node_id from : {node_id{1}, node_id{2}}) {
          w.net.path(rails_world::place(from, rail), rails_world::place(3 - from, theirs)).model.ps_per_byte =
              ps_per_byte[rail];
        }
      }
    }
    w.refuse_crossed(1, 2);
    p.emplace(w);
    for (rail_node* n : {&p->left, &p->right}) n->ep->route(traffic_class::bulk, n->ep->memory());
    p->exchange_calls();
    w.pass(50ms);  // a connection stands by
  }

  started<status> begin_pull(const region_descriptor& from, std::span<std::byte> into) {
    return {w.ex(), transport::pull(*p->left.ep, from, 0, into)};
  }
  started<push_status> begin_push(const region_descriptor& to, std::span<const std::byte> from) {
    return {w.ex(), transport::push(*p->left.ep, to, 0, from)};
  }
  memory_region exposed(std::span<std::byte> memory) {
    auto region = memory_region::expose(*p->right.ep, memory, memory_access::read_write);
    REQUIRE(region.has_value());
    return std::move(*region);
  }
  /// The time that a pull and then a push take.
  std::pair<nanoseconds, nanoseconds> times(std::size_t size) {
    fenced there(made(size, 1));
    fenced here(size);
    const auto region = exposed(there.memory());
    const time_point began = w.clock.now();
    const auto pulled = begin_pull(region.descriptor(), here.memory());
    REQUIRE(w.until([&] { return pulled.done(); }, 60s));
    CHECK(pulled->has_value());
    CHECK(here.holds(there.memory()));
    const time_point between = w.clock.now();
    fenced other(made(size, 2));
    const auto pushed = begin_push(region.descriptor(), other.memory());
    REQUIRE(w.until([&] { return pushed.done(); }, 60s));
    CHECK(pushed->has_value());
    CHECK(there.holds(other.memory()));
    return {between - began, w.clock.now() - between};
  }
  bool bulk_by(std::uint8_t rail) {
    return p->left.to(2).connected_by(traffic_class::bulk, {rail, rail}) &&
           p->right.to(1).connected_by(traffic_class::bulk, {rail, rail});
  }
  bool quiet() {
    return w.until([&] { return p->left.ep->messages_in_use() == 0 && p->right.ep->messages_in_use() == 0; });
  }

  rails_world w;
  std::optional<rail_pair> p;
};

double ratio(nanoseconds slow, nanoseconds fast) {
  return static_cast<double>(slow.count()) / static_cast<double>(fast.count());
}

}  // namespace

TEST_CASE("two rails of equal speed carry bulk data nearly twice as fast as one") {
  paced_pair one({ps_per_byte_of_200_mbit});
  paced_pair both({ps_per_byte_of_200_mbit, ps_per_byte_of_200_mbit});
  const auto alone = one.times(32 * one_mebibyte);
  const auto together = both.times(32 * one_mebibyte);
  CHECK(both.bulk_by(0));
  CHECK(both.bulk_by(1));
  CHECK(ratio(alone.first, together.first) >= 1.9);
  CHECK(ratio(alone.second, together.second) >= 1.9);
  CHECK(both.p->right.counts().replays + both.p->left.counts().replays == 0);
  CHECK(both.p->right.counts().stripe_most <= 14);
  CHECK(both.p->left.counts().stripe_most <= 14);
  CHECK(both.quiet());
  both.p->check_clean();
}

TEST_CASE("a slow rail adds to a fast one") {
  const bool slow_first = GENERATE(false, true);
  paced_pair one({ps_per_byte_of_200_mbit});
  paced_pair both(slow_first ? std::vector{ps_per_byte_of_50_mbit, ps_per_byte_of_200_mbit}
                             : std::vector{ps_per_byte_of_200_mbit, ps_per_byte_of_50_mbit});
  const auto alone = one.times(32 * one_mebibyte);
  const auto together = both.times(32 * one_mebibyte);
  CHECK(ratio(alone.first, together.first) >= 1.2);
  CHECK(ratio(alone.second, together.second) >= 1.2);
  CHECK(both.quiet());
  both.p->check_clean();
}

TEST_CASE("with one rail bulk data have one connection") {
  paced_pair one({ps_per_byte_of_200_mbit});
  one.times(8 * one_mebibyte);
  CHECK(one.p->left.counts().stripes_joined == 0);
  CHECK(one.p->left.open() == 2);
}

TEST_CASE("a rail that falls silent in the middle of bulk data costs no error and a short stall") {
  const std::size_t rail = GENERATE(0U, 1U);
  const bool push = GENERATE(false, true);
  const nanoseconds lasts = GENERATE(nanoseconds(80ms), nanoseconds(400ms), nanoseconds(3s));
  INFO("rail " << rail << (push ? ", push, " : ", pull, ") << lasts / 1ms << " ms");
  constexpr std::size_t size = 8 * one_mebibyte;
  paced_pair t({ps_per_byte_of_200_mbit, ps_per_byte_of_200_mbit});
  t.times(4 * one_mebibyte);
  REQUIRE(t.bulk_by(0));
  REQUIRE(t.bulk_by(1));
  fenced there(made(size, 3));
  fenced here(push ? made(size, 4) : bytes(size));
  const auto region = t.exposed(there.memory());
  std::optional<started<status>> pulled;
  std::optional<started<push_status>> pushed;
  const time_point began = t.w.clock.now();
  push ? static_cast<void>(pushed.emplace(t.begin_push(region.descriptor(), here.memory())))
       : static_cast<void>(pulled.emplace(t.begin_pull(region.descriptor(), here.memory())));
  t.w.pass(70ms);
  t.w.block(1, rail, t.w.now() + lasts);
  const auto done = [&] { return push ? pushed->done() : pulled->done(); };
  REQUIRE(t.w.until(done, 30s));
  CHECK((push ? status(*std::as_const(*pushed)).has_value() : (*pulled)->has_value()));
  // Alone a rail needs 336 ms; detection and what was under way come on top.
  CHECK(t.w.clock.now() - began <= 750ms);
  CHECK(here.holds(there.memory()));
  // What comes late changes nothing, whatever the memory is used for now.
  const bytes now = made(size, 5);
  std::copy(now.begin(), now.end(), here.memory().begin());
  std::copy(now.begin(), now.end(), there.memory().begin());
  t.w.pass(lasts + 2s);
  CHECK(here.holds(now));
  CHECK(there.holds(now));
  CHECK(t.quiet());
  t.p->check_clean();
}

TEST_CASE("a peer that stands still in the middle of bulk data loses no path") {
  constexpr std::size_t size = 4 * one_mebibyte;
  paced_pair t({ps_per_byte_of_50_mbit, ps_per_byte_of_50_mbit});
  t.times(size);
  fenced there(made(size, 3)), other(size);
  std::deque<fenced> into;
  for (int i = 0; i < 3; ++i) into.emplace_back(size);
  const auto source = t.exposed(there.memory()), target = t.exposed(other.memory());
  for (nanoseconds after = 200ms; after <= 300ms; after += 1ms) {
    INFO("it stands still after " << after / 1ms << " ms");
    std::deque<started<status>> pulled;  // so many that answers to probes are late
    for (fenced& memory : into) pulled.push_back(t.begin_pull(source.descriptor(), memory.memory()));
    const auto pushed = t.begin_push(target.descriptor(), there.memory());
    t.w.pass(after);
    for (const std::size_t rail : {0U, 1U}) t.w.net.freeze(rails_world::place(2, rail));
    t.w.pass(400ms);
    for (const std::size_t rail : {0U, 1U}) t.w.net.thaw(rails_world::place(2, rail));
    const auto done = [](const auto& transfer) { return transfer.done(); };
    REQUIRE(t.w.until([&] { return std::ranges::all_of(pulled, done) && pushed.done(); }, 30s));
    for (rail_node* n : {&t.p->left, &t.p->right}) {
      REQUIRE(n->counts().path_moves == 0);
      REQUIRE(n->counts().path_suspicions == 0);
    }
  }
  t.p->check_clean();
}

TEST_CASE("a rail that is back carries bulk data again") {
  paced_pair t({ps_per_byte_of_200_mbit, ps_per_byte_of_200_mbit});
  t.times(4 * one_mebibyte);
  t.w.block(1, 1, t.w.now() + 3s);
  const time_point until = t.w.clock.now() + 3s;
  while (t.w.clock.now() < until) t.times(one_mebibyte);
  const auto gone = t.times(8 * one_mebibyte);
  for (int i = 0; i < 20 && !t.bulk_by(1); ++i) {
    t.p->traffic(100ms);
    t.times(4 * one_mebibyte);
  }
  CHECK(t.bulk_by(1));
  CHECK(ratio(gone.first, t.times(8 * one_mebibyte).first) >= 1.6);
  t.p->check_clean();
}
