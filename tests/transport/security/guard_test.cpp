#include <openssl/crypto.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/transport/security/authority.hpp"
#include "transport/security/tls_guard.hpp"

using namespace security;

namespace {

using bytes = std::vector<std::byte>;

// What OpenSSL allocates. It takes the functions only before its first allocation, so they are set first.
std::size_t library_allocations = 0;
const bool counted = CRYPTO_set_mem_functions(
                         [](std::size_t size, const char*, int) {
                           ++library_allocations;
                           return std::malloc(size);
                         },
                         [](void* from, std::size_t size, const char*, int) {
                           ++library_allocations;
                           return std::realloc(from, size);
                         },
                         [](void* from, const char*, int) { std::free(from); }) == 1;

struct pair_of_guards {
  explicit pair_of_guards(link_security& connecting, link_security& accepting) {
    hello said;
    auto a = connecting.connect(said);
    REQUIRE(a.has_value());
    from = std::move(*a);
    auto b = accepting.accept(said);
    if (!b) {
      accepted = b.error();
      return;
    }
    to = std::move(*b);
    accepted = {};
  }
  /// Passes steps until neither side has anything to say. `alter` sees each of them.
  template <class Alter>
  void greet(Alter alter) {
    while (connected && accepted && !(from->unsent().empty() && to->unsent().empty())) {
      if (!from->unsent().empty()) pass(*from, *to, accepted, alter);
      if (connected && accepted && !to->unsent().empty()) pass(*to, *from, connected, alter);
    }
  }
  void greet() {
    greet([](bytes&) {});
  }
  bool proven() const { return connected && accepted && from->proven() && to->proven(); }

  std::unique_ptr<link_guard> from, to;
  status connected, accepted;

 private:
  template <class Alter>
  static void pass(link_guard& by, link_guard& at, status& outcome, Alter& alter) {
    bytes step(by.unsent().begin(), by.unsent().end());
    by.forget_unsent();
    alter(step);
    outcome = at.take_step(step);
  }
};

bytes sealed(link_guard& by, const bytes& plain) {
  bytes into(plain.size() + link_guard::overhead);
  const std::size_t size = by.seal(plain, into);
  REQUIRE(size != 0);
  into.resize(size);
  return into;
}

bytes opened(link_guard& by, std::span<const std::byte> from) {
  bytes all;
  by.feed(from);
  while (true) {
    bytes some(20000);
    const auto n = by.open(some);
    REQUIRE(n.has_value());
    if (*n == 0) return all;
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(*n));
  }
}

bytes counted_up(std::size_t size) {
  bytes all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<std::byte>(i * 31 + (i >> 8U));
  return all;
}

}  // namespace

TEST_CASE("two nodes with a key of one ring are guarded, and bound to one channel", "[security]") {
  const node_files a, b(key_b + "\n" + key_a);
  pair_of_guards g(*made(a.psk()), *made(b.psk()));
  g.greet();
  REQUIRE(g.proven());
  CHECK(g.from->channel() == g.to->channel());
  CHECK(g.from->channel() != link_guard::channel_hash{});
  CHECK(g.from->speaks_for("test", 3).has_value());
  pair_of_guards other(*made(a.psk()), *made(b.psk()));
  other.greet();
  CHECK(other.from->channel() != g.from->channel());

  for (const std::size_t size : {1U, 64U, 16384U, 16385U, 65280U}) {
    const bytes plain = counted_up(size);
    const bytes there = sealed(*g.from, plain);
    CHECK(there.size() <= plain.size() + link_guard::overhead);
    CHECK(std::search(there.begin(), there.end(), plain.begin(), plain.begin() + 16 * (size >= 16)) ==
          (size >= 16 ? there.end() : there.begin()));
    CHECK(opened(*g.to, there) == plain);
    bytes back = sealed(*g.to, plain);
    if (size == 1) back.erase(back.begin(), back.begin() + frame_header_bytes);  // the announcement
    CHECK(opened(*g.from, back) == plain);
  }
}

