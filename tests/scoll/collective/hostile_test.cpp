#include <chrono>
#include <string>

#include "infiltrated.hpp"
#include "probe.hpp"
#include "scoll/coro/random.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;
using detail::collective_head;
using detail::collective_reply_head;

namespace {

using bytes = std::vector<std::byte>;

/// A request of any size, a reply of any size.
struct bulky {
  static constexpr service_id id{0x0501};
  static constexpr std::size_t reply_capacity = 1000;
  static constexpr nanoseconds processing_bound = 200ms;
  struct request {
    bytes data;
  };
  struct reply {
    concatenation<bytes> said;
  };
  std::shared_ptr<std::map<std::uint32_t, std::size_t>> says =
      std::make_shared<std::map<std::uint32_t, std::size_t>>();
  std::shared_ptr<std::map<std::uint32_t, std::size_t>> seen =
      std::make_shared<std::map<std::uint32_t, std::size_t>>();

  reply execute(const request& r, bcast_context& c) {
    (*seen)[c.rank()] = r.data.size();
    return {{{{c.rank(), false, bytes((*says)[c.rank()])}}}};
  }
};

/// Plain bytes on the wire, not a struct around bytes.
struct raw {
  static constexpr service_id id{0x0502};
  using request = std::vector<std::byte>;
  struct reply {
    sum<std::uint64_t> bytes;
  };
  reply execute(const request& r, bcast_context&) { return {{r.size()}}; }
};

/// A service that encodes its reply in another way than it decodes it.
struct liar {
  static constexpr service_id id{0x0503};
  struct request {};
  struct reply {
    std::uint32_t value = 0;
    static inline bool lies = false;
    template <class Archive>
    constexpr void describe(Archive& archive) {
      archive(value);
      if (!Archive::decoding && lies) {
        std::uint32_t more = 7;
        archive(more);
      }
    }
    void merge(const reply& from) noexcept { value += from.value; }
  };
  static constexpr std::size_t reply_capacity = 64;
  std::shared_ptr<std::map<std::uint32_t, int>> executed = std::make_shared<std::map<std::uint32_t, int>>();
  reply execute(const request&, bcast_context& c) {
    ++(*executed)[c.rank()];
    return {1};
  }
};

/// One service in two versions: the second adds a member to the request.
template <std::uint16_t Version>
struct versioned_service {
  static constexpr service_id id{0x0504};
  static constexpr std::uint16_t version = Version;
  static constexpr std::string_view name = "versioned";
  struct request {
    std::array<std::uint32_t, Version> numbers{};
  };
  struct reply {
    sum<std::uint64_t> total;
    sum<std::uint32_t> members;
  };
  std::shared_ptr<std::map<std::uint32_t, int>> executed = std::make_shared<std::map<std::uint32_t, int>>();
  reply execute(const request&, bcast_context& c) {
    ++(*executed)[c.rank()];
    return {{c.rank() + 1}, {1}};
  }
};

collective_head head_for(const group<probe>& g, std::uint64_t counter, std::uint32_t root_rank) {
  collective_head h;
  h.kind = 0;
  h.tree_kind = g.tree().kind;
  h.tree_params = g.tree().params;
  h.service = static_cast<std::uint32_t>(probe::id);
  h.root_rank = root_rank;
  h.group = g.id();
  h.operation = {g.members().node(root_rank), 1, counter, 0};
  h.rtt_us = 1000;
  h.margin_us = 1000;
  h.processing_ns = 100000000;
  return h;
}

bytes encoded(const auto& value) {
  bytes into(max_request_bytes);
  into.resize(wire::encode_to(into, value).value());
  return into;
}

}  // namespace

