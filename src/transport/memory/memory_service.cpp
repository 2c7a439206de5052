#include "transport/memory/memory_service.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/segment_payload.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

memory_service::memory_service(endpoint& owner)
    : endpoint_(owner),
      pieces_(owner, orders_),
      regions_(owner.options().self, owner.options().incarnation, owner.options().region_limit, pieces_),
      buffers_(placed_payload_bytes, owner.options().transfer_buffers),
      transfers_(owner, buffers_) {
  // This is called from inside the release of a message; the work that follows must not be done there.
  buffers_.on_refill(
      [](void* self) noexcept {
        auto& service = *static_cast<memory_service*>(self);
        if (!service.refill_.scheduled()) service.endpoint_.get_executor().schedule(service.refill_);
      },
      this);
}

memory_service::~memory_service() {
  buffers_.on_refill(nullptr, nullptr);
  endpoint_.get_executor().unschedule(refill_);
}

void memory_service::close() noexcept {
  transfers_.close({errc::closed, "this node is shutting down"});
}

status memory_service::check(const memory_head& head, const request_view& request) const noexcept {
  const std::size_t carried = request.payload_bytes();
  const bool get = is_get(head.operation);
  if (carried != (get ? 0 : head.length)) {
    return make_error(errc::malformed, "{} of {} bytes carries {}", get ? "a get" : "a put", head.length,
                      carried);
  }
  if (get && (head.length > max_bulk_payload_bytes || head.length > request.reply_capacity())) {
    return make_error(errc::too_large, "a get of {} bytes, {} fit the answer", head.length,
                      std::min<std::size_t>(max_bulk_payload_bytes, request.reply_capacity()));
  }
  return regions_.check(head);
}

lent_range memory_service::place_payload(std::span<const std::byte> head,
                                         std::uint32_t payload_bytes) noexcept {
  const auto decoded = wire::decode_from<memory_head>(head);
  const bool fits = decoded && !is_get(decoded->operation) && decoded->length == payload_bytes;
  return fits && regions_.check(*decoded) ? regions_.range(*decoded) : lent_range{};
}

void memory_service::on_request(request_view& request) noexcept {
  if (orders_piece(request.head())) return pieces_.serve(request, regions_);
  const payload_disposition fate = request.fate();
  const bool may_have_effects =
      fate == payload_disposition::torn || fate == payload_disposition::damaged || request.torn_before();
  const auto head = wire::decode_from<memory_head>(request.head());
  if (!head) return request.refuse(head.error());
  if (const auto s = check(*head, request); !s) return request.refuse(s.error(), may_have_effects);
  if (fate == payload_disposition::damaged &&
      !SCOLL_MUTANT(bulk_damage_ignored, "a segment that differs from its checksum is taken"))
    return request.refuse({errc::checksum_mismatch, "a segment was altered on its way"}, true);
  if (fate == payload_disposition::dropped || fate == payload_disposition::torn)
    return request.refuse({errc::stale_descriptor, "the region came or went while it was written"},
                          may_have_effects);
  const bool get = is_get(head->operation);
  if (!get && fate == payload_disposition::lent) regions_.write(*head, request.payload().bytes);
  message* const answer = get && !waiting_.empty() ? nullptr : compose(*head);
  if (answer == nullptr) return hold(request, *head);
  incoming work;
  request.accept(work);
  work.reply(*answer);
}

/// Composes the reply to a request. Null if there is no buffer at present.
message* memory_service::compose(const memory_head& head) {
  message& m = endpoint_.acquire_message();
  m.set_head_bytes(0);
  if (!is_get(head.operation)) return &m;
  if (load_payload(buffers_, m, regions_.range(head), head.operation == memory_order_kind::checked_get))
    return &m;
  endpoint_.release_message(m);
  return nullptr;
}

void memory_service::hold(request_view& request, const memory_head& head) {
  held_order& get = orders_.acquire();
  get.head = head;
  request.accept(get);
  waiting_.push_back(get);
  ++waiting_count_;
}

void memory_service::forget(held_order& order) noexcept {
  if (order.table != nullptr) return pieces_.release_parked(order);
  orders_.release(order);
  --waiting_count_;
}

void memory_service::refilled() noexcept {
  if (SCOLL_MUTANT(bulk_refill_unheard, "a waiter for a buffer is not told that there is one")) return;
  while (!waiting_.empty()) {
    held_order& next = waiting_.front();
    if (const auto s = regions_.check(next.head); !s) {
      next.refuse(s.error());
    } else if (message* const answer = compose(next.head)) {
      next.reply(*answer);
    } else {
      return;
    }
    forget(next);
  }
  transfers_.resume();
}

void memory_service::on_cancelled(incoming& work, const cancel_reason& reason) noexcept {
  auto& order = static_cast<held_order&>(work);
  if (reason.answer_awaited) {
    order.refuse({errc::cancelled, "the get was aborted"});
  } else {
    order.drop();
  }
  forget(order);
}

void memory_service::on_session_lost(session& peer, const error&) noexcept {
  for (held_order* order = waiting_.first(); order != nullptr;) {
    held_order& each = *std::exchange(order, waiting_.next(*order));
    if (each.from() != &peer) continue;
    each.drop();
    forget(each);
  }
  pieces_.drop_all_of(peer);
}

}  // namespace scoll::transport
