#include "transport/memory/transfer_queue.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/segment_payload.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

static_assert(wire::fixed_size<memory_head> == memory_head_bytes);

void transfer_segment::heard(exchange& e, reply_event& event) noexcept {
  auto& segment = static_cast<transfer_segment&>(e);
  segment.queue_->heard(segment, event);
}

transfer_segment& transfer_queue::acquire() {
  if (free_.empty()) {
    blocks_.push_back(std::make_unique<transfer_segment[]>(step));
    for (std::size_t i = 0; i < step; ++i) {
      blocks_.back()[i].queue_ = this;
      free_.push_back(blocks_.back()[i]);
    }
  }
  return free_.pop_front();
}

/// Releases a segment that is no longer under way.
void transfer_queue::release(transfer_segment& segment) noexcept {
  --segment.owner_->in_flight_;
  --segment.owner_->peer_->in_flight;
  segment.list_hook<transfer_segment>::unlink();
  free_.push_front(segment);
}

void transfer_queue::start(transfer& t, session& to, transfer_shape shape) noexcept {
  transfer_peer& peer = peers_[to.peer()];
  peer.to = &to;
  const std::uint32_t most = endpoint_.options().transfer_window;
  t.window_ = shape.window == 0 ? most : std::min(shape.window, most);
  t.segment_ = shape.segment == 0 ? endpoint_.options().transfer_segment_bytes
                                  : std::min<std::uint32_t>(shape.segment, max_bulk_payload_bytes);
  t.peer_ = &peer;
  peer.ready.push_back(t);
  pump(peer);
}

/// Sends as many segments as the window allows, one at a time and in turn.
void transfer_queue::pump(transfer_peer& peer) noexcept {
  const auto room = [&] {
    return peer.in_flight < endpoint_.options().transfer_window ||
           SCOLL_MUTANT(bulk_window_ignored, "all segments of a transfer are asked for at once");
  };
  while (!peer.ready.empty() && room()) {
    transfer& t = peer.ready.pop_front();
    const bool sent = send_segment(t);
    if (t.wants_turn()) sent ? peer.ready.push_back(t) : peer.ready.push_front(t);
    if (!sent) return;  // `resume` continues
  }
}

void transfer_queue::resume() noexcept {
  for (auto& [node, peer] : peers_) pump(peer);
}

/// Sends the next segment. False if there is no buffer at present.
bool transfer_queue::send_segment(transfer& t) noexcept {
  const auto size =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(t.segment_, t.local_.size() - t.next_));
  transfer_segment& segment = acquire();
  segment.owner_ = &t;
  segment.offset_ = t.next_;
  segment.size_ = size;
  segment.tries_ = 0;
  message& m = endpoint_.acquire_message();
  if (!t.get() && !load_payload(buffers_, m, {&t.local_, t.next_, size}, t.checked_)) {
    endpoint_.release_message(m);
    free_.push_front(segment);
    return false;
  }
  t.segments_.push_back(segment);
  ++t.in_flight_;
  ++t.peer_->in_flight;
  t.begun_ = true;
  t.next_ += size;
  if (const auto s = dispatch(segment, m); !s) {
    release(segment);
    stop(t, s.error());
    settle(t);
  }
  return true;
}

/// Sends the request for a segment. `m` has its payload.
status transfer_queue::dispatch(transfer_segment& segment, message& m) noexcept {
  transfer& t = *segment.owner_;
  memory_head head = t.head_;
  if (!SCOLL_MUTANT(bulk_offset_ignored, "every segment is taken from the beginning of its range"))
    head.offset += segment.offset_;
  head.length = segment.size_;
  const auto head_size = wire::encode_to(m.head_space(), head);
  SCOLL_ASSERT(head_size.has_value(), "the head of a segment exceeds its frame");
  m.set_head_bytes(*head_size);
  const lent_range local{&t.local_, segment.offset_, segment.size_};
  segment.recalled_ = false;
  segment.receive_into(t.get() && segment.size_ > placed_payload_bytes ? local : lent_range{});
  return t.peer_->to->request(segment, traffic_class::bulk, m, t.get() ? segment.size_ : 0);
}

void transfer_queue::heard(transfer_segment& segment, reply_event& event) noexcept {
  if (segment.reader_.reading()) return heard_while_reading(segment, event);
  transfer& t = *segment.owner_;
  const lent_range local{&t.local_, segment.offset_, segment.size_};
  if (t.get() && !event.final) {
    segment.read_ = true;
    if (endpoint_.memory().reads().begin(segment.reader_, *t.peer_->to, event, local)) return;
    segment.read_ = false;
  }
  if (t.get() && !event.final && (recalls(event) || t.peer_->to->remote() == nullptr))
    return read_over(segment, {});  // the right is gone before it could be used
  end_segment(segment, deliver(t, segment, event));
}

void transfer_queue::end_segment(transfer_segment& segment, const status& outcome) noexcept {
  transfer& t = *segment.owner_;
  transfer_peer& peer = *t.peer_;
  if (!outcome) {
    segment.cancel();  // in case more was to follow
    stop(t, outcome.error());
  }
  release(segment);
  settle(t);
  pump(peer);
}

// ---- reading what the peer has given a right to

void transfer_segment::read_over(right_reader& r, const status& outcome) noexcept {
  transfer_segment& segment = static_cast<reader&>(r).segment;
  segment.queue_->read_over(segment, outcome);
}

