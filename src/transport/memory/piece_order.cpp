#include "transport/memory/piece_order.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/limits.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

void piece_order::begin(session& to, const region_descriptor& from, std::uint32_t piece,
                        std::uint32_t piece_bytes, std::span<const std::span<std::byte>> into, bool up) {
  SCOLL_ASSERT(!under_way(), "an order is for one piece at a time");
  to_ = &to;
  piece_ = piece;
  local_.clear();
  for (const auto& span : into) local_.add(span);
  head_.segment = {memory_order_kind::piece_get,
                   from.region,
                   from.incarnation,
                   from.generation,
                   std::uint64_t{piece} * piece_bytes,
                   static_cast<std::uint32_t>(local_.size())};
  head_.flags = up ? piece_head::up : 0;
  differed_ = false;
  pause_ = nanoseconds(0);
  send();
}

void piece_order::take_back() noexcept {
  if (!under_way()) return;
  to_ = nullptr;
  if (again_.armed()) endpoint_.get_executor().disarm(again_);
  if (ending_.scheduled()) endpoint_.get_executor().unschedule(ending_);
  cancel();
  local_.recall();
}

void piece_order::send() noexcept {
  message& m = endpoint_.acquire_message();
  const auto head_size = wire::encode_to(m.head_space(), head_);
  SCOLL_ASSERT(head_size.has_value(), "the head of an order exceeds its frame");
  m.set_head_bytes(*head_size);
  const std::uint32_t size = head_.segment.length;
  receive_into(size > placed_payload_bytes ? lent_range{&local_, 0, size} : lent_range{});
  const status sent = to_->request(*this, traffic_class::bulk, m, size);
  if (sent) return;
  if (sent.error() == errc::busy) return send_later();
  outcome_ = sent;
  endpoint_.get_executor().schedule(ending_);
}

void piece_order::heard(exchange& e, reply_event& event) noexcept {
  auto& order = static_cast<piece_order&>(e);
  if (event.outcome) return order.answered(event);
  if (event.refused && event.outcome.error() == errc::busy) return order.send_later();
  if (event.refused && event.outcome.error() == errc::checksum_mismatch) return order.differs();
  order.end(event.outcome);
}

void piece_order::answered(reply_event& event) noexcept {
  const bool arrived = event.fate == payload_disposition::lent || event.fate == payload_disposition::placed ||
                       event.fate == payload_disposition::damaged;
  if (!event.final || !arrived || !event.payload_checksum || event.payload_bytes != head_.segment.length) {
    cancel();  // in case more was to follow
    return end(make_error(errc::malformed, "node {} answered an order for {} bytes with {}", to_->peer(),
                          head_.segment.length, event.payload_bytes));
  }
  if (event.fate == payload_disposition::damaged) return differs();
  if (event.fate == payload_disposition::lent) local_.copy_in(0, event.payload.bytes);
  checksum_ = *event.payload_checksum;
  end({});
}

/// The bytes may have been altered on their way here, or in the memory of the peer.
void piece_order::differs() noexcept {
  if (!std::exchange(differed_, true)) return send();
  end(make_error(errc::checksum_mismatch, "piece {} from node {} differs from its checksum", piece_,
                 to_->peer()));
}

void piece_order::send_later() noexcept {
  pause_ = std::clamp(pause_ * 2, limits::piece_retry_first, limits::piece_retry_limit);
  endpoint_.get_executor().arm(again_, endpoint_.get_executor().now() + pause_);
}

void piece_order::end(const status& outcome) noexcept {
  outcome_ = outcome;
  end_now();
}

void piece_order::end_now() noexcept {
  to_ = nullptr;
  ended_(*this);
}

}  // namespace scoll::transport