TEST_CASE("a request of 4096 bytes travels, one of 4097 fails at once and says both sizes", "[hostile]") {
  constexpr std::uint32_t n = 5;
  virtual_cluster c(n);
  bulky service;
  c.serve(service);
  auto g = c.make_group<bulky>(0, chain{});
  const bulky::request fits{bytes(max_request_bytes - 4)};
  auto r = c.bcast(g, fits);
  REQUIRE(r.ok());
  for (std::uint32_t rank = 0; rank < n; ++rank) REQUIRE((*service.seen)[rank] == max_request_bytes - 4);
  service.seen->clear();
  REQUIRE(c.quiet());
  const auto before = c.engine(0).wire().statistics();
  const auto at = c.ex.now();
  for (const std::size_t size : {std::size_t{4097}, std::size_t{70000}}) {
    const bulky::request large{bytes(size - 4)};
    auto refused = c.bcast(g, large);
    REQUIRE(refused.status().error() == errc::too_large);
    const std::string text(refused.status().error().text());
    INFO(text);
    REQUIRE(text.find(std::to_string(size)) != std::string::npos);
    REQUIRE(text.find("4096") != std::string::npos);
    REQUIRE(refused.outcome().not_reached().size() == n);
  }
  REQUIRE(c.ex.now() == at);
  REQUIRE(c.engine(0).wire().statistics().frames_sent == before.frames_sent);
  REQUIRE(service.seen->empty());
  REQUIRE(c.engine(0).operations() == 0);
  REQUIRE(c.quiet());
}

TEST_CASE("raw bytes are a request too", "[hostile]") {
  virtual_cluster c(6);
  c.serve(raw{});
  auto g = c.make_group<raw>(0, knomial{2});
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, max_request_bytes - 4}) {
    const raw::request r(size);
    auto answer = c.bcast(g, r);
    REQUIRE(answer.ok());
    REQUIRE(answer->bytes.value == 6 * size);
  }
  const raw::request large(max_request_bytes - 3);
  REQUIRE(c.bcast(g, large).status().error() == errc::too_large);
}

TEST_CASE("a reply that is too large costs its own subtree the value, and the account stands", "[hostile]") {
  constexpr std::uint32_t n = 7;
  virtual_cluster c(n);
  bulky service;
  c.serve(service);
  auto g = c.make_group<bulky>(0, kary{2});
  const tree_view tree(kary{2}, n, 0);
  const auto check = [&](std::uint32_t at) {
    service.seen->clear();
    const bulky::request nothing{};
    auto r = c.bcast(g, nothing);
    INFO(describe(r.outcome()));
    REQUIRE(service.seen->size() == n);
    const auto lost = tree.subtree(at);
    check_members(r.outcome(), lost, member_state::executed, phase::reply, errc::too_large, at);
    REQUIRE(r.outcome().merged().size() == n - lost.size());
    REQUIRE(r.status().error() == errc::incomplete);
    std::vector<std::uint32_t> ranks;
    for (const auto& part : r->said.parts) ranks.push_back(part.rank);
    std::vector<std::uint32_t> expected;
    r.outcome().merged().for_each([&](std::uint32_t rank) { expected.push_back(rank); });
    REQUIRE(ranks == expected);
  };
  SECTION("at a leaf") {
    (*service.says)[4] = 1001;
    check(4);
  }
  SECTION("at an interior member, whose own part is too large") {
    (*service.says)[1] = 1001;
    check(1);
  }
  SECTION("at an interior member, where the sum of the parts is") {
    for (const std::uint32_t rank : {1U, 3U, 4U}) (*service.says)[rank] = 350;
    check(1);
  }
  SECTION("the root sends its value nowhere") {
    for (std::uint32_t rank = 0; rank < n; ++rank) (*service.says)[rank] = 300;
    (*service.says)[0] = 50000;
    const bulky::request nothing{};
    auto r = c.bcast(g, nothing);
    REQUIRE(r.ok());
    REQUIRE(r->said.parts.size() == n);
    REQUIRE(r->said.parts[0].value.size() == 50000);
  }
  SECTION("exactly what was announced fits") {
    // count, then rank, cut, length and the bytes
    bulky::reply whole{{{{4, false, bytes(1)}}}};
    bytes buffer(2000);
    const std::size_t overhead = wire::encode_to(buffer, whole).value() - 1;
    (*service.says)[4] = bulky::reply_capacity - overhead;
    (*service.says)[1] = (*service.says)[3] = 0;
    auto g2 = c.make_group<bulky>(0, flat{});
    const bulky::request nothing{};
    REQUIRE(c.bcast(g2, nothing).ok());
    ++(*service.says)[4];
    auto r = c.bcast(g2, nothing);
    check_members(r.outcome(), {4}, member_state::executed, phase::reply, errc::too_large, 4);
    REQUIRE(r.outcome().merged().size() == n - 1);
  }
  REQUIRE(c.quiet());
}

