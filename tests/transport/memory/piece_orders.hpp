#pragma once

#include <algorithm>
#include <deque>
#include <span>
#include <vector>

#include "transfers.hpp"
#include "transport/memory/piece_order.hpp"
#include "transport/memory/piece_server.hpp"
#include "transport/wire/checksum.hpp"

/// Regions in pieces, and orders for their pieces.
namespace pieces {

using namespace transfers;

inline constexpr std::uint32_t piece_bytes = least_piece_bytes;

/// An object whose last piece is not full.
inline constexpr std::size_t object_bytes = 10 * piece_bytes + 12345;
inline constexpr std::uint32_t object_pieces = 11;

/// Bytes of which every piece has a known checksum.
class content {
 public:
  content(std::size_t size, std::uint64_t salt) : all_(made(size, salt)) {}

  std::uint32_t count() const {
    return static_cast<std::uint32_t>((all_.size() + piece_bytes - 1) / piece_bytes);
  }
  std::span<std::byte> all() { return all_; }
  std::span<std::byte> piece(std::uint32_t i) { return cut(all_, i); }
  std::uint64_t checksum(std::uint32_t i) { return wire::checksum(piece(i)); }
  static std::span<std::byte> cut(std::span<std::byte> all, std::uint32_t i) {
    const std::size_t begin = std::size_t{i} * piece_bytes;
    return all.subspan(begin, std::min<std::size_t>(piece_bytes, all.size() - begin));
  }

 private:
  bytes all_;
};

/// Records what a region's owner is told.
struct owner final : piece_events {
  struct ordered {
    std::uint32_t piece;
    node_id by;
    bool up;
  };
  std::vector<ordered> orders;
  std::vector<std::uint32_t> answers;
  std::vector<std::uint32_t> returns;
  std::function<void(std::uint32_t)> then;

  void on_ordered(std::uint32_t piece, node_id by, bool up) noexcept override {
    orders.push_back({piece, by, up});
    if (then) then(piece);
  }
  void on_answered(std::uint32_t piece, node_id) noexcept override { answers.push_back(piece); }
  void on_returned(std::uint32_t piece) noexcept override { returns.push_back(piece); }
};

/// An order that records its end.
struct order final : piece_order {
  explicit order(endpoint& at) : piece_order(at, &ended) {}

  void ask(session& to, const region_descriptor& from, std::uint32_t piece, std::span<std::byte> into,
           bool up = false) {
    ends = 0;
    begin(to, from, piece, piece_bytes, {&into, 1}, up);
  }
  bool done() const { return ends == 1; }
  bool ok() const { return done() && outcome().has_value(); }
  errc code() const { return done() && !outcome() ? outcome().error().code() : errc::ok; }

  int ends = 0;
  std::function<void(order&)> then;

 private:
  static void ended(piece_order& o) noexcept {
    auto& self = static_cast<order&>(o);
    ++self.ends;
    if (self.then) self.then(self);
  }
};

/// Two nodes; the right one exposes pieces, and the left one orders them.
struct piece_pair : two {
  explicit piece_pair(world& on, const std::function<void(endpoint_options&)>& tune = {}) : two(on, tune) {}

  memory_region exposed_pieces(std::span<std::byte> memory, piece_events* events = nullptr,
                               bool complete = false) {
    piece_options options;
    options.piece_bytes = piece_bytes;
    options.complete = complete;
    options.events = events;
    auto region = memory_region::expose_pieces(*right->ep, memory, options);
    REQUIRE(region.has_value());
    return std::move(*region);
  }
  session& source() { return left->to(2); }
  order& add() { return orders.emplace_back(*left->ep); }
  order& ask(const memory_region& region, std::uint32_t piece, std::span<std::byte> into, bool up = false) {
    order& o = add();
    o.ask(source(), region.descriptor(), piece, into, up);
    return o;
  }
  std::size_t parked() const { return right->ep->memory().pieces().parked(); }
  bool parks(std::size_t count) {
    return w.until([&] { return parked() == count; });
  }
  bool ends(order& o) {
    return w.until([&] { return o.done(); });
  }
  bool all_end() {
    return w.until([&] { return std::ranges::all_of(orders, [](const order& o) { return o.done(); }); }, 60s);
  }

  std::deque<order> orders;
};

}  // namespace pieces
