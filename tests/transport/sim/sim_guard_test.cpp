#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "transport/sim/sim_security.hpp"

using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;

namespace {

using bytes = std::vector<std::byte>;

sim_ring ring_of(std::initializer_list<std::uint32_t> ids) {
  sim_ring ring;
  for (const std::uint32_t id : ids) ring.push_back({id, id * 0x9e3779b97f4a7c15});
  return ring;
}

/// The security of a node, and what its guards have seen.
struct side {
  explicit side(sim_ring ring, const sim_handshake& form = {}, std::uint64_t seed = 1)
      : security(form, std::move(ring), seed, counts) {}

  std::shared_ptr<sim_guard_counts> counts = std::make_shared<sim_guard_counts>();
  sim_security security;
};

/// Two guards that greet each other. `alter` sees each step.
struct greeting {
  greeting(side& from, side& to) {
    said.lane = 1;
    connecting = from.security.connect(said).value();
    auto made = to.security.accept(said);
    outcome = made ? status() : status(made.error());
    if (made) accepting = std::move(*made);
  }

  template <class Alter>
  greeting& run(Alter alter) {
    while (outcome && !(connecting->unsent().empty() && accepting->unsent().empty())) {
      if (!connecting->unsent().empty()) pass(*connecting, *accepting, alter);
      if (outcome && !accepting->unsent().empty()) pass(*accepting, *connecting, alter);
    }
    return *this;
  }
  greeting& run() {
    return run([](bytes&) {});
  }
  bool proven() const { return outcome && connecting->proven() && accepting->proven(); }

  hello said;
  std::unique_ptr<link_guard> connecting, accepting;
  status outcome;
  std::size_t steps = 0;

 private:
  template <class Alter>
  void pass(link_guard& by, link_guard& at, Alter& alter) {
    bytes all(by.unsent().begin(), by.unsent().end());
    by.forget_unsent();
    alter(all);
    std::span<const std::byte> left = all;
    while (outcome && !left.empty()) {
      const auto step = left.first(std::min(left.size(), link_guard::most_step_bytes));
      left = left.subspan(step.size());
      outcome = at.take_step(step);
      ++steps;
    }
  }
};

bytes counted_up(std::size_t size) {
  bytes all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<std::byte>(i * 31 + (i >> 8U));
  return all;
}

bytes sealed(link_guard& by, const bytes& plain) {
  bytes into(plain.size() + link_guard::overhead);
  into.resize(by.seal(plain, into));
  return into;
}

/// Opens what arrives in pieces of `chunk` bytes.
result<bytes> opened(link_guard& by, std::span<const std::byte> from, std::size_t chunk) {
  bytes all;
  while (!from.empty()) {
    const auto piece = from.first(std::min(from.size(), chunk));
    from = from.subspan(piece.size());
    by.feed(piece);
    while (true) {
      std::array<std::byte, 5'000> some;
      const auto n = by.open(some);
      if (!n) return n.error();
      if (*n == 0) break;
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(*n));
    }
  }
  return all;
}

bytes with_byte_flipped(bytes from, std::size_t at) {
  from[at] ^= std::byte{0x10};
  return from;
}

constexpr std::size_t announcement = frame_header_bytes;

}  // namespace