TEST_CASE("a reply that does not decode fails its subtree only", "[hostile]") {
  virtual_cluster c(7);
  liar service;
  c.serve(service);
  auto g = c.make_group<liar>(0, flat{});
  liar::reply::lies = true;
  auto r = c.bcast(g, {});
  liar::reply::lies = false;
  INFO(describe(r.outcome()));
  REQUIRE(service.executed->size() == 7);
  check_members(r.outcome(), {1, 2, 3, 4, 5, 6}, member_state::executed, phase::reply, errc::malformed, 0);
  REQUIRE(r.outcome().merged().size() == 1);
  REQUIRE(r->value == 1);
  REQUIRE(c.bcast(g, {}).ok());
  REQUIRE(c.quiet());
}

TEST_CASE("requests that are not what they should be are refused with the reason", "[hostile]") {
  virtual_cluster c(4);
  probe service;
  c.serve(service);
  for (std::uint32_t i = 0; i < 4; ++i) c[i].add_peer(90, "host:999").value();
  auto g = c.make_group<probe>(0, chain{});
  REQUIRE(c.bcast(g, {}).ok());
  service.log->clear();
  outsider x(c, 90, c.size());
  const bytes good = encoded(probe::request{1});
  const auto refused = [&](const collective_head& h, const bytes& payload, std::uint32_t to = 2) {
    const auto executed = c.engine(to - 1).statistics().executed;
    const auto a = x.ask(to, h, payload);
    REQUIRE(a.came);
    REQUIRE(c.engine(to - 1).statistics().executed == executed);
    REQUIRE(c.engine(to - 1).operations() == 0);
    return a.refused;
  };
  const collective_head base = head_for(g, 100, 0);
  REQUIRE(refused(base, good) == errc::not_parent);
  REQUIRE(refused(base, good).text() == "node 90 is not the parent of node 2 in this tree");
  REQUIRE(refused(base, good, 1) == errc::not_parent);
  auto h = base;
  h.kind = 17;
  REQUIRE(refused(h, good) == errc::malformed);
  h = base;
  h.flags |= 0x8000;  // which nobody knows
  REQUIRE(refused(h, good) == errc::malformed);
  h = base;
  h.service = 0x7777;
  REQUIRE(refused(h, good) == errc::unknown_service);
  h = base;
  h.service = 1;  // the library's own
  REQUIRE(refused(h, good) == errc::unknown_service);
  h = base;
  ++h.group.counter;
  REQUIRE(refused(h, good) == errc::unknown_group);
  h = base;
  h.group.digest[5] ^= std::byte{1};
  REQUIRE(refused(h, good) == errc::unknown_group);
  h = base;
  h.root_rank = 4;
  REQUIRE(refused(h, good) == errc::not_member);
  h.root_rank = UINT32_MAX;
  REQUIRE(refused(h, good) == errc::not_member);
  h = base;
  h.operation.root = 3;
  REQUIRE(refused(h, good) == errc::not_member);
  h = base;
  h.tree_kind = 99;
  REQUIRE(refused(h, good) == errc::unknown_tree);
  h.tree_kind = 200;
  REQUIRE(refused(h, good) == errc::unknown_tree);
  h.tree_kind = kary::kind;
  h.tree_params = {0, 0, 0};
  REQUIRE(refused(h, good) == errc::unknown_tree);
  h = base;
  REQUIRE(refused(h, bytes(max_request_bytes + 1)) == errc::too_large);
  // The same holds for the creation and the end of groups.
  h = base;
  h.kind = static_cast<std::uint8_t>(detail::collective_kind::create);
  REQUIRE(refused(h, good) == errc::malformed);
  h.creation_bytes = static_cast<std::uint16_t>(good.size());
  REQUIRE(refused(h, good) == errc::not_parent);
  REQUIRE(c.engine(1).groups() == 1);  // and the group is still there
  h.kind = static_cast<std::uint8_t>(detail::collective_kind::forget);
  REQUIRE(refused(h, good) == errc::malformed);
  h.creation_bytes = 0;
  REQUIRE(refused(h, bytes(1)) == errc::not_parent);
  REQUIRE(c.engine(1).groups() == 1);
  REQUIRE(refused(h, bytes()) == errc::malformed);
  REQUIRE(refused(h, bytes(1, std::byte{2})) == errc::malformed);
  REQUIRE(refused(h, bytes(5)) == errc::malformed);
  h.kind = static_cast<std::uint8_t>(detail::collective_kind::create);
  ++h.group.counter;
  h.creation_bytes = 5;
  REQUIRE(refused(h, bytes(5, std::byte{255})) == errc::malformed);
  REQUIRE(refused(h, bytes()) == errc::malformed);
  REQUIRE(refused(h, bytes(8000)) == errc::too_large);
  REQUIRE(c.engine(1).groups() == 1);
  h.creation_bytes = 0;
  h.kind = static_cast<std::uint8_t>(detail::collective_kind::sweep);
  REQUIRE(refused(h, bytes(2)) == errc::malformed);
  REQUIRE(refused(h, bytes(3585)) == errc::malformed);
  h.kind = static_cast<std::uint8_t>(detail::collective_kind::end);
  REQUIRE(refused(h, {}) == errc::malformed);  // it has not created the group
  h.group.creator = 2;
  REQUIRE(refused(h, {}) == errc::unknown_group);
  ++h.group.incarnation;
  REQUIRE(refused(h, {}) == errc::peer_rebooted);
  REQUIRE(service.log->executed.empty());
  REQUIRE(c.engine(1).statistics().refused > 15);
  auto r = c.bcast(g, {});
  REQUIRE(r.ok());
  REQUIRE(c.quiet());
}

