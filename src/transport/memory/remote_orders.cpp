#include "transport/memory/remote_orders.hpp"

#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/piece_server.hpp"
#include "transport/memory/piece_table.hpp"
#include "transport/memory/region_table.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

void held_order::on_right(const memory_right& what) noexcept {
  remote->told(*this, what);
}

void held_order::on_recall() noexcept {
  memory_right recall;
  recall.link = right->access().id();
  recall.flags = memory_right::recalled;
  if (told) remote->send_part(*this, recall);
}

void held_order::on_right_ended() noexcept {
  right = nullptr;
  remote->right_ended(*this);
}

void held_order::on_read(const status& outcome) noexcept {
  remote->has_read(*this, outcome);
}

held_order& remote_orders::accept(request_view& request, const memory_head& head) noexcept {
  held_order& order = orders_.acquire();
  order.head = head;
  order.remote = this;
  request.accept(order);
  ++open_;
  return order;
}

void remote_orders::forget(held_order& order) noexcept {
  --open_;
  orders_.release(order);
}

// ---- gets

void remote_orders::serve_get(request_view& request, const memory_head& head) noexcept {
  held_order& order = accept(request, head);
  if (!give(order)) starved_.push_back(order);
}

/// False if there is no slab at present.
bool remote_orders::give(held_order& order) noexcept {
  if (order.head.operation == memory_order_kind::piece_get) return give_piece(order);
  remote_access* const at = order.from()->remote();
  const bool checked = order.head.operation == memory_order_kind::checked_get;
  if (at == nullptr) {  // the answer waits for a connection, which may be of any kind
    message& m = endpoint_.acquire_message();
    m.set_head_bytes(0);
    m.lend_payload(regions_.range(order.head), checked);
    order.reply(m);
    forget(order);
    return true;
  }
  order.right = giver_.give(order, *order.from(), *at, regions_.range(order.head), {.checked = checked});
  if (order.right == nullptr) return false;
  served_.push_back(order);
  return true;
}

void remote_orders::resume() noexcept {
  intrusive_list<held_order> now;
  now.splice(starved_);
  while (!now.empty()) {
    held_order& order = now.pop_front();
    if (const error why = refusal_of(order)) {
      order.refuse(why);
      forget(order);
    } else if (!give(order)) {
      starved_.push_back(order);
    }
  }
}

/// Why an order that has waited for a slab cannot be served any more.
error remote_orders::refusal_of(const held_order& order) const noexcept {
  if (const auto s = regions_.check(order.head); !s) return s.error();
  const piece_table* const table = regions_.pieces(order.head.region);
  if (table == nullptr) return {};
  if (table->failure()) return table->failure();
  if (table->state(*table->piece_of(order.head)) == piece_table::piece_state::published) return {};
  return {errc::stale, "the piece has been passed on, and its memory used again"};
}

// ---- pieces

bool remote_orders::can_give(const session& peer, const lent_range& piece) noexcept {
  if (piece.size <= placed_payload_bytes) return false;
  remote_access* const at = peer.remote();
  return at != nullptr && at->registrar().outgoing().slab_bytes() >= piece.size;
}

void remote_orders::serve_piece(request_view& request, const memory_head& head) noexcept {
  held_order& order = accept(request, head);
  if (!give(order)) starved_.push_back(order);
}

void remote_orders::take_piece(held_order& order) noexcept {
  order.list_hook<>::unlink();
  order.table = nullptr;
  order.remote = this;
  ++open_;
  if (!give(order)) starved_.push_back(order);
}

/// A piece is copied, with the checksum that it was verified with, so that nothing refers to its memory.
bool remote_orders::give_piece(held_order& order) noexcept {
  piece_table& table = *regions_.pieces(order.head.region);
  const std::uint32_t piece = *table.piece_of(order.head);
  const session& peer = *order.from();
  if (!can_give(peer, table.range(piece))) {  // the connection has changed
    pieces_.answer(order, table, piece);
    forget(order);
    return true;
  }
  const right_terms terms{.checked = true, .copied = true, .known = table.checksum(piece)};
  order.right = giver_.give(order, peer, *peer.remote(), table.range(piece), terms);
  if (order.right == nullptr) return false;
  served_.push_back(order);
  table.note_use(piece, false);
  if (table.events() != nullptr) table.events()->on_answered(piece, peer.peer());
  return true;
}

