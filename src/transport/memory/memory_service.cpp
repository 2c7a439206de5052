#include "transport/memory/memory_service.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/segment_payload.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

memory_service::memory_service(endpoint& owner)
    : endpoint_(owner),
      pieces_(owner, orders_, remote_),
      regions_(*this, owner.options(), pieces_),
      buffers_(placed_payload_bytes, owner.options().transfer_buffers),
      giver_(owner.get_executor(), registered_, owner.statistics_, &freed, this),
      readers_(registered_, owner.statistics_, &freed, this),
      remote_(owner, orders_, regions_, pieces_, giver_, readers_),
      transfers_(*this, owner, buffers_) {
  buffers_.on_refill(&freed, this);
}

/// This is called from inside the release of a message, or from a transport; the work that follows must not be
/// done there.
void memory_service::freed(void* self) noexcept {
  auto& service = *static_cast<memory_service*>(self);
  if (!service.refill_.scheduled()) service.endpoint_.get_executor().schedule(service.refill_);
}

memory_service::~memory_service() {
  buffers_.on_refill(nullptr, nullptr);
  endpoint_.get_executor().unschedule(refill_);
}

void memory_service::close() noexcept {
  readers_.end_all();
  giver_.end_all();
  transfers_.close({errc::closed, "this node is shutting down"});
  tell_unpinned();
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
  if (puts_by_read(request.head())) return remote_.serve_put(request);
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
  if (may_be_read(head->operation) && head->length > placed_payload_bytes &&
      request.from().remote() != nullptr)
    return remote_.serve_get(request, *head);
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
  if (load_payload(buffers_, m, regions_.range(head), is_checked(head.operation))) return &m;
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
  serve_waiting();
  readers_.resume();
  remote_.resume();
  transfers_.resume();
  if (!withdrawals_.empty()) tell_unpinned();
}

void memory_service::tell_unpinned() noexcept {
  for (withdrawal* w = withdrawals_.first(); w != nullptr;) {
    withdrawal& each = *std::exchange(w, withdrawals_.next(*w));
    if (each.memory.pinned()) continue;
    each.unlink();
    each.over.set();
  }
}

result<std::unique_ptr<registered_span>> memory_service::begin_registration(std::span<std::byte> memory) {
  if (!registered_.is_free(memory)) return error(errc::already_exists, "a part of the memory is registered");
  auto span = std::make_unique<registered_span>(endpoint_.rail_, memory);
  registered_.enter(*span);
  ++endpoint_.statistics_.registrations;
  return span;
}

task<void> memory_service::unpinned(lent_memory& memory) {
  const bool unawaited =
      SCOLL_MUTANT(withdrawal_unawaited, "registered memory is given back while peers may read it");
  if (!memory.pinned() || unawaited) co_return;
  withdrawal waits(memory);
  withdrawals_.push_back(waits);
  giver_.recall(memory);
  deadline_stop patience{deadline(endpoint_.get_executor().now() + limits::recall_limit)};
  const status in_time = co_await waits.over.wait(patience.token());
  if (in_time || waits.over.is_set()) co_return;
  giver_.cut(memory);
  readers_.cut(memory);
  const status fenced = co_await waits.over.wait();
  fenced.ignore();
}

void memory_service::serve_waiting() noexcept {
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
}

void memory_service::on_cancelled(incoming& work, const cancel_reason& reason) noexcept {
  auto& order = static_cast<held_order&>(work);
  if (order.remote != nullptr) return remote_.cancelled(order, reason);
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
  remote_.drop_all_of(peer);
}

}  // namespace scoll::transport
