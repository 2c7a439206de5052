#include <deque>

#include "transfers.hpp"
#include "transport/wire/wire.hpp"

using namespace transfers;

namespace {

constexpr std::size_t large = 10 * mebibyte;

}  // namespace

TEST_CASE("gets and puts of all sizes", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w);
  fenced remote(made(large, 1));
  const auto region = p.exposed(remote.memory());
  const auto d = region.descriptor();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, message::inline_payload_bytes,
                                 message::inline_payload_bytes + 1, segment_bytes - 1, segment_bytes,
                                 segment_bytes + 1, 2 * segment_bytes, 2 * segment_bytes + 1, large}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{12345}, large - size}) {
      if (offset + size > large) continue;
      INFO(size << " bytes at " << offset);
      const bytes before(remote.memory().begin(), remote.memory().end());
      fenced local(size);
      REQUIRE(p.pull(d, offset, local.memory()).has_value());
      REQUIRE(local.holds(std::span(before).subspan(offset, size)));

      bytes after = before;
      const bytes fresh = made(size, size + offset);
      std::copy(fresh.begin(), fresh.end(), after.begin() + static_cast<std::ptrdiff_t>(offset));
      const auto written = p.push(d, offset, fresh);
      REQUIRE(written.has_value());
      REQUIRE(written.may_have_written());
      REQUIRE(remote.holds(after));
    }
  }
  REQUIRE(p.quiet());
  CHECK(p.left->in.seen.empty());
  CHECK(p.right->in.seen.empty());
}

TEST_CASE("segments lists and overlapping regions", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w);
  fenced store(made(200000, 1));
  std::vector<std::span<std::byte>> pieces{store.memory().subspan(150000, 50000),
                                           store.memory().subspan(7, 70000),
                                           store.memory().subspan(100000, 50001)};
  auto scattered = memory_region::expose(*p.right->ep, std::span<const std::span<std::byte>>(pieces),
                                         memory_access::read_write);
  REQUIRE(scattered.has_value());
  const auto whole = p.exposed(store.memory());
  fenced gathered(170001);
  REQUIRE(p.pull(scattered->descriptor(), 0, gathered.memory()).has_value());
  bytes expected;
  for (auto piece : pieces) expected.insert(expected.end(), piece.begin(), piece.end());
  CHECK(gathered.holds(expected));

  const bytes fresh = made(60000, 9);
  REQUIRE(p.push(scattered->descriptor(), 45000, fresh).has_value());
  std::copy(fresh.begin(), fresh.end(), expected.begin() + 45000);
  // The first piece ends where the last one begins to overlap it, by one byte.
  fenced image(200000);
  REQUIRE(p.pull(whole.descriptor(), 0, image.memory()).has_value());
  CHECK(test::same(image.memory().subspan(195000, 5000), std::span(fresh).first(5000)));
  CHECK(test::same(image.memory().subspan(7, 55000), std::span(fresh).subspan(5000)));
  CHECK(store.intact());
}

TEST_CASE("transfers both ways at once, in every mixture", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w);
  constexpr std::size_t size = 2 * mebibyte + 17;
  std::deque<fenced> remote;
  std::deque<fenced> local;
  std::deque<memory_region> regions;
  std::deque<started<status>> gets;
  std::deque<started<push_status>> puts;
  for (std::uint64_t i = 0; i < 8; ++i) {
    node& here = i % 2 == 0 ? *p.left : *p.right;
    node& there = i % 2 == 0 ? *p.right : *p.left;
    const bool is_get = i % 4 < 2;
    remote.emplace_back(is_get ? made(size, i) : bytes(size));
    local.emplace_back(is_get ? bytes(size) : made(size, i));
    auto region = memory_region::expose(*there.ep, remote.back().memory(), memory_access::read_write);
    REQUIRE(region.has_value());
    regions.push_back(std::move(*region));
    const auto d = regions.back().descriptor();
    const auto memory = local.back().memory();
    if (is_get) {
      gets.emplace_back(w->ex(), transport::pull(*here.ep, d, 0, memory));
    } else {
      puts.emplace_back(w->ex(), transport::push(*here.ep, d, 0, memory));
    }
  }
  const auto ended = [](const auto& s) { return s.done(); };
  REQUIRE(
      w->until([&] { return std::ranges::all_of(gets, ended) && std::ranges::all_of(puts, ended); }, 60s));
  for (auto& g : gets) CHECK(g->has_value());
  for (auto& s : puts) CHECK(s->has_value());
  for (std::size_t i = 0; i < remote.size(); ++i) {
    CHECK(remote[i].holds(made(size, i)));
    CHECK(local[i].holds(made(size, i)));
  }
  REQUIRE(p.quiet());
}

