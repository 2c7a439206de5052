#include "transport/memory/piece_order.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/memory_service.hpp"
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
  session* const to = std::exchange(to_, nullptr);
  if (again_.armed()) endpoint_.get_executor().disarm(again_);
  if (ending_.scheduled()) endpoint_.get_executor().unschedule(ending_);
  if (right_reader* const reader = std::exchange(reader_, nullptr)) {
    memory_service& service = endpoint_.memory();
    if (reader->posted()) {
      service.transfers().adopt(*this, *reader, *to);
    } else {
      service.readers().take_back(*reader);
    }
  }
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
  if (event.outcome && !event.final) return order.granted(event);
  if (order.reader_ != nullptr) {
    order.lost_ =
        event.outcome ? status(error(errc::malformed, "a right was followed by an answer")) : event.outcome;
    if (order.reader_->posted()) return;
    order.endpoint_.memory().readers().take_back(*std::exchange(order.reader_, nullptr));
    return order.end(order.lost_);
  }
  if (event.outcome) return order.answered(event);
  if (event.refused && event.outcome.error() == errc::busy) return order.send_later();
  if (event.refused && event.outcome.error() == errc::checksum_mismatch) return order.differs();
  order.end(event.outcome);
}

void piece_order::answered(reply_event& event) noexcept {
  const bool arrived = event.fate == payload_disposition::lent || event.fate == payload_disposition::placed ||
                       event.fate == payload_disposition::damaged;
  if (!arrived || !event.payload_checksum || event.payload_bytes != head_.segment.length)
    return malformed(event.payload_bytes);
  if (event.fate == payload_disposition::damaged &&
      !SCOLL_MUTANT(piece_digest_unchecked,
                    "a piece that comes in a message is not compared with its checksum"))
    return differs();
  if (event.fate == payload_disposition::lent) local_.copy_in(0, event.payload.bytes);
  checksum_ = *event.payload_checksum;
  end({});
}

void piece_order::malformed(std::uint64_t bytes) noexcept {
  cancel();  // in case more was to follow
  end(make_error(errc::malformed, "node {} answered an order for {} bytes with {}", to_->peer(),
                 head_.segment.length, bytes));
}

/// The answer is a right to read the piece, or its recall. The cancel of the order releases it.
void piece_order::granted(reply_event& event) noexcept {
  const auto right = wire::decode_from<memory_right>(event.head);
  right_readers& readers = endpoint_.memory().readers();
  if (!right || event.payload_bytes != 0) return reader_ == nullptr ? malformed(event.payload_bytes) : void();
  if (reader_ != nullptr || (right->flags & memory_right::recalled) != 0) {
    if (reader_ == nullptr || reader_->posted()) return;
    readers.take_back(*std::exchange(reader_, nullptr));
    cancel();
    return send_later();
  }
  if ((right->flags & memory_right::checked) == 0 || right->length() != head_.segment.length)
    return malformed(right->length());
  if (!right_readers::is_current(*to_, *right)) {
    cancel();
    return send_later();
  }
  checksum_ = right->checksum;
  lost_ = {};
  // Through a slab, so that the order can be taken back at once.
  reader_ = &readers.begin(*this, *to_, *right, {&local_, 0, head_.segment.length}, true);
}

void piece_order::on_read(const status& outcome) noexcept {
  reader_ = nullptr;
  const bool over = !pending();
  cancel();
  if (outcome) return end({});
  if (outcome.error() == errc::checksum_mismatch) return differs();
  if (over) return end(lost_);
  send_later();
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