/// The peer wants the right back, or the exchange has ended under the READs.
void transfer_queue::heard_while_reading(transfer_segment& segment, reply_event& event) noexcept {
  if (!event.final && recalls(event)) {
    segment.recalled_ = true;
    if (right_reads::abandon(segment.reader_)) read_over(segment, {});
    return;
  }
  transfer& t = *segment.owner_;
  transfer_peer& peer = *t.peer_;
  if (!event.final) segment.cancel();
  stop(t, event.outcome ? error(errc::malformed, "a reply to an order that is being read")
                        : event.outcome.error());
  right_reads::abandon(segment.reader_) ? release(segment) : linger(segment);
  settle(t);
  pump(peer);
}

/// The READs have completed, so the right may be released, which is what the cancel says. If not all is there,
/// the segment is ordered anew.
void transfer_queue::read_over(transfer_segment& segment, const status& outcome) noexcept {
  segment.cancel();
  if (segment.owner_ == nullptr) {  // it has lingered
    segment.list_hook<transfer_segment>::unlink();
    free_.push_front(segment);
    return;
  }
  constexpr std::uint32_t most_tries = 16;
  const bool read = outcome && !segment.recalled_ && segment.read_;
  segment.read_ = false;
  if (read) return end_segment(segment, compare(segment));
  if (++segment.tries_ >= most_tries) {
    return end_segment(segment, outcome
                                    ? error(errc::busy, "the peer has recalled its rights again and again")
                                    : outcome.error());
  }
  if (const auto s = dispatch(segment, endpoint_.acquire_message()); !s) end_segment(segment, s);
}

/// Compares what was read with the checksum of the right.
status transfer_queue::compare(const transfer_segment& segment) noexcept {
  const memory_right& right = segment.reader_.right();
  const transfer& t = *segment.owner_;
  const bool differs = (right.flags & memory_right::checked) != 0 &&
                       t.local_.checksum(segment.offset_, segment.size_) != right.checksum;
  if (!differs) return {};
  return make_error(errc::checksum_mismatch, "{} bytes from node {} were altered on their way", segment.size_,
                    t.peer_->to->peer());
}

/// The transfer has ended, and READs are under way: they bring nothing to its memory. The right is released
/// when they have completed.
void transfer_queue::linger(transfer_segment& segment) noexcept {
  --segment.owner_->in_flight_;
  --segment.owner_->peer_->in_flight;
  segment.list_hook<transfer_segment>::unlink();
  segment.owner_ = nullptr;
  lingering_.push_back(segment);
}

/// Ends the transfer if it has nothing under way and nothing to send.
void transfer_queue::settle(transfer& t) noexcept {
  if (t.all_sent() && t.in_flight_ == 0) {
    t.ended_.set();
  } else if (t.wants_turn() && !t.linked()) {
    t.peer_->ready.push_back(t);
  }
}

/// Sends no more of a transfer: segments that wait for credit or a connection are taken back. Segments under
/// way are still waited for, so that the caller learns what became of them, and so that no part of a refused
/// put arrives afterwards.
void transfer_queue::stop(transfer& t, const error& reason) noexcept {
  if (!t.failure_) t.failure_ = reason;
  t.unlink();
  t.next_ = t.local_.size();
  t.begun_ = true;
  for (transfer_segment* s = t.segments_.first(); s != nullptr;) {
    transfer_segment& each = *std::exchange(s, t.segments_.next(*s));
    if (!each.pending() || each.transmitted()) continue;
    each.cancel();
    release(each);
  }
}

status transfer_queue::deliver(transfer& t, const transfer_segment& segment, reply_event& event) noexcept {
  if (!t.get() && event.reached && !event.refused &&
      !SCOLL_MUTANT(bulk_push_as_not_written, "a push that fails says that it has written nothing"))
    t.may_have_written_ = true;
  if (!event.outcome) return event.outcome;
  if (event.fate == payload_disposition::damaged && SCOLL_MUTANT(bulk_damage_ignored)) return {};
  if (event.fate == payload_disposition::damaged) {
    return make_error(errc::checksum_mismatch, "{} bytes from node {} were altered on their way",
                      segment.size_, t.peer_->to->peer());
  }
  const bool arrived = event.fate == payload_disposition::lent || event.fate == payload_disposition::placed;
  if (!event.final || !arrived || event.payload_bytes != (t.get() ? segment.size_ : 0)) {
    return make_error(errc::malformed, "node {} answered {} bytes of memory with {}", t.peer_->to->peer(),
                      segment.size_, event.payload_bytes);
  }
  if (event.fate == payload_disposition::lent) t.local_.copy_in(segment.offset_, event.payload.bytes);
  return {};
}

void transfer_queue::abandon(transfer& t, const error& reason) noexcept {
  stop(t, reason);
  t.local_.recall();
  while (!t.segments_.empty()) {
    transfer_segment& segment = t.segments_.front();
    if (segment.reader_.reading() && !right_reads::abandon(segment.reader_)) {
      linger(segment);
      continue;
    }
    const bool transmitted = segment.cancel();
    if (transmitted && !t.get() && !SCOLL_MUTANT(bulk_push_as_not_written)) t.may_have_written_ = true;
    release(segment);
  }
  t.ended_.set();
  pump(*t.peer_);
}

void transfer_queue::close(const error& reason) noexcept {
  for (auto& [node, peer] : peers_) {
    while (!peer.ready.empty()) abandon(peer.ready.front(), reason);
  }
}

}  // namespace scoll::transport