TEST_CASE("both ends pull from each other and keep step", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w);
  constexpr std::size_t size = 16 * mebibyte;  // four windows: one end may be one ahead
  fenced left_store(made(size, 1));
  fenced right_store(made(size, 2));
  auto left_region = memory_region::expose(*p.left->ep, left_store.memory());
  auto right_region = memory_region::expose(*p.right->ep, right_store.memory());
  fenced to_left(size);
  fenced to_right(size);
  started<status> l(w->ex(), pull(*p.left->ep, right_region->descriptor(), 0, to_left.memory()));
  started<status> r(w->ex(), pull(*p.right->ep, left_region->descriptor(), 0, to_right.memory()));
  REQUIRE(w->until([&] { return l.done() || r.done(); }, 60s));
  // The slower transfer is nearly done too: neither side's requests waited for the end of the other's
  // replies.
  fenced& slower = l.done() ? to_right : to_left;
  const bytes wanted = made(size, l.done() ? 1 : 2);
  CHECK(test::same_up_to(slower.memory(), wanted) > size / 2);
  REQUIRE(w->until([&] { return l.done() && r.done(); }, 60s));
  CHECK(l->has_value());
  CHECK(r->has_value());
  CHECK(to_left.holds(made(size, 2)));
  CHECK(to_right.holds(made(size, 1)));
}

TEST_CASE("transfers to one peer take turns, within one window", "[reactor]") {
  const auto w = any_stream_world();
  two p(*w, [](endpoint_options& o) { o.queue_limit = o.transfer_window = 8; });
  fenced store(made(large, 1));
  const auto region = p.exposed(store.memory());
  fenced all(large);
  const auto big = p.begin_pull(region.descriptor(), 0, all.memory());
  std::deque<fenced> little;
  std::deque<started<status>> smalls;
  for (std::size_t i = 0; i < 40; ++i) {
    little.emplace_back(100000);
    smalls.push_back(p.begin_pull(region.descriptor(), i * 1000, little.back().memory()));
  }
  std::size_t most = 0;
  const auto ended = [](const auto& s) { return s.done(); };
  REQUIRE(w->until([&] {
    most = std::max(most, p.left->ep->messages_in_use());
    return std::ranges::all_of(smalls, ended);
  }));
  CHECK_FALSE(big.done());
  CHECK(most <= 8);
  for (std::size_t i = 0; i < smalls.size(); ++i) {
    CHECK(smalls[i]->has_value());
    CHECK(little[i].holds(store.memory().subspan(i * 1000, 100000)));
  }
  REQUIRE(w->until([&] { return big.done(); }));
  CHECK(big->has_value());
  CHECK(all.holds(store.memory()));
}

