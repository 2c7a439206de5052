#include <utility>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/memory/transfer_queue.hpp"
#include "transport/session/limits.hpp"
#include "transport/wire/wire.hpp"

// Segments whose bytes hardware moves.
namespace scoll::transport {

void transfer_segment::on_right(const memory_right& what) noexcept {
  queue_->granted(*this, what);
}
void transfer_segment::on_right_ended() noexcept {
  queue_->right_ended(*this);
}
void transfer_segment::on_read(const status& outcome) noexcept {
  queue_->has_read(*this, outcome);
}

// ---- gets

/// A part of the reply to a get: a right, or its recall.
void transfer_queue::heard_part(transfer_segment& segment, reply_event& event) noexcept {
  const auto what = wire::decode_from<memory_right>(event.head);
  const bool recalls = what && (what->flags & memory_right::recalled) != 0;
  if (segment.reader_ != nullptr) {
    if (!recalls || segment.reader_->posted()) return;
    service_.readers().take_back(*std::exchange(segment.reader_, nullptr));
    return order_again(segment);
  }
  if (segment.by_right_) {
    segment.cancel();
    event.outcome = error(errc::malformed, "a put was answered with a right");
    return put_answered(segment, event);
  }
  transfer& t = *segment.owner_;
  const bool checked = t.head_.operation == memory_order_kind::checked_get;
  const bool fits = what && t.get() && event.payload_bytes == 0 &&
                    (recalls || (what->length() <= segment.size_ &&
                                 ((what->flags & memory_right::checked) != 0) == checked));
  if (!fits) {
    return conclude(segment,
                    make_error(errc::malformed, "node {} answered {} bytes of memory with a strange right",
                               t.peer_->to->peer(), segment.size_));
  }
  if (recalls) {
    segment.recalled_ = true;
    return;
  }
  if (t.failure_) return conclude(segment, t.failure_);
  if (segment.recalled_ || !right_readers::is_current(*t.peer_->to, *what)) return order_again(segment);
  segment.reading_ = static_cast<std::uint32_t>(what->length());
  segment.reader_ =
      &service_.readers().begin(segment, *t.peer_->to, *what, {&t.local_, segment.offset_, segment.reading_});
}

/// The exchange is over. What is posted is waited for all the same.
void transfer_queue::ended_while_reading(transfer_segment& segment, const reply_event& event) noexcept {
  segment.outcome_ =
      event.outcome ? status(error(errc::malformed, "a right was followed by an answer")) : event.outcome;
  if (segment.reader_->posted()) return;
  service_.readers().take_back(*std::exchange(segment.reader_, nullptr));
  conclude(segment, segment.outcome_);
}

void transfer_queue::has_read(transfer_segment& segment, const status& outcome) noexcept {
  segment.reader_ = nullptr;
  if (outcome) {
    segment.attempts_ = 0;
    segment.offset_ += segment.reading_;
    segment.size_ -= segment.reading_;
    if (segment.size_ == 0) return conclude(segment, {});
  } else if (outcome.error() == errc::checksum_mismatch || outcome.error() == errc::stale_descriptor) {
    return conclude(segment, outcome);
  }
  if (!segment.pending()) return conclude(segment, segment.outcome_ ? outcome : segment.outcome_);
  order_again(segment);
}

/// Orders what is left of a segment anew. The cancel of the former order releases its right. While the two sides
/// go over to another path one after the other, rights may be refused again and again, so the last order is for
/// messages.
void transfer_queue::order_again(transfer_segment& segment) noexcept {
  transfer* const t = segment.owner_;
  if (t == nullptr) return conclude(segment, {});
  if (t->failure_) return conclude(segment, t->failure_);
  if (++segment.attempts_ > limits::read_attempts) {
    return conclude(segment, make_error(errc::connection_lost, "{} rights of node {} ended before their use",
                                        limits::read_attempts, t->peer_->to->peer()));
  }
  segment.cancel();
  segment.recalled_ = false;
  send_get(segment);
}

// ---- puts

/// Gives the peer a right to a segment that is about to begin, or to its beginning. False if there is no slab
/// at present.
bool transfer_queue::give_right(transfer_segment& segment, transfer& t, const lent_range& local) noexcept {
  remote_access& at = *t.peer_->to->remote();
  segment.right_ = service_.giver().give(segment, *t.peer_->to, at, local, {.checked = t.checked_});
  return segment.right_ != nullptr;
}

void transfer_queue::granted(transfer_segment& segment, const memory_right& what) noexcept {
  transfer& t = *segment.owner_;
  memory_head head = t.head_;
  head.operation = memory_order_kind::put_by_read;
  segment.receive_into({});
  send(segment, endpoint_.acquire_message(), head, &what);
}

/// Ends the right of a segment that has no exchange any more. True if its end must be waited for.
bool transfer_queue::drop_right(transfer_segment& segment) noexcept {
  if (segment.right_ == nullptr) return false;
  segment.answered_ = true;
  if (segment.right_->direct()) {
    service_.giver().end(*segment.right_);
    return true;
  }
  service_.giver().release(*std::exchange(segment.right_, nullptr));
  return false;
}

void transfer_queue::put_answered(transfer_segment& segment, reply_event& event) noexcept {
  segment.answered_ = true;
  segment.again_ =
      !event.outcome && event.outcome.error() == errc::stale && ++segment.attempts_ < limits::read_attempts;
  if (segment.owner_ != nullptr) segment.outcome_ = deliver(*segment.owner_, segment, event);
  if (!drop_right(segment)) put_over(segment);
}

void transfer_queue::right_ended(transfer_segment& segment) noexcept {
  segment.right_ = nullptr;
  if (segment.pending()) {  // its link has broken, as the peer is about to say
    if (segment.owner_ != nullptr && segment.owner_->abandoned_) conclude(segment, {});
    return;
  }
  if (!segment.answered_) segment.again_ = true;
  put_over(segment);
}

/// Neither the exchange nor the right of a put exists any more.
void transfer_queue::put_over(transfer_segment& segment) noexcept {
  transfer* const t = segment.owner_;
  if (segment.again_ && t != nullptr && !t->failure_) return put_again(segment);
  conclude(segment, segment.again_ ? status{} : segment.outcome_);
}

/// Sends a segment anew whose right has ended too early: with a new right, or with its bytes if that is not
/// possible now.
void transfer_queue::put_again(transfer_segment& segment) noexcept {
  transfer& t = *segment.owner_;
  const lent_range local{&t.local_, segment.offset_, segment.size_};
  segment.again_ = segment.answered_ = false;
  segment.outcome_ = {};
  // While the two sides return to a better path one after the other, rights by it are refused again and again.
  const bool last_attempt = segment.attempts_ + 1 == limits::read_attempts;
  segment.by_right_ = !last_attempt && t.peer_->to->remote() != nullptr && give_right(segment, t, local);
  if (segment.by_right_ && segment.right_->size() == segment.size_) return;  // `granted` follows
  if (segment.by_right_) service_.giver().release(*std::exchange(segment.right_, nullptr));
  segment.by_right_ = false;
  message& m = endpoint_.acquire_message();
  m.lend_payload(local, t.checked_);
  send(segment, m, t.head_, nullptr);
}

// ---- ends

/// The transfer of a segment is abandoned. The segment ends, or goes on alone, or, if hardware uses the memory
/// of the transfer itself, goes on with the transfer.
void transfer_queue::leave(transfer_segment& segment) noexcept {
  transfer& t = *segment.owner_;
  if (segment.reader_ != nullptr) {  // it is posted
    if (SCOLL_MUTANT(right_released_early, "a right is released while reads by it are under way"))
      segment.cancel();
    if (!segment.reader_->direct() ||
        SCOLL_MUTANT(hardware_unawaited, "a stopped transfer does not wait for the hardware"))
      orphan(segment);
    return;
  }
  const bool writes =
      segment.pending() && segment.transmitted() && !t.get() && !SCOLL_MUTANT(bulk_push_as_not_written);
  t.may_have_written_ |= writes;
  if (segment.right_ != nullptr && segment.pending()) {
    segment.abort();  // the answer is the release
    if (!segment.right_->direct()) orphan(segment);
    return;
  }
  if (drop_right(segment)) return;
  segment.cancel();
  release(segment);
}

/// A segment that uses a slab goes on without its transfer.
void transfer_queue::orphan(transfer_segment& segment) noexcept {
  --segment.owner_->in_flight_;
  segment.owner_ = nullptr;
  segment.list_hook<transfer_segment>::unlink();
  orphans_.push_back(segment);
}

void transfer_queue::adopt(exchange& order, right_reader& reader, session& to) noexcept {
  transfer_segment& segment = acquire();
  transfer_peer& peer = peers_[to.peer()];
  peer.to = &to;
  ++peer.in_flight;
  segment.owner_ = nullptr;
  segment.peer_ = &peer;
  segment.size_ = segment.reading_ = 0;
  segment.by_right_ = false;
  segment.outcome_ = {};
  segment.reader_ = &reader;
  reader.hand_over(segment);
  order.move_to(segment);
  orphans_.push_back(segment);
}

task<void> transfer_queue::fenced(transfer& t) {
  deadline_stop patience{deadline(endpoint_.get_executor().now() + limits::fence_limit)};
  const status in_time = co_await t.wait(patience.token());
  if (in_time || t.finished()) co_return;
  for (transfer_segment* s = t.segments_.first(); s != nullptr; s = t.segments_.next(*s)) {
    if (s->reader_ != nullptr) s->reader_->cut();
    if (s->right_ != nullptr) s->right_->access().cut();
  }
  const status over = co_await t.wait({});
  over.ignore();
}

}  // namespace scoll::transport