TEST_CASE("heads of random bytes are refused", "[hostile]") {
  virtual_cluster c(3);
  probe service;
  c.serve(service);
  for (std::uint32_t i = 0; i < 3; ++i) c[i].add_peer(90, "host:999").value();
  auto g = c.make_group<probe>(0, chain{});
  outsider x(c, 90, c.size());
  random_generator random(5);
  const bytes good = encoded(probe::request{1});
  bytes whole(transport::max_head_bytes);
  whole.resize(wire::encode_to(whole, head_for(g, 1, 0)).value());
  for (int round = 0; round < 300; ++round) {
    bytes mutated = whole;
    const auto flips = 1 + random.below(4);
    for (std::uint64_t i = 0; i < flips; ++i)
      mutated[random.below(mutated.size())] = static_cast<std::byte>(random.below(256));
    const auto h = wire::decode_from<collective_head>(mutated);
    if (!h) continue;
    REQUIRE(x.ask(2, *h, good).came);
  }
  REQUIRE(service.log->executed.empty());
  REQUIRE(c.engine(1).operations() == 0);
  REQUIRE(c.engine(1).groups() == 1);
  REQUIRE(c.bcast(g, {}).ok());
}

TEST_CASE("an operation is executed once, however often its parent sends it", "[hostile]") {
  infiltrated f(3, chain{}, 0);
  const bytes good = encoded(probe::request{1});
  auto again = head_for(f.g, 500, 0);
  again.operation.incarnation = 2;
  REQUIRE_FALSE(f.x->ask(2, again, good).refused);
  REQUIRE(f.x->ask(2, again, good).refused == errc::already_exists);
  REQUIRE(f.service.log->executed[1] == 1);
  REQUIRE(f.service.log->executed[2] == 1);
  again.operation.counter = 499;  // not in order, and not seen yet
  REQUIRE_FALSE(f.x->ask(2, again, good).refused);
  REQUIRE(f.x->ask(2, again, good).refused == errc::already_exists);
  again.operation.counter = 2000;
  REQUIRE_FALSE(f.x->ask(2, again, good).refused);
  again.operation.counter = 501;  // too old to tell
  REQUIRE(f.x->ask(2, again, good).refused == errc::already_exists);
  again.operation.counter = 3000;
  again.operation.incarnation = 1;  // an earlier life of the root
  REQUIRE(f.x->ask(2, again, good).refused == errc::already_exists);
  REQUIRE(f.service.log->executed[1] == 3);
  again.operation.incarnation = 2;
  REQUIRE(f.x->ask(2, again, bytes(3)).payload.size() != 0);  // does not decode: answered with an account
  REQUIRE(f.service.log->executed[1] == 3);
}