TEST_CASE("a transfer's own window bounds it", "[reactor]") {
  const auto w = any_stream_world();
  two p(*w);
  fenced store(made(mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(mebibyte);
  transfer_options narrow;
  narrow.window = 2;
  const auto g = p.begin_pull(region.descriptor(), 0, local.memory(), narrow);
  std::size_t most = 0;
  REQUIRE(w->until([&] {
    most = std::max(most, p.left->ep->messages_in_use());
    return g.done();
  }));
  CHECK(local.holds(store.memory()));
  CHECK(most <= 2);
}

TEST_CASE("what can be known to be wrong fails before anything is sent", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w);
  fenced store(made(100, 1));
  fenced local(made(100, 2));
  const auto read_only = p.exposed(store.memory(), memory_access::read);
  const auto write_only = p.exposed(store.memory(), memory_access::write);
  auto own = memory_region::expose(*p.left->ep, local.memory(), memory_access::read_write);
  const auto d = read_only.descriptor();
  CHECK(p.push(d, 0, local.memory()).error() == errc::invalid_argument);
  CHECK_FALSE(p.push(d, 0, local.memory()).may_have_written());
  CHECK(p.pull(write_only.descriptor(), 0, local.memory()).error() == errc::invalid_argument);
  CHECK(p.pull(d, 1, local.memory()).error() == errc::invalid_argument);
  CHECK(p.pull(d, UINT64_MAX, local.memory()).error() == errc::invalid_argument);
  CHECK(p.pull(d, 101, {}).error() == errc::invalid_argument);
  CHECK(p.pull(own->descriptor(), 0, local.memory()).error() == errc::invalid_argument);
  auto elsewhere = d;
  elsewhere.node = 99;
  CHECK(p.pull(elsewhere, 0, local.memory()).error() == errc::not_found);
  CHECK(p.left->ep->statistics().frames_sent == 0);
  CHECK(local.holds(made(100, 2)));
  CHECK(store.holds(made(100, 1)));
}

TEST_CASE("the peer believes no descriptor", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w, [](endpoint_options& o) { o.transfer_segment_bytes = 32768; });
  const bytes before = made(200000, 1);
  fenced store(before);
  const auto region = p.exposed(store.memory().subspan(50000, 100000), memory_access::read);
  const auto open = p.exposed(store.memory().subspan(50000, 100000));
  fenced local(made(150000, 2));
  const auto refused = [&](const region_descriptor& d, std::size_t size, bool writing = false) {
    if (!writing) return p.pull(d, 0, local.memory().first(size)).error().code();
    const auto s = p.push(d, 0, local.memory().first(size));
    CHECK_FALSE(s.may_have_written());
    return s.error().code();
  };
  for (const std::size_t size : {std::size_t{10}, std::size_t{150000}}) {
    auto forged = open.descriptor();
    forged.length = 150000;
    if (size > 100000) {
      CHECK(refused(forged, size) == errc::invalid_argument);
      // Its first segments lie within the region: they are written, but no byte beyond the region is.
      const auto s = p.push(forged, 0, local.memory());
      CHECK(s.error() == errc::invalid_argument);
      CHECK(s.may_have_written());
      CHECK(test::same(store.memory().first(50000), std::span(before).first(50000)));
      CHECK(test::same(store.memory().last(50000), std::span(before).last(50000)));
    }
    forged.generation += 1000;
    CHECK(refused(forged, size) == errc::stale_descriptor);
    CHECK(refused(forged, size, true) == errc::stale_descriptor);
    forged.region = 1U << 30U;
    CHECK(refused(forged, size) == errc::not_found);
    CHECK(refused(forged, size, true) == errc::not_found);
    forged.incarnation = 0;
    CHECK(refused(forged, size, true) == errc::stale_descriptor);
    forged = region.descriptor();
    forged.access = memory_access::read_write;
    forged.length = 150000;
    CHECK(refused(forged, size, true) == errc::invalid_argument);
  }
  CHECK(p.right->ep->statistics().links_broken == 0);
  CHECK(store.intact());
}

namespace {

/// Sends one request of class bulk with any head and payload.
struct raw_request final : exchange {
  raw_request() noexcept : exchange(&note) {}
  ~raw_request() { cancel(); }
  static void note(exchange& e, reply_event& event) noexcept {
    auto& self = static_cast<raw_request&>(e);
    self.ended = event.final;
    self.outcome = event.outcome ? error{} : event.outcome.error();
  }
  bool ended = false;
  error outcome;
};

error ask_raw(two& p, std::span<const std::byte> head, std::span<const std::byte> payload,
              std::uint32_t capacity) {
  raw_request r;
  message& m = p.left->ep->acquire_message();
  std::copy(head.begin(), head.end(), m.head_space().begin());
  m.set_head_bytes(head.size());
  m.copy_payload(payload, wire::checksum(payload));
  REQUIRE(p.left->to(2).request(r, traffic_class::bulk, m, capacity).has_value());
  REQUIRE(p.w.until([&] { return r.ended; }));
  return r.outcome;
}

}  // namespace