TEST_CASE("a key that is not in the ring proves nothing", "[security]") {
  const node_files a(key_a), b(key_b);
  const pair_of_guards g(*made(a.psk()), *made(b.psk()));
  CHECK(g.accepted.error() == errc::not_authentic);
  CHECK(std::string(g.accepted.error().text()).find("not in the ring") != std::string::npos);
}

TEST_CASE("the id of a key is no proof without its secret", "[security]") {
  const node_files a(key_a), b(key_b);
  auto right = made(a.psk());
  auto wrong = made(b.psk());
  hello said, honest;
  auto forger = wrong->connect(said);
  const auto honest_guard = right->connect(honest);
  auto to = right->accept(honest);  // the forger says that it has the other's key
  REQUIRE((forger && honest_guard && to));
  const auto outcome = (*to)->take_step((*forger)->unsent());
  CHECK(outcome.error() == errc::not_authentic);
}

TEST_CASE("a ring for another cluster proves nothing", "[security]") {
  const node_files a, b;
  const auto other = make_security(b.psk(), "elsewhere");
  REQUIRE(other.has_value());
  pair_of_guards g(*made(a.psk()), **other);
  g.greet();
  CHECK(g.accepted.error() == errc::not_authentic);
}

TEST_CASE("certificates of one authority guard, and speak for the ids that they name", "[security]") {
  const authority ours;
  const node_files a(ours, node_name(1), ours.pem());
  const node_files b(ours, node_name(2) + "," + node_name(22) + ",URI:https://elsewhere/node/4", ours.pem());
  pair_of_guards g(*made(a.tls()), *made(b.tls()));
  g.greet();
  REQUIRE(g.proven());
  CHECK(g.from->channel() == g.to->channel());
  CHECK(g.to->speaks_for("test", 1).has_value());
  CHECK(g.to->speaks_for("test", 2).error() == errc::not_authentic);
  CHECK(g.to->speaks_for("tes", 1).error() == errc::not_authentic);
  CHECK(g.to->speaks_for("test", 11).error() == errc::not_authentic);
  CHECK(g.to->speaks_for("test", client_bit | 1).error() == errc::not_authentic);
  CHECK(g.from->speaks_for("test", 2).has_value());
  CHECK(g.from->speaks_for("test", 22).has_value());
  CHECK(g.from->speaks_for("test", 4).error() == errc::not_authentic);
}

TEST_CASE("a client's certificate speaks for clients, and for no node", "[security]") {
  const authority ours;
  const node_files a(ours, "URI:scoll://test/client/backup", ours.pem());
  const node_files b(ours, node_name(2), ours.pem());
  pair_of_guards g(*made(a.tls()), *made(b.tls()));
  g.greet();
  REQUIRE(g.proven());
  CHECK(g.to->speaks_for("test", client_bit | 77).has_value());
  CHECK(g.to->speaks_for("other", client_bit | 77).error() == errc::not_authentic);
  CHECK(g.to->speaks_for("test", 77).error() == errc::not_authentic);
  CHECK(g.from->speaks_for("test", client_bit | 77).error() == errc::not_authentic);
}

TEST_CASE("foreign and expired certificates, and those not valid yet, prove nothing on either side",
          "[security]") {
  const authority ours, foreign;
  const node_files good(ours, node_name(1), ours.pem());
  const node_files bad[] = {{foreign, node_name(2), ours.pem()},
                            {ours, node_name(2), ours.pem(), {-7200, -3600}},
                            {ours, node_name(2), ours.pem(), {3600, 7200}}};
  for (const node_files& each : bad) {
    pair_of_guards from_bad(*made(each.tls()), *made(good.tls()));
    from_bad.greet();
    CHECK_FALSE(from_bad.to->proven());
    CHECK(from_bad.accepted.error() == errc::not_authentic);
    pair_of_guards to_bad(*made(good.tls()), *made(each.tls()));
    to_bad.greet();
    CHECK_FALSE(to_bad.from->proven());
    CHECK(to_bad.connected.error() == errc::not_authentic);
    CHECK_FALSE(to_bad.from->unsent().empty());  // the other side is told
    CHECK(to_bad.to->take_step(to_bad.from->unsent()).error() == errc::not_authentic);
    CHECK_FALSE(to_bad.to->proven());
  }
}