TEST_CASE("an operation that has ended at its root is not executed later", "[hostile]") {
  infiltrated f(3, chain{}, 0);
  const bytes good = encoded(probe::request{1});
  auto head = head_for(f.g, 500, 0);
  head.operation.incarnation = 2;
  head.watermark = 490;
  REQUIRE_FALSE(f.x->ask(2, head, good).refused);
  head.watermark = 0;
  head.operation.counter = 489;
  REQUIRE(f.x->ask(2, head, good).refused == errc::stale);
  head.operation.counter = 490;
  REQUIRE_FALSE(f.x->ask(2, head, good).refused);
  head.watermark = 480;  // a lower one comes late and changes nothing
  head.operation.counter = 495;
  REQUIRE_FALSE(f.x->ask(2, head, good).refused);
  head.watermark = 0;
  head.operation.counter = 485;
  REQUIRE(f.x->ask(2, head, good).refused == errc::stale);
  head.operation.counter = 510;
  head.watermark = 511;
  REQUIRE(f.x->ask(2, head, good).refused == errc::malformed);
  REQUIRE(f.service.log->executed[1] == 3);
  REQUIRE(f.service.log->executed[2] == 3);
}

TEST_CASE("a root says which of its operations have ended", "[hostile]") {
  infiltrated f(3, flat{}, 2);
  collective_reply_head clean;
  clean.flags = collective_reply_head::clean;
  clean.values = 1;
  bytes value(4 + 12);
  value[0] = std::byte{12};
  f.x->answer_all(clean, value);
  const auto watermark_of_next = [&] {
    f.c.bcast(f.g, {}).status().ignore();
    return f.x->last_head().watermark;
  };
  const std::uint64_t first = f.g.state()->next_counter;
  REQUIRE(watermark_of_next() == first);
  f.service.log->work[0] = 500ms;
  flight<probe> slow(f.c, f.g, {});
  f.service.log->work.clear();
  REQUIRE(watermark_of_next() == first + 1);
  REQUIRE(watermark_of_next() == first + 1);
  slow.land();
  REQUIRE(watermark_of_next() == first + 4);
}

TEST_CASE("too little time for one level is refused on arrival", "[hostile]") {
  infiltrated f(3, chain{}, 0);
  auto h = head_for(f.g, 500, 0);
  h.operation.incarnation = 2;
  h.remaining_ns = h.margin_us * 1000;
  REQUIRE(f.x->ask(2, h, encoded(probe::request{1})).refused == errc::deadline_exceeded);
  REQUIRE(f.service.log->executed.empty());
  h.remaining_ns = UINT64_MAX;
  h.margin_us = UINT32_MAX - 1;
  h.rtt_us = UINT32_MAX;
  h.processing_ns = UINT64_MAX;
  ++h.operation.counter;
  REQUIRE_FALSE(f.x->ask(2, h, encoded(probe::request{1})).refused);
  h.remaining_ns = 0;
  ++h.operation.counter;
  REQUIRE_FALSE(f.x->ask(2, h, encoded(probe::request{1})).refused);
}

TEST_CASE("a creation that was forgotten before it arrived is refused", "[hostile]") {
  infiltrated f(3, flat{}, 0);
  auto h = head_for(f.g, 1, 0);
  h.operation.incarnation = 2;
  h.group.incarnation = 2;
  // Four bytes of terms, then nodes 1, 2 and 3.
  bytes members(4);
  for (const unsigned b : {3U, 2U, 0U, 2U, 0U, 2U, 0U}) members.push_back(static_cast<std::byte>(b));
  const auto as_creation = [&] {
    h.kind = static_cast<std::uint8_t>(detail::collective_kind::create);
    h.creation_bytes = static_cast<std::uint16_t>(members.size());
  };
  as_creation();
  REQUIRE_FALSE(f.x->ask(2, h, members).refused);
  REQUIRE(f.c.engine(1).groups() == 2);
  h.operation.counter = 2;
  h.group.counter = 50;
  h.kind = static_cast<std::uint8_t>(detail::collective_kind::forget);
  h.creation_bytes = 0;
  REQUIRE(f.x->ask(2, h, bytes(1)).refused == errc::unknown_group);
  h.operation.counter = 1;
  as_creation();
  REQUIRE(f.x->ask(2, h, members).refused == errc::unknown_group);
  REQUIRE(f.c.engine(1).groups() == 2);
  // A request that was refused for another reason may come again.
  h.group.counter = 60;
  h.root_rank = 1;
  REQUIRE(f.x->ask(2, h, members).refused == errc::not_member);
  REQUIRE(f.c.engine(1).groups() == 2);
  h.root_rank = 0;
  REQUIRE_FALSE(f.x->ask(2, h, members).refused);
  REQUIRE(f.c.engine(1).groups() == 3);
}

