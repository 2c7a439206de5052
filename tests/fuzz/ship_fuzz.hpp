#pragma once

/// The fuzzer and the replay of its corpus run this code: the decoders that shipped calls and their bulk data
/// pass through, and a node whose peer sends the input. The node serves or refuses each message, or fails the
/// call that it belongs to, and leaves nothing behind. The first byte of an input chooses its use:
///
///   0  the head of a call          1  the head of an answer      2  a descriptor
///   3  a list of descriptors       4  the head of a get or put
///   5  records that become calls, to a node that serves functions
///   6  records that answer the calls of a node
///   7  what a peer says of its function
///   8  a right to read memory    9  the head of a put that is read
///
/// A record is kind, size of its head, size of its payload, head, payload.

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scoll/bulk/bulk.hpp"
#include "scoll/bulk/list.hpp"
#include "scoll/detail/ship_head.hpp"
#include "scoll/node_access.hpp"
#include "scoll/ship/function_text.hpp"
#include "scoll/ship/ship.hpp"
#include "scoll/ship/shipper.hpp"
#include "tests/scoll/collective/cluster.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/wire/checksum.hpp"
#include "wire_fuzz.hpp"

namespace fuzz {

using scoll::detail::ship_head;
using scoll::detail::ship_outcome;
using scoll::detail::ship_reply_head;

using numbers = std::vector<std::uint8_t>;
inline constexpr scoll::remote_function<numbers, numbers> ship_echo{"fuzz.echo"};
inline constexpr scoll::remote_function<outer, std::uint32_t> ship_count{"fuzz.count"};
inline constexpr scoll::remote_function<scoll::region_descriptor, std::uint64_t> ship_fetch{"fuzz.fetch"};
inline constexpr scoll::remote_function<scoll::bulk_list, std::uint64_t> ship_resolve{"fuzz.resolve"};

struct ship_record {
  std::uint8_t kind = 0;
  std::span<const std::byte> head;
  std::span<const std::byte> payload;

  std::uint8_t operand(std::size_t i) const {
    return i < head.size() ? static_cast<std::uint8_t>(head[i]) : 0;
  }
};

/// Returns the records of an input, one after the other, and empty records after its end.
class ship_records {
 public:
  explicit ship_records(std::span<const std::byte> input) : left_(input) {}
  bool over() const { return left_.size() < 3; }
  ship_record next() {
    if (over()) return {};
    ship_record r;
    r.kind = static_cast<std::uint8_t>(left_[0]);
    const auto head = static_cast<std::size_t>(left_[1]), payload = static_cast<std::size_t>(left_[2]);
    left_ = left_.subspan(3);
    r.head = take(std::min<std::size_t>(head, 64));
    r.payload = take(payload);
    return r;
  }