TEST_CASE("heads and payloads that make no sense are refused, and nothing else happens", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w);
  fenced store(made(1000, 1));
  const auto region = p.exposed(store.memory());
  const auto d = region.descriptor();
  const bytes payload = made(10, 3);
  std::array<std::byte, memory_head_bytes + 4> space{};
  const auto encoded = [&](const memory_head& head) {
    REQUIRE(wire::encode_to(space, head).has_value());
    return std::span<const std::byte>(space).first(memory_head_bytes);
  };
  const memory_head get{memory_order_kind::get, d.region, d.incarnation, d.generation, 5, 10};
  memory_head put = get;
  put.operation = memory_order_kind::put;
  for (std::size_t cut = 0; cut < memory_head_bytes; ++cut) {
    CHECK(ask_raw(p, encoded(put).first(cut), payload, 0) == errc::malformed);
  }
  static_cast<void>(encoded(put));
  CHECK(ask_raw(p, space, payload, 0) == errc::malformed);  // bytes left over
  CHECK(ask_raw(p, encoded(put), std::span(payload).first(9), 0) == errc::malformed);
  CHECK(ask_raw(p, encoded(put), {}, 0) == errc::malformed);
  CHECK(ask_raw(p, encoded(get), payload, 100) == errc::malformed);
  CHECK(ask_raw(p, encoded(get), {}, 9) == errc::too_large);
  memory_head huge = get;
  huge.length = max_bulk_payload_bytes + 1;
  CHECK(ask_raw(p, encoded(huge), {}, UINT32_MAX) == errc::too_large);
  huge.length = UINT32_MAX;
  CHECK(ask_raw(p, encoded(huge), {}, UINT32_MAX) == errc::too_large);
  CHECK(store.holds(made(1000, 1)));

  // Every altered bit is refused, or makes an allowed request, such as one for another offset.
  for (std::size_t at = 0; at < memory_head_bytes; ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      static_cast<void>(encoded(put));
      space[at] ^= static_cast<std::byte>(1U << bit);
      const error outcome = ask_raw(p, std::span(space).first(memory_head_bytes), payload, 100);
      const bool other_offset = at >= 21 && at < 29;
      CHECK((other_offset || outcome));
    }
  }
  CHECK(store.intact());
  CHECK(p.right->ep->statistics().links_broken == 0);
  REQUIRE(p.quiet());
}

namespace {

/// Gives wrong answers to requests for memory.
struct liar final : endpoint_events {
  std::size_t reply_bytes = 0;
  bool in_parts = false;
  endpoint* owner = nullptr;

  message& composed() {
    message& m = owner->acquire_message();
    m.set_head_bytes(0);
    const bytes payload(reply_bytes);
    m.copy_payload(payload, wire::checksum(payload));
    return m;
  }
  void on_request(request_view& request) noexcept override {
    incoming work;
    request.accept(work);
    if (in_parts) work.reply_part(composed());
    work.reply(composed());
  }
  void on_cancelled(incoming&, const cancel_reason&) noexcept override {}
  void on_session_lost(session&, const error&) noexcept override {}
};

}  // namespace

TEST_CASE("answers that do not fit are malformed", "[reactor]") {
  const auto w = any_bulk_world();
  liar wrong;
  two p(*w);
  wrong.owner = p.right->ep.get();
  p.right->ep->route(traffic_class::bulk, wrong);
  region_descriptor d;
  d.node = 2;
  d.length = 1U << 20U;
  d.access = memory_access::read_write;
  fenced local(made(100, 1));
  const auto code_of_get = [&] { return p.pull(d, 0, local.memory()).error().code(); };
  wrong.reply_bytes = 99;
  CHECK(code_of_get() == errc::malformed);
  wrong.reply_bytes = 0;
  CHECK(code_of_get() == errc::malformed);
  wrong.reply_bytes = 101;
  CHECK(code_of_get() == errc::too_large);
  wrong.reply_bytes = 100;
  wrong.in_parts = true;
  CHECK(code_of_get() == errc::malformed);
  CHECK(local.holds(made(100, 1)));
  wrong.in_parts = false;
  wrong.reply_bytes = 1;
  const auto put = p.push(d, 0, local.memory());
  CHECK(put.error() == errc::too_large);
  CHECK(put.may_have_written());
  CHECK(p.left->ep->statistics().links_broken == 0);
  REQUIRE(w->until([&] { return p.left->ep->messages_in_use() == 0; }));
}
