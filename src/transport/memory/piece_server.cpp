#include "transport/memory/piece_server.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/region_table.hpp"
#include "transport/memory/remote_orders.hpp"
#include "transport/session/limits.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

static_assert(wire::fixed_size<piece_head> == piece_head_bytes);

piece_table& piece_server::open(const piece_options& options, lent_memory& whole,
                                std::span<const std::span<std::byte>> slots) {
  if (spare_.empty()) {
    tables_.push_back(std::make_unique<piece_table>(*this));
    spare_.push_back(*tables_.back());
  }
  piece_table& table = spare_.pop_front();
  open_.push_back(table);
  table.begin(options, whole, slots);
  return table;
}

void piece_server::close(piece_table& table) noexcept {
  table.end();
  table.unlink();
  spare_.push_front(table);
}

void piece_server::serve(request_view& request, const region_table& regions) noexcept {
  const auto order = wire::decode_from<piece_head>(request.head());
  if (!order) return request.refuse(order.error());
  const memory_head& segment = order->segment;
  if (request.payload_bytes() != 0 || (order->flags & ~unsigned{piece_head::up}) != 0)
    return request.refuse({errc::malformed, "an order for a piece with a payload or an unknown flag"});
  if (segment.length > request.reply_capacity()) {
    return request.refuse(make_error(errc::too_large, "a piece of {} bytes, {} fit the answer",
                                     segment.length, request.reply_capacity()));
  }
  if (const auto s = regions.check(segment); !s) return request.refuse(s.error());
  piece_table& table = *regions.pieces(segment.region);
  const auto piece = table.piece_of(segment);
  if (!piece) return request.refuse(piece.error());
  if (table.failure()) return request.refuse(table.failure());
  switch (table.state(*piece)) {
    case piece_table::piece_state::absent:
      if (SCOLL_MUTANT(piece_answered_early, "an order is answered before its piece has come")) break;
      return park(request, table, *order, *piece);
    case piece_table::piece_state::passed:
      return request.refuse(
          make_error(errc::stale, "piece {} has been passed on, and its memory used again", *piece));
    case piece_table::piece_state::published: break;
  }
  if (remote_orders::can_give(request.from(), table.range(*piece)))
    return remote_.serve_piece(request, segment);
  incoming work;
  request.accept(work);
  answer(work, table, *piece);
}

void piece_server::answer(incoming& work, piece_table& table, std::uint32_t piece) noexcept {
  const lent_range at = table.range(piece);
  message& m = endpoint_.acquire_message();
  m.set_head_bytes(0);
  if (at.size > placed_payload_bytes) {
    if (SCOLL_MUTANT(piece_hashed_anew, "a member computes the checksum of a piece anew for each consumer")) {
      m.lend_payload(at, true);
    } else {
      m.lend_payload(at, known_checksum{table.checksum(piece)});
    }
  } else if (const error why = copy_small(m, at, table.checksum(piece))) {
    endpoint_.release_message(m);
    return work.refuse(why);
  }
  table.note_use(piece, at.size > placed_payload_bytes);
  const node_id to = work.from()->peer();
  work.reply(m);
  if (table.events() != nullptr) table.events()->on_answered(piece, to);
}

/// Links break when a small payload differs from its checksum, and would send it again without end. So the
/// copy that will be sent is compared here.
error piece_server::copy_small(message& m, const lent_range& at, std::uint64_t checksum) noexcept {
  buffer_ref buffer = endpoint_.acquire_payload();
  if (!buffer) return endpoint_.no_payload_left("a small piece");
  const std::span<std::byte> bytes(buffer.data(), at.size);
  at.memory->copy_out(at.offset, bytes);
  if (wire::checksum(bytes) != checksum)
    return {errc::checksum_mismatch, "the piece was altered after it had been verified"};
  if (bytes.size() <= message::inline_payload_bytes) {
    m.copy_payload(bytes, checksum);
  } else {
    m.share_payload({std::move(buffer), bytes}, checksum);
  }
  return {};
}

void piece_server::answer_parked(held_order& order) noexcept {
  if (remote_orders::can_give(*order.from(), order.table->range(order.piece))) {
    --parked_;
    return remote_.take_piece(order);
  }
  answer(order, *order.table, order.piece);
  release_parked(order);
}

void piece_server::park(request_view& request, piece_table& table, const piece_head& order,
                        std::uint32_t piece) noexcept {
  const std::uint32_t limit = endpoint_.options().parked_limit;
  if (parked_ >= limit && !SCOLL_MUTANT(parked_unbounded, "any number of orders wait for their pieces")) {
    return request.refuse(
        make_error(errc::busy, "{} orders wait for pieces: link.parked_limit is {}", parked_, limit));
  }
  if (table.parked_of(request.from()) >= limits::parked_per_peer) {
    return request.refuse(
        make_error(errc::busy, "{} orders of one peer wait for pieces of a region", limits::parked_per_peer));
  }
  held_order& waiting = orders_.acquire();
  request.accept(waiting);
  if (!SCOLL_MUTANT(parked_order_keeps_credit, "an order keeps its credit while it waits for its piece"))
    waiting.release_credit();
  waiting.head = order.segment;
  waiting.piece = piece;
  ++parked_;
  table.park(waiting);
  if (table.events() != nullptr)
    table.events()->on_ordered(piece, request.from().peer(), (order.flags & piece_head::up) != 0);
}

std::size_t piece_server::most_parked_of_one() noexcept {
  std::size_t most = 0;
  for (piece_table* table = open_.first(); table != nullptr; table = open_.next(*table))
    most = std::max(most, table->most_parked_of_one());
  return most;
}

void piece_server::refuse_all(const error& reason) noexcept {
  for (piece_table* table = open_.first(); table != nullptr; table = open_.next(*table))
    table->refuse_all(reason);
}

void piece_server::drop_all_of(const session& peer) noexcept {
  for (piece_table* table = open_.first(); table != nullptr; table = open_.next(*table))
    table->drop_all_of(peer);
}

void piece_server::plan(ready_node& step) noexcept {
  if (!step.scheduled()) endpoint_.get_executor().schedule(step);
}

void piece_server::forget(ready_node& step) noexcept {
  if (step.scheduled()) endpoint_.get_executor().unschedule(step);
}

}  // namespace scoll::transport