TEST_CASE("no member ends an out-of-band group on another", "[hostile]") {
  infiltrated f(3, flat{}, 0);
  const auto g = f.c[1].adopt_group<probe>(5, membership::make(f.c.targets()).value()).value();
  auto h = head_for(g, 1, 0);
  h.operation.incarnation = 2;
  h.kind = static_cast<std::uint8_t>(detail::collective_kind::forget);
  REQUIRE(f.x->ask(2, h, bytes(1)).refused == errc::invalid_argument);
  REQUIRE(f.c[1].find_group<probe>(g.id()).has_value());
  h.kind = static_cast<std::uint8_t>(detail::collective_kind::broadcast);
  const auto request = encoded(probe::request{});
  REQUIRE_FALSE(f.x->ask(2, h, request).refused);
}

TEST_CASE("answers that make no sense fail the subtree that gave them", "[hostile]") {
  struct bad_answer {
    const char* what;
    collective_reply_head head;
    bytes payload;
    member_state state;
  };
  collective_reply_head clean;
  clean.flags = collective_reply_head::clean;
  clean.values = 1;
  bytes value(4 + 12);
  value[0] = std::byte{12};
  const auto head = [](std::uint8_t flags, std::uint16_t values, std::uint32_t account) {
    collective_reply_head h;
    h.flags = flags;
    h.values = values;
    h.account_bytes = account;
    return h;
  };
  bytes two = value;
  two.insert(two.end(), value.begin(), value.end() - 1);
  bytes longer = value;
  longer.push_back(std::byte{0});
  bytes other_members{std::byte{0}, std::byte{0}, std::byte{1}, std::byte{0},
                      std::byte{2}, std::byte{0}, std::byte{0}};
  bytes merged_without_value{std::byte{0}, std::byte{0}, std::byte{1}, std::byte{1},
                             std::byte{1}, std::byte{0}, std::byte{0}};
  const bytes pending{std::byte{0}, std::byte{0}, std::byte{1}, std::byte{1},
                      std::byte{1}, std::byte{6}, std::byte{0}};
  const bytes pending_in_bits{std::byte{1}, std::byte{0}, std::byte{1}, std::byte{1}, std::byte{6}};
  const std::vector<bad_answer> answers{
      {"nothing at all", head(0, 0, 0), {}, member_state::unknown},
      {"an account beyond the end", head(0, 0, 100), bytes(10), member_state::unknown},
      {"a clean one with account", head(collective_reply_head::clean, 1, 4), bytes(30),
       member_state::unknown},
      {"an account of noise", head(0, 0, 10), bytes(10, std::byte{77}), member_state::unknown},
      {"a member that is pending", head(0, 0, 7), pending, member_state::unknown},
      {"the same in another form", head(0, 0, 5), pending_in_bits, member_state::unknown},
      {"an account of other members", head(0, 0, 7), other_members, member_state::unknown},
      {"a value that ends early", clean, bytes(value.begin(), value.end() - 1), member_state::executed},
      {"bytes behind the value", clean, longer, member_state::executed},
      {"no value", clean, {}, member_state::executed},
      {"clean without value", head(collective_reply_head::clean, 0, 0), {}, member_state::executed},
      {"merged without value", head(0, 0, 7), merged_without_value, member_state::executed},
      {"a good value, then a bad one", head(collective_reply_head::clean, 2, 0), two, member_state::executed},
      {"too many values", head(collective_reply_head::clean, 60000, 0), value, member_state::executed},
  };
  for (const bad_answer& bad : answers) {
    INFO(bad.what);
    infiltrated f(4, flat{}, 1);
    f.x->answer_all(bad.head, bad.payload);
    f.service.log->work[2] = 1ms;  // merged after the bad one
    auto r = f.c.bcast(f.g, {});
    INFO(describe(r.outcome()));
    REQUIRE(f.x->requests() == 1);
    check_members(r.outcome(), {1}, bad.state, phase::reply, errc::malformed, 0);
    REQUIRE(r.outcome().merged().size() == 3);
    REQUIRE(r->members.value == 3);
    REQUIRE(r->total.value == 1 + 3 + 4);
  }
  {
    INFO("the good one is taken");
    infiltrated f(4, flat{}, 1);
    f.x->answer_all(clean, value);
    auto r = f.c.bcast(f.g, {});
    REQUIRE(r.ok());
    REQUIRE(r->members.value == 3);
  }
}