TEST_CASE("altered steps never lead to one channel", "[security]") {
  const authority ours;
  const node_files a(ours, node_name(1), ours.pem()), b(ours, node_name(2), ours.pem());
  const bool tls = GENERATE(false, true);
  auto left = made(tls ? a.tls() : a.psk());
  auto right = made(tls ? b.tls() : b.psk());
  std::size_t length = 0;
  pair_of_guards plain(*left, *right);
  plain.greet([&](bytes& step) { length += step.size(); });
  REQUIRE(plain.proven());
  REQUIRE(length > 300);
  for (std::size_t target = 0; target < length; ++target) {
    pair_of_guards g(*left, *right);
    std::size_t before = 0;
    bool altered = false;
    g.greet([&](bytes& step) {
      if (target >= before && target < before + step.size()) {
        step[target - before] ^= std::byte{0x10};
        altered = true;
      }
      before += step.size();
    });
    REQUIRE(altered);
    if (g.proven()) REQUIRE(g.from->channel() != g.to->channel());
  }
}

TEST_CASE("an altered record opens to nothing", "[security]") {
  const node_files a;
  auto security = made(a.psk());
  const bytes plain = counted_up(100);
  std::size_t size = plain.size();
  for (std::size_t target = 0; target < size; ++target) {
    pair_of_guards g(*security, *security);
    g.greet();
    bytes record = sealed(*g.from, plain);
    size = record.size();
    record[target] ^= std::byte{1};
    bytes into(200);
    g.to->feed(record);
    const auto n = g.to->open(into);
    // A record that claims to be longer waits for the rest, and gives nothing.
    if (n) {
      REQUIRE(*n == 0);
    } else {
      REQUIRE(n.error() == errc::not_authentic);
    }
  }
}

TEST_CASE("a record that is repeated or left out ends the stream", "[security]") {
  const node_files a;
  auto security = made(a.psk());
  pair_of_guards g(*security, *security);
  g.greet();
  const bytes first = sealed(*g.from, counted_up(10));
  const bytes left_out = sealed(*g.from, counted_up(20));
  const bytes third = sealed(*g.from, counted_up(30));
  CHECK(opened(*g.to, first) == counted_up(10));
  bytes into(100);
  SECTION("repeated") {
    g.to->feed(first);
  }
  SECTION("left out") {
    g.to->feed(third);
  }
  CHECK(g.to->open(into).error() == errc::not_authentic);
}

TEST_CASE("records may arrive in pieces, and are opened into places of any size", "[security]") {
  const node_files a;
  auto security = made(a.psk());
  pair_of_guards g(*security, *security);
  g.greet();
  const bytes plain = counted_up(40000);
  const bytes record = sealed(*g.from, plain);
  bytes all;
  for (std::size_t at = 0; at < record.size(); at += 777) {
    g.to->feed(std::span(record).subspan(at, std::min<std::size_t>(777, record.size() - at)));
    while (true) {
      std::array<std::byte, 100> some;
      const auto n = g.to->open(some);
      REQUIRE(n.has_value());
      if (*n == 0) break;
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(*n));
    }
  }
  CHECK(all == plain);
}

TEST_CASE("the steps of a guard are few and short", "[security]") {
  const node_files a;
  auto security = made(a.psk());
  hello said;
  const auto ours = security->connect(said);
  REQUIRE(ours.has_value());
  auto to = security->accept(said);
  REQUIRE(to.has_value());
  SECTION("long") {
    CHECK((*to)->take_step(bytes(link_guard::most_step_bytes + 1)).error() == errc::malformed);
  }
  SECTION("many") {
    const auto step = (*ours)->unsent();
    for (std::size_t i = 0; i < link_guard::most_steps; ++i)
      REQUIRE((*to)->take_step(step.subspan(i, 1)).has_value());
    CHECK((*to)->take_step(step.subspan(link_guard::most_steps, 1)).error() == errc::malformed);
  }
}

