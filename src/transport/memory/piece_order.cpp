#include "transport/memory/piece_order.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
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
  differed_ = recalled_ = false;
  tries_ = 0;
  exchange_ = &endpoint_.memory().exchanges().acquire(*this);
  pause_ = nanoseconds(0);
  send();
}

void piece_order::take_back() noexcept {
  if (!under_way()) return;
  to_ = nullptr;
  if (again_.armed()) endpoint_.get_executor().disarm(again_);
  if (ending_.scheduled()) endpoint_.get_executor().unschedule(ending_);
  endpoint_.memory().exchanges().let_go(*std::exchange(exchange_, nullptr));
  local_.recall();
}

void piece_order::send() noexcept {
  message& m = endpoint_.acquire_message();
  const auto head_size = wire::encode_to(m.head_space(), head_);
  SCOLL_ASSERT(head_size.has_value(), "the head of an order exceeds its frame");
  m.set_head_bytes(*head_size);
  const std::uint32_t size = head_.segment.length;
  recalled_ = false;
  exchange_->receive_into(size > placed_payload_bytes ? lent_range{&local_, 0, size} : lent_range{});
  const status sent = to_->request(*exchange_, traffic_class::bulk, m, size);
  if (sent) return;
  if (sent.error() == errc::busy) return send_later();
  outcome_ = sent;
  endpoint_.get_executor().schedule(ending_);
}

void piece_order::heard(reply_event& event) noexcept {
  if (exchange_->right.reading()) return heard_while_reading(event);
  if (!event.final) {
    const lent_range whole{&local_, 0, head_.segment.length};
    if (endpoint_.memory().reads().begin(exchange_->right, *to_, event, whole)) return;
    if (recalls(event) || to_->remote() == nullptr) return send_anew({});
  }
  if (event.outcome) return answered(event);
  if (event.refused && event.outcome.error() == errc::busy) return send_later();
  if (event.refused && event.outcome.error() == errc::checksum_mismatch) return differs();
  end(event.outcome);
}

// ---- reading what the peer has given a right to

/// The peer wants the right back, or the exchange has ended under the READs.
void piece_order::heard_while_reading(const reply_event& event) noexcept {
  if (!event.final && recalls(event)) {
    recalled_ = true;
    if (right_reads::abandon(exchange_->right)) send_anew({});
    return;
  }
  end(event.outcome ? status(error(errc::malformed, "a reply to an order that is being read"))
                    : event.outcome);
}

/// The READs have completed, so the right may be released, which is what the cancel says.
void piece_order::read_over(const status& outcome) noexcept {
  if (!outcome || recalled_) return send_anew(outcome);
  exchange_->cancel();
  const memory_right& right = exchange_->right.right();
  const std::uint64_t found = local_.checksum(0, head_.segment.length);
  if ((right.flags & memory_right::checked) == 0 || found != right.checksum) return differs();
  checksum_ = found;
  end({});
}

/// The right is gone, before all was read.
void piece_order::send_anew(const status& why) noexcept {
  exchange_->cancel();
  constexpr std::uint32_t most_tries = 16;
  if (++tries_ < most_tries) return send();
  end(why ? status(error(errc::busy, "the peer has recalled its rights again and again")) : why);
}

void piece_exchange::heard(exchange& e, reply_event& event) noexcept {
  static_cast<piece_exchange&>(e).owner->heard(event);
}

void piece_exchange::read_over(right_reader& r, const status& outcome) noexcept {
  piece_exchange& self = static_cast<reader&>(r).of;
  if (self.owner != nullptr) return self.owner->read_over(outcome);
  self.cancel();  // it has lingered
  self.pool->release(self);
}

piece_exchange& piece_exchanges::acquire(piece_order& owner) {
  if (free_.empty()) {
    blocks_.push_back(std::make_unique<piece_exchange[]>(step));
    for (std::size_t i = 0; i < step; ++i) free_.push_back(blocks_.back()[i]);
  }
  piece_exchange& e = free_.pop_front();
  e.owner = &owner;
  e.pool = this;
  return e;
}

void piece_exchanges::release(piece_exchange& e) noexcept {
  e.list_hook<piece_exchange>::unlink();
  free_.push_front(e);
}

/// What is being read brings nothing any more. The right is released when the READs have completed.
void piece_exchanges::let_go(piece_exchange& e) noexcept {
  e.owner = nullptr;
  if (e.right.reading() && !right_reads::abandon(e.right)) {
    lingering_.push_back(e);
    return;
  }
  e.cancel();
  release(e);
}

void piece_order::answered(reply_event& event) noexcept {
  const bool arrived = event.fate == payload_disposition::lent || event.fate == payload_disposition::placed ||
                       event.fate == payload_disposition::damaged;
  if (!event.final || !arrived || !event.payload_checksum || event.payload_bytes != head_.segment.length) {
    exchange_->cancel();  // in case more was to follow
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
  endpoint_.memory().exchanges().let_go(*std::exchange(exchange_, nullptr));
  ended_(*this);
}

}  // namespace scoll::transport