void remote_orders::told(held_order& order, const memory_right& what) noexcept {
  if (order.right->recalled() && order.right->direct()) {  // before the peer has heard of it
    giver_.release(*std::exchange(order.right, nullptr));
    order.refuse({errc::stale_descriptor, "the region was withdrawn before it was read"});
    return forget(order);
  }
  order.told = true;
  send_part(order, what);
}

/// The connection has broken. If the peer has heard of the right it orders anew; else this side gives another
/// right, or the bytes, in the step that follows the end of each right.
void remote_orders::right_ended(held_order& order) noexcept {
  if (order.told || !order.open()) return;
  order.list_hook<>::unlink();
  starved_.push_back(order);
}

void remote_orders::send_part(held_order& order, const memory_right& what) noexcept {
  message& m = endpoint_.acquire_message();
  const auto size = wire::encode_to(m.head_space(), what);
  SCOLL_ASSERT(size.has_value(), "a right exceeds the head of its frame");
  m.set_head_bytes(*size);
  order.reply_part(m);
}

// ---- puts

void remote_orders::serve_put(request_view& request) noexcept {
  const auto put = wire::decode_from<put_by_read_head>(request.head());
  if (!put) return request.refuse(put.error());
  const memory_head& segment = put->segment;
  if (request.payload_bytes() != 0 || (put->source.flags & memory_right::recalled) != 0 ||
      put->source.length() != segment.length || segment.length > max_bulk_payload_bytes) {
    return request.refuse(make_error(errc::malformed, "a put of {} bytes that are to be read from {}",
                                     segment.length, put->source.length()));
  }
  if (const auto s = regions_.check(segment); !s) return request.refuse(s.error());
  if (!right_readers::is_current(request.from(), put->source))
    return request.refuse({errc::stale, "the right belongs to an earlier connection"});
  held_order& order = accept(request, segment);
  served_.push_back(order);
  order.reader = &readers_.begin(order, *order.from(), put->source, regions_.range(segment));
}

void remote_orders::has_read(held_order& order, const status& outcome) noexcept {
  order.reader = nullptr;
  if (!order.open()) return forget(order);  // nobody waits for the answer
  if (outcome) {
    message& m = endpoint_.acquire_message();
    m.set_head_bytes(0);
    order.reply(m);
  } else if (outcome.error() == errc::checksum_mismatch || outcome.error() == errc::stale_descriptor) {
    order.refuse(outcome.error(), true);
  } else {
    order.refuse({errc::stale, "the connection of the right broke while it was used"}, true);
  }
  forget(order);
}

// ---- ends

void remote_orders::cancelled(held_order& order, const cancel_reason& reason) noexcept {
  if (order.reader != nullptr && order.reader->posted()) {
    if (!reason.answer_awaited) order.drop();
    return;  // `has_read` follows
  }
  if (order.reader != nullptr) readers_.take_back(*std::exchange(order.reader, nullptr));
  if (order.right != nullptr && SCOLL_MUTANT(right_kept, "the owner of memory does not hear a release"))
    return;
  if (order.right != nullptr) giver_.release(*std::exchange(order.right, nullptr));
  if (reason.answer_awaited) {
    order.refuse({errc::cancelled, "the order was aborted"});
  } else {
    order.drop();
  }
  forget(order);
}

void remote_orders::drop_all_of(const session& peer) noexcept {
  for (intrusive_list<held_order>* list : {&starved_, &served_}) {
    for (held_order* order = list->first(); order != nullptr;) {
      held_order& each = *std::exchange(order, list->next(*order));
      if (each.open() && each.from() == &peer) cancelled(each, {});
    }
  }
}

}  // namespace scoll::transport