 private:
  std::span<const std::byte> take(std::size_t size) {
    const auto taken = left_.first(std::min(size, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  std::span<const std::byte> left_;
};

/// A peer that sends the requests and answers in the records, above a transport that keeps to the rules.
class ship_stranger final : private scoll::transport::endpoint_events {
 public:
  static constexpr scoll::node_id id = 9;

  ship_stranger(scoll::test::virtual_cluster& c, ship_records& script)
      : cluster_(c), script_(script), rail_(c.network, c.ex, c.size()), wire_(c.ex, rail_, options(), *this) {
    require(wire_.listen(rail_.listen_address()).has_value() && wire_.add_peer(1, c.address(0)).has_value());
    require(c[0].add_peer(id, rail_.listen_address()).has_value());
    for (std::size_t i = 0; i < store_.size(); ++i) store_[i] = static_cast<std::byte>(i);
    require(wire::encode_to(store_, static_cast<std::uint32_t>(store_.size() - 4)).has_value());
    auto exposed = scoll::transport::memory_region::expose(wire_, std::span<const std::byte>(store_));
    require(exposed.has_value());
    region_ = std::move(*exposed);
  }
  ~ship_stranger() {
    for (auto& e : asked_) {
      if (e->pending()) e->cancel();
    }
    for (auto& work : held_) {
      if (work->open()) work->drop();
    }
    region_.unexpose();
    cluster_.run(wire_.drain(std::chrono::seconds(1))).ignore();
  }
  ship_stranger(const ship_stranger&) = delete;
  ship_stranger& operator=(const ship_stranger&) = delete;

  void ask(const ship_record& r) {
    std::array<std::byte, 64> head_space, payload_space;
    auto head = r.head, payload = r.payload;
    if (r.kind % 4 != 0) {
      ship_head h = well_formed(r);
      if (r.kind % 4 == 2) h.flags |= ship_head::large;
      head = encoded_into(head_space, h);
    }
    if (r.kind % 4 >= 2) payload = encoded_into(payload_space, descriptor(r));
    asked_.push_back(std::make_unique<asking>());
    scoll::transport::message& m = wire_.acquire_message();
    fill(m, head, payload);
    wire_.find(1)->request(*asked_.back(), scoll::transport::traffic_class::call, m, 600).ignore();
    if (r.kind / 4 % 4 == 3 && asked_.back()->pending()) asked_.back()->cancel();
    cluster_.ex.run_for(std::chrono::microseconds(r.kind / 16 * 10));
  }

 private:
  struct asking : scoll::transport::exchange {
    asking() : exchange(&heard) {}
    static void heard(scoll::transport::exchange&, scoll::transport::reply_event& event) noexcept {
      if (!event.outcome || event.payload.bytes.empty()) return;
      require(scoll::wire::decode_from<ship_reply_head>(event.head).has_value());
    }
  };

  static scoll::transport::endpoint_options options() {
    scoll::transport::endpoint_options o;
    o.self = id;
    o.cluster = "test";
    o.incarnation = 1;
    return o;
  }
  static void fill(scoll::transport::message& m, std::span<const std::byte> head,
                   std::span<const std::byte> payload) {
    std::copy(head.begin(), head.end(), m.head_space().begin());
    m.set_head_bytes(head.size());
    m.copy_payload(payload, wire::checksum(payload));
  }
  template <class T>
  static std::span<const std::byte> encoded_into(std::span<std::byte> space, const T& value) {
    const auto size = wire::encode_to(space, value);
    require(size.has_value());
    return space.first(*size);
  }
  static ship_head well_formed(const ship_record& r) {
    const scoll::detail::function_key keys[] = {ship_echo.key(), ship_count.key(), ship_fetch.key(),
                                                ship_resolve.key()};
    const scoll::detail::function_key& key = keys[r.kind % 4 == 3 ? 2 : r.operand(0) % 4];
    ship_head h;
    h.flags = static_cast<std::uint8_t>(r.operand(1) % 8 == 1 ? ship_head::notification : 0);
    h.function = key.id;
    h.types = key.types;
    h.types.types += r.operand(1) % 16 == 15 ? 1U : 0U;
    h.types.versions += r.operand(1) % 16 == 14 ? 1U : 0U;
    h.types.fields += r.operand(1) % 16 == 13 ? 1U : 0U;
    h.remaining_ns = std::uint64_t{r.operand(2)} * 1'000;
    return h;
  }
  /// Describes the memory that is exposed here, unless the record says otherwise.
  scoll::region_descriptor descriptor(const ship_record& r) const {
    scoll::region_descriptor d = region_.descriptor();
    const std::uint8_t twist = r.operand(3);
    if (twist % 16 == 1) d.node = r.operand(4);
    if (twist % 16 == 2) d.incarnation += r.operand(4);
    if (twist % 16 == 3) d.generation += r.operand(4);
    if (twist % 16 == 4) d.region += r.operand(4);
    if (twist % 16 == 5) d.length -= std::min<std::uint64_t>(d.length, r.operand(4) * 16U);
    if (twist % 16 == 6) d.length += r.operand(4);
    if (twist % 16 == 7) d.length = std::uint64_t{r.operand(4)} << (twist / 4);
    return d;
  }

  void on_request(scoll::transport::request_view& request) noexcept override {
    const ship_record r = script_.next();
    if (r.kind % 8 == 7) return request.refuse({scoll::errc::busy, "the record says so"});
    held_.push_back(std::make_unique<scoll::transport::incoming>());
    request.accept(*held_.back());
    if (r.kind % 8 == 6) return;  // it will never be answered
    std::array<std::byte, 64> head_space, payload_space;
    auto head = r.head, payload = r.payload;
    if (r.kind % 8 != 0) {
      ship_reply_head h;
      h.outcome = static_cast<ship_outcome>(r.kind / 8 % 4);
      h.domain = r.operand(0);
      h.code = r.operand(1);
      head = encoded_into(head_space, h);
    }
    if (r.kind % 8 >= 4) payload = encoded_into(payload_space, descriptor(r));
    scoll::transport::message& m = wire_.acquire_message();
    fill(m, head, payload);
    if (r.kind / 32 % 2 == 0) return held_.back()->reply(m);
    held_.back()->reply_part(m);
    if (r.kind / 64 % 2 == 0) return;
    scoll::transport::message& last = wire_.acquire_message();
    fill(last, head, {});
    held_.back()->reply(last);
  }
  void on_cancelled(scoll::transport::incoming& work,
                    const scoll::transport::cancel_reason&) noexcept override {
    work.drop();
  }
  void on_session_lost(scoll::transport::session&, const scoll::error&) noexcept override {}

  scoll::test::virtual_cluster& cluster_;
  ship_records& script_;
  scoll::testing::sim_rail rail_;
  scoll::transport::endpoint wire_;
  std::array<std::byte, 3000> store_;
  scoll::transport::memory_region region_;
  std::vector<std::unique_ptr<asking>> asked_;
  std::vector<std::unique_ptr<scoll::transport::incoming>> held_;
};

inline scoll::task<scoll::result<std::uint64_t>> fetch_all(scoll::node& at, scoll::region_descriptor from,
                                                           scoll::stop_token stop) {
  constexpr std::uint64_t most = 10'000;
  numbers into(static_cast<std::size_t>(std::min(from.length, most)));
  scoll::transfer_options options;
  options.stop = stop;
  options.deadline = std::chrono::milliseconds(100);
  const scoll::status s = co_await scoll::pull(at, from, 0, std::as_writable_bytes(std::span(into)), options);
  if (!s) co_return s.error();
  co_return from.length;
}

inline scoll::task<scoll::result<std::uint64_t>> resolve_list(scoll::node& at, scoll::bulk_list list,
                                                              scoll::stop_token stop) {
  scoll::transfer_options options;
  options.stop = stop;
  options.deadline = std::chrono::milliseconds(100);
  auto descriptors = co_await scoll::resolve(at, list, options);
  if (!descriptors) co_return descriptors.error();
  require(descriptors->size() == list.count);
  co_return descriptors->size();
}

inline void serve_fuzzed(scoll::node& n) {
  using scoll::call_context;
  n.serve(ship_echo, [](const numbers& v, call_context&) { return v; }).value();
  n.serve(ship_count, [](const outer& o, call_context&) {
     return static_cast<std::uint32_t>(o.parts.size());
   }).value();
  n.serve(ship_fetch, [&n](const scoll::region_descriptor& d, call_context& c) {
     return fetch_all(n, d, c.stop());
   }).value();
  n.serve(ship_resolve, [&n](const scoll::bulk_list& l, call_context& c) {
     return resolve_list(n, l, c.stop());
   }).value();
}

inline scoll::task<void> call_stranger(scoll::node& from, std::size_t bytes) {
  const numbers argument(bytes, std::uint8_t{7});
  scoll::ship_options options;
  options.deadline = std::chrono::milliseconds(50);
  auto r = co_await scoll::ship(from, ship_stranger::id, ship_echo, argument, options);
  require(r || r.error().code() != scoll::errc::ok);
}

/// Runs a node and its peer until both have finished.
inline void converse_by_calls(std::span<const std::byte> input, bool node_asks) {
  scoll::node_options options;
  options.ship.handlers = 16;
  options.ship.eager_bytes = 512;
  options.ship.large_bytes = 8'000;
  options.ship.large_memory = 16'000;
  scoll::test::virtual_cluster c(1, options);
  serve_fuzzed(c[0]);
  ship_records script(input);
  {
    ship_stranger peer(c, script);
    scoll::scope calls(c.ex);
    for (int i = 0; i < 32 && !script.over(); ++i) {
      if (node_asks) {
        calls.spawn(call_stranger(c[0], i % 4 == 3 ? 700 : static_cast<std::size_t>(i)));
        c.ex.run_for(std::chrono::microseconds(100));
      } else {
        peer.ask(script.next());
      }
    }
    c.ex.run_for(std::chrono::milliseconds(200));
    require(calls.running() == 0);
    require(calls.join().await_ready());
    require(scoll::detail::node_access::shipper(c[0]).outgoing() == 0);
  }
  require(c.quiet());
  const auto& s = scoll::detail::node_access::shipper(c[0]);
  require(s.server_calls() == 0 && s.large_held() == 0);
  require(c.engine(0).wire().memory().regions().size() == 0);
}

inline void ship_input(std::span<const std::uint8_t> data) {
  if (data.empty()) return;
  const auto bytes = std::as_bytes(data.subspan(1));
  switch (data[0] % 10) {
    case 0: return exact<ship_head>(bytes);
    case 1: return exact<ship_reply_head>(bytes);
    case 2: return exact<scoll::region_descriptor>(bytes);
    case 3: return exact<scoll::bulk_list>(bytes);
    case 4: return exact<scoll::transport::memory_head>(bytes);
    case 5: return converse_by_calls(bytes, false);
    case 6: return converse_by_calls(bytes, true);
    case 7: return exact<scoll::detail::function_text>(bytes);
    case 8: return exact<scoll::transport::memory_right>(bytes);
    default: return exact<scoll::transport::put_by_read_head>(bytes);
  }
}

}  // namespace fuzz