TEST_CASE("a guard changes its key in time, and the other side follows", "[security]") {
  const node_files a;
  const auto material = tls_material::read(a.psk(), "test");
  REQUIRE(material.has_value());
  hello said;
  const tls_psk* const key = &(*material)->offered();
  auto from = tls_guard::make(*material, key, tls_guard::side::connecting, said, 10);
  auto to = tls_guard::make(*material, key, tls_guard::side::accepting, said, 10);
  REQUIRE((from && to));
  REQUIRE((*to)->take_step((*from)->unsent()).has_value());
  REQUIRE((*from)->take_step((*to)->unsent()).has_value());
  REQUIRE((*to)->take_step((*from)->unsent()).has_value());
  const bytes plain = counted_up(65280);
  for (int i = 0; i < 100; ++i) {
    const bytes record = sealed(**from, plain);
    REQUIRE(record.size() <= plain.size() + link_guard::overhead);
    REQUIRE(opened(**to, record) == plain);
  }
  CHECK(static_cast<tls_guard&>(**from).key_changes() >= 30);
  CHECK(static_cast<tls_guard&>(**to).key_changes() == 0);
}

// OpenSSL itself takes a few short-lived blocks of some 40 bytes for each record, however many messages it
// has, and gives them back at once.
TEST_CASE("sealing and opening allocate nothing but what OpenSSL takes for a record", "[security]") {
  REQUIRE(counted);
  const node_files a;
  auto security = made(a.psk());
  pair_of_guards g(*security, *security);
  g.greet();
  const bytes plain = counted_up(65280);
  bytes record(plain.size() + link_guard::overhead), into(20000);
  const auto once = [&](std::size_t size) {
    const std::size_t n = g.from->seal(std::span(plain).first(size), record);
    g.to->feed(std::span(record).first(n));
    std::size_t open = 0;
    while (true) {
      const auto some = g.to->open(into);
      if (!some || *some == 0) return open == size;
      open += *some;
    }
  };
  REQUIRE((once(64) && once(65280)));
  const std::size_t by_library = library_allocations;
  const std::size_t by_us = allocation_counter::on_this_thread();
  bool all = true;
  for (int i = 0; i < 100; ++i) all = all && once(64) && once(65280);
  const std::size_t ours = allocation_counter::on_this_thread() - by_us;
  const std::size_t theirs = library_allocations - by_library;
  constexpr std::size_t records = 100 * (1 + 4);
  CHECK(all);
  CHECK(ours == 0);
  CHECK(theirs <= 4 * records);
}