TEST_CASE("answers of random bytes never break anything", "[hostile]") {
  random_generator random(23);
  infiltrated f(4, chain{}, 2);
  for (int round = 0; round < 400; ++round) {
    collective_reply_head h;
    h.flags = static_cast<std::uint8_t>(random.below(2) * collective_reply_head::clean);
    h.values = static_cast<std::uint16_t>(random.below(4));
    bytes payload(random.below(60));
    for (std::byte& b : payload) b = static_cast<std::byte>(random.below(random.below(2) == 0 ? 256 : 5));
    h.account_bytes = static_cast<std::uint32_t>(random.below(2) == 0 ? random.below(40) : payload.size());
    f.x->answer_all(h, payload);
    auto r = f.c.bcast(f.g, {});
    REQUIRE(r.outcome().state(0) == member_state::merged);
    REQUIRE(r.outcome().state(1) == member_state::merged);
    REQUIRE(r.outcome().members() == 4);
  }
  for (std::uint32_t i = 0; i < 2; ++i) REQUIRE(f.c.engine(i).operations() == 0);
}

TEST_CASE("a reply with a flag that nobody knows is not taken", "[hostile]") {
  infiltrated f(4, flat{}, 1);
  collective_reply_head strange;
  strange.flags = collective_reply_head::clean | 0x80;
  strange.values = 1;
  bytes value(4 + 12);
  value[0] = std::byte{12};
  f.x->answer_all(strange, value);
  auto r = f.c.bcast(f.g, {});
  INFO(describe(r.outcome()));
  check_members(r.outcome(), {1}, member_state::unknown, phase::delivery, errc::malformed, 0);
  REQUIRE(r.outcome().merged().size() == 3);
}

TEST_CASE("a reply beyond the capacity that was announced is not taken", "[hostile]") {
  infiltrated f(4, flat{}, 1);
  collective_reply_head clean;
  clean.flags = collective_reply_head::clean;
  clean.values = 1;
  f.x->answer_all(clean, bytes(20000));
  auto r = f.c.bcast(f.g, {});
  INFO(describe(r.outcome()));
  check_members(r.outcome(), {1}, member_state::unknown, phase::delivery, errc::too_large, 0);
  REQUIRE(r.outcome().merged().size() == 3);
}

TEST_CASE("a member of another version says so, and its subtree takes part", "[version]") {
  constexpr std::uint32_t n = 11;
  for (const tree_spec& spec :
       {tree_spec(kary{2}), tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(flat{})}) {
    const tree_view tree(spec, n, 0);
    for (const std::set<std::uint32_t>& others : std::vector<std::set<std::uint32_t>>{
             {1}, {2}, {5}, {10}, {1, 2}, {1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}) {
      virtual_cluster c(n);
      versioned_service<3> now;
      versioned_service<2> before;
      versioned_service<7> after;
      for (std::uint32_t rank = 0; rank < n; ++rank) {
        if (!others.contains(rank)) {
          c[rank].serve(now).value();
        } else if (rank % 2 == 0) {
          c[rank].serve(before).value();
        } else {
          c[rank].serve(after).value();
        }
      }
      auto g = c.make_group<versioned_service<3>>(0, spec);
      auto r = c.bcast(g, {});
      INFO(to_string(spec) << " " << describe(r.outcome()));
      std::uint64_t total = 0;
      for (std::uint32_t rank = 0; rank < n; ++rank) {
        INFO("rank " << rank);
        if (others.contains(rank)) {
          check_members(r.outcome(), {rank}, member_state::failed, phase::admission, errc::version_mismatch,
                        rank);
          REQUIRE(r.outcome().why(rank).what.detail() == (rank % 2 == 0 ? 2 : 7));
        } else {
          REQUIRE(r.outcome().state(rank) == member_state::merged);
          REQUIRE((*now.executed)[rank] == 1);
          total += rank + 1;
        }
      }
      REQUIRE(before.executed->empty());
      REQUIRE(after.executed->empty());
      REQUIRE(r->total.value == total);
      REQUIRE(r->members.value == n - others.size());
      // For a root of another version, the other members are the ones that differ.
      if (others == std::set<std::uint32_t>{2}) {
        auto theirs = c[2].find_group<versioned_service<2>>(g.id()).value();
        auto reverse = c.bcast(theirs, {});
        REQUIRE(reverse->members.value == 1);
        REQUIRE(reverse.outcome().failed().size() == n - 1);
      }
      REQUIRE(c.quiet());
    }
  }
}