TEST_CASE("simulated handshakes of every form are proven, within the bounds of a guard") {
  const sim_handshake form = GENERATE(sim_handshake{1, 0}, sim_handshake{2, 0}, sim_handshake{3, 8'000},
                                      sim_handshake{4, 4'095}, sim_handshake{1, 16'000});
  REQUIRE(form.fits());
  side a(ring_of({1}), form, 1), b(ring_of({1}), form, 2);
  greeting g(a, b);
  REQUIRE(g.run().proven());
  CHECK(g.steps == (2 * form.rounds + 1) * (form.flight_bytes / link_guard::most_step_bytes + 1));
  CHECK(g.connecting->channel() == g.accepting->channel());
  CHECK(g.connecting->channel() != link_guard::channel_hash{});
  CHECK(b.counts->most_steps <= link_guard::most_steps);
  CHECK((b.counts->parted_flights != 0) == (form.flight_bytes >= link_guard::most_step_bytes));
  CHECK(greeting(a, b).run().connecting->channel() != g.connecting->channel());
}

TEST_CASE("a form that a guard would not take does not fit") {
  CHECK_FALSE(sim_handshake{0, 0}.fits());
  CHECK_FALSE(sim_handshake{5, 0}.fits());
  CHECK_FALSE(sim_handshake{4, 4'096}.fits());
  CHECK_FALSE(sim_handshake{1, 16'384}.fits());
}

TEST_CASE("simulated records open to what was sealed, however they are cut, and in order only") {
  side a(ring_of({1})), b(ring_of({1}));
  const std::size_t chunk = GENERATE(1U, 13U, 4'096U, 100'000U);
  greeting g(a, b);
  REQUIRE(g.run().proven());
  for (const std::size_t size : {1U, 64U, 16'384U, 16'385U, 65'280U}) {
    const bytes plain = counted_up(size);
    const bytes there = sealed(*g.connecting, plain);
    CHECK(there.size() <= plain.size() + link_guard::overhead);
    if (size >= 64) CHECK(std::ranges::search(there, std::span(plain).first(16)).empty());
    CHECK(opened(*g.accepting, there, chunk).value() == plain);
    bytes back = sealed(*g.accepting, plain);
    if (size == 1) back.erase(back.begin(), back.begin() + announcement);
    CHECK(opened(*g.connecting, back, chunk).value() == plain);
  }
  const bytes first = sealed(*g.connecting, counted_up(10));
  const bytes second = sealed(*g.connecting, counted_up(20));
  CHECK(opened(*g.accepting, second, chunk).error() == errc::not_authentic);
}

TEST_CASE("every altered byte of a simulated record is found") {
  side a(ring_of({1})), b(ring_of({1}));
  const bytes plain = counted_up(40);
  for (std::size_t at = 0; at < plain.size() + 12; ++at) {
    greeting g(a, b);
    REQUIRE(g.run().proven());
    const auto said = opened(*g.accepting, with_byte_flipped(sealed(*g.connecting, plain), at), 1'000);
    if (said) CHECK(said->empty());  // it claims to be longer, and the rest is waited for
    if (!said) CHECK(said.error() == errc::not_authentic);
  }
  CHECK(b.counts->records_refused >= plain.size());
}

TEST_CASE("altered steps of a simulated handshake never lead to one channel") {
  const sim_handshake form{2, 60};
  side a(ring_of({1}), form), b(ring_of({1}), form, 2);
  std::size_t length = 0;
  REQUIRE(greeting(a, b).run([&](bytes& said) { length += said.size(); }).proven());
  REQUIRE(length == 5 * 60);
  std::size_t unnoticed = 0;
  for (std::size_t target = 0; target < length; ++target) {
    std::size_t before = 0;
    greeting g(a, b);
    g.run([&](bytes& said) {
      if (target >= before && target - before < said.size()) said[target - before] ^= std::byte{0x10};
      before += said.size();
    });
    if (!g.proven()) continue;
    ++unnoticed;  // by the proofs: it was the filling
    CHECK(g.connecting->channel() != g.accepting->channel());
  }
  CHECK(unnoticed >= 5 * 36);
}

TEST_CASE("a simulated handshake that was said to have fewer rounds proves nothing") {
  constexpr std::size_t place_of_rounds = 6;
  const sim_handshake form{2, 60};
  side a(ring_of({1}), form), b(ring_of({1}), form, 2);
  for (const std::byte rounds : {std::byte{0}, std::byte{1}, std::byte{3}}) {
    bool first = true;
    greeting g(a, b);
    g.run([&](bytes& said) {
      if (std::exchange(first, false)) said[place_of_rounds] = rounds;
    });
    CHECK_FALSE(g.accepting->proven());
  }
}

TEST_CASE("an altered hello of a simulated connection leads to another channel") {
  side a(ring_of({1})), b(ring_of({1}), {}, 2);
  greeting g(a, b);
  hello other = g.said;
  other.lane = 0;
  g.accepting = b.security.accept(other).value();
  REQUIRE(g.run().proven());
  CHECK(g.connecting->channel() != g.accepting->channel());
}

TEST_CASE("a key that is not in the ring, and another secret under its id, prove nothing in a simulation") {
  side right(ring_of({1})), wrong(ring_of({2})), forger({{1, 7}});
  CHECK(greeting(wrong, right).outcome.error() == errc::not_authentic);
  CHECK(right.counts->keys_unknown == 1);
  greeting forged(forger, right);
  CHECK(forged.run().outcome.error() == errc::not_authentic);
  CHECK_FALSE(forged.accepting->proven());
  CHECK(right.counts->proofs_refused == 1);
  CHECK_FALSE(forged.accepting->unsent().empty());  // the other side is told
  CHECK(forged.connecting->take_step(forged.accepting->unsent()).error() == errc::not_authentic);
}

TEST_CASE("what one simulated connection has said is worth nothing on another one") {
  side a(ring_of({1})), b(ring_of({1}), {}, 2);
  std::vector<bytes> recorded;
  greeting first(a, b);
  first.run([&](bytes& said) { recorded.push_back(said); });
  REQUIRE(first.proven());
  const auto again = b.security.accept(first.said).value();
  CHECK(again->take_step(recorded[0]).has_value());
  CHECK(again->take_step(recorded[2]).error() == errc::not_authentic);
  CHECK_FALSE(again->proven());
}

TEST_CASE("a ring of two keys takes both, and offers the first one, until the old one is removed") {
  side before(ring_of({1})), between(ring_of({1, 2})), after(ring_of({2, 1}));
  for (side* const from : {&before, &between, &after}) {
    for (side* const to : {&between, &after}) CHECK(greeting(*from, *to).run().proven());
  }
  CHECK(after.counts->keys_not_first == 2);
  const auto standing = greeting(before, after).said;
  after.security.use(ring_of({2}));
  CHECK(after.security.accept(standing).error() == errc::not_authentic);
  CHECK_FALSE(greeting(between, after).outcome.has_value());
}

TEST_CASE("a simulated guard that is given too many steps, or one that is too long, takes no more") {
  side a(ring_of({1}));
  greeting g(a, a);
  const bytes fragment(1);
  for (std::size_t i = 0; i < link_guard::most_steps; ++i) REQUIRE(g.accepting->take_step(fragment));
  CHECK(g.accepting->take_step(fragment).error() == errc::malformed);
  greeting h(a, a);
  CHECK(h.accepting->take_step(bytes(link_guard::most_step_bytes + 1)).error() == errc::malformed);
  CHECK(a.counts->most_steps == link_guard::most_steps);
  CHECK(a.counts->most_step_bytes == 1);
}

TEST_CASE("a simulated certificate speaks for the node that it names, and for no other one", "[sim]") {
  side three(ring_of({1}), {}, 3);
  side four(ring_of({1}), {}, 4);
  three.security.certify(sim_certificate::issued(77, 3));
  four.security.certify(sim_certificate::issued(77, 4));
  greeting g(three, four);
  REQUIRE(g.run().proven());
  CHECK(g.said.security == 2);
  CHECK(g.accepting->speaks_for("sim", 3));
  CHECK(g.connecting->speaks_for("sim", 4));
  CHECK(g.accepting->speaks_for("sim", 4).error() == errc::not_authentic);
  CHECK(four.counts->misnamed == 1);
  CHECK(four.counts->proven_accepting == 1);
  CHECK(three.counts->proven_accepting == 0);
}

TEST_CASE("a simulated certificate of another authority, or with another key, proves nothing", "[sim]") {
  side three(ring_of({1}), {}, 3);
  side four(ring_of({1}), {}, 4);
  four.security.certify(sim_certificate::issued(77, 4));
  sim_certificate stolen = sim_certificate::issued(77, 3);
  stolen.key ^= 1;
  for (const sim_certificate& shown : {sim_certificate::issued(78, 3), stolen}) {
    three.security.certify(shown);
    greeting g(three, four);
    CHECK(g.run().outcome.error() == errc::not_authentic);
    CHECK_FALSE(g.accepting->proven());
  }
}