TEST_CASE("a certificate that ends soon, and a key that is not the first one, are told of", "[security]") {
  const authority ours;
  const node_files lasting(ours, node_name(1), ours.pem(), {-3600, 86'400L * 40});
  CHECK(made(lasting.tls())->news().empty());
  const node_files ending(ours, node_name(1), ours.pem(), {-3600, 86'400L * 3 + 7200});
  const auto soon = made(ending.tls());
  CHECK_THAT(soon->news(), Catch::Contains(ending.certificate.path + " expires in 3 days and "));
  CHECK(soon->news().empty());
  const node_files expired(ours, node_name(1), ours.pem(), {-7200, -3600});
  CHECK_THAT(made(expired.tls())->news(), Catch::Contains("has expired"));

  const node_files behind(key_a), both(key_b + "\n" + key_a);
  auto accepting = made(both.psk());
  pair_of_guards g(*made(behind.psk()), *accepting);
  CHECK_THAT(accepting->news(), Catch::Contains("not the first one of the ring"));
  pair_of_guards h(*made(both.psk()), *accepting);
  CHECK(accepting->news().empty());
}

TEST_CASE("a mode tells its keys and its certificate, and counts what it has refused and why", "[security]") {
  const authority ours;
  const node_files ring(key_b + "\n" + key_a), other(std::string(64, 'e'));
  const auto psk = made(ring.psk());
  CHECK(psk->look().mode == "psk");
  CHECK(psk->look().keys.size() == 2);
  CHECK(psk->look().keys[0] == key_ring::parse(key_b).value().sealing().id);
  CHECK_FALSE(psk->look().certificate_seconds.has_value());
  pair_of_guards older(*made(node_files(key_a).psk()), *psk);
  pair_of_guards again(*made(node_files(key_a).psk()), *psk);
  pair_of_guards unknown(*made(other.psk()), *psk);
  CHECK(psk->look().counts.older_keys == 2);
  CHECK(psk->look().counts.unknown_keys == 1);

  const node_files good(ours, node_name(1), ours.pem(), {-3600, 7200});
  const auto tls = made(good.tls());
  CHECK(tls->look().mode == "tls");
  CHECK(tls->look().keys.size() == 1);
  CHECK(tls->look().certificate_seconds.value() > 7000);
  const auto greet_with = [&](const node_files& files) {
    pair_of_guards g(*made(files.tls()), *tls);
    g.greet();
    return g.proven() ? g.to->speaks_for("test", 2) : g.accepted;
  };
  CHECK_FALSE(greet_with(node_files(ours, node_name(2), ours.pem(), {-7200, -3600})).has_value());
  CHECK_FALSE(greet_with(node_files(ours, node_name(2), ours.pem(), {3600, 7200})).has_value());
  CHECK(tls->look().counts.outdated == 2);
  CHECK_FALSE(greet_with(node_files(ours, node_name(3), ours.pem())).has_value());
  CHECK(tls->look().counts.misnamed == 1);
  CHECK(greet_with(node_files(ours, node_name(2), ours.pem())).has_value());
  CHECK(tls->look().counts.outdated == 2);
  CHECK(tls->look().counts.misnamed == 1);
}

TEST_CASE("whoever looks at a mode has its changed files read again at once", "[security]") {
  const node_files files(key_a);
  const auto psk = made(files.psk());
  CHECK(psk->look().keys.size() == 1);
  files.keys.write(key_b + "\n" + key_a);
  CHECK(psk->look().keys.size() == 2);
  CHECK_THAT(psk->news(), Catch::Contains("are in use"));
  files.keys.write("no key");
  CHECK(psk->look().keys.size() == 2);
  CHECK_THAT(psk->news(), Catch::Contains("cannot be used"));
}

TEST_CASE("a mode without its files, and files that do not fit, are refused with the setting's name",
          "[security]") {
  const authority ours, other;
  const node_files a(ours, node_name(1), ours.pem()), b(ours, node_name(2), ours.pem());
  const auto refused = [](const security_options& o) {
    const auto made = make_security(o, "test");
    REQUIRE(!made.has_value());
    return std::string(made.error().text());
  };
  security_options o = a.psk();
  o.keys.clear();
  CHECK(refused(o).find("security.keys") != std::string::npos);
  o = a.tls();
  o.keys.clear();
  CHECK(refused(o).find("security.keys") != std::string::npos);
  o = a.tls();
  o.key = b.key.path;
  CHECK(refused(o).find("security.key: ") != std::string::npos);
  o = a.tls();
  o.ca = a.key.path;
  CHECK(refused(o).find("security.ca: ") != std::string::npos);
  o = a.tls();
  o.certificate = "/nowhere";
  CHECK(refused(o).find("security.certificate: ") != std::string::npos);
  o = a.tls();
  o.key.clear();
  CHECK(refused(o).find("security.key") != std::string::npos);
  ::chmod(a.key.path.c_str(), 0644);
  CHECK(refused(a.tls()).find("chmod 600") != std::string::npos);
  CHECK(make_security({}, "test").value() == nullptr);
}
