#include "transport/memory/transfer_queue.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/limits.hpp"
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
  if (segment.owner_ != nullptr) --segment.owner_->in_flight_;
  --segment.peer_->in_flight;
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

bool transfer_queue::refers_to(node_id peer) const noexcept {
  const auto found = peers_.find(peer);
  return found != peers_.end() && (found->second.in_flight != 0 || !found->second.ready.empty());
}

void transfer_queue::resume() noexcept {
  for (auto& [node, peer] : peers_) pump(peer);
}

/// Sends the next segment. False if there is no buffer at present.
bool transfer_queue::send_segment(transfer& t) noexcept {
  const auto size =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(t.segment_, t.local_.size() - t.next_));
  const lent_range local{&t.local_, t.next_, size};
  if (t.get()) {
    transfer_segment& segment = acquire();
    begin(segment, t, size);
    send_get(segment);
    return true;
  }
  if (size > placed_payload_bytes && t.peer_->to->remote() != nullptr) {
    transfer_segment& segment = acquire();
    if (give_right(segment, t, local)) {
      begin(segment, t, segment.right_->size());
      return true;
    }
    free_.push_front(segment);
    return false;
  }
  message& m = endpoint_.acquire_message();
  if (!load_payload(buffers_, m, local, t.checked_)) {
    endpoint_.release_message(m);
    return false;
  }
  transfer_segment& segment = acquire();
  begin(segment, t, size);
  segment.receive_into({});
  send(segment, m, t.head_, nullptr);
  return true;
}

/// The segment takes the next `size` bytes of the transfer.
void transfer_queue::begin(transfer_segment& segment, transfer& t, std::uint32_t size) noexcept {
  segment.owner_ = &t;
  segment.peer_ = t.peer_;
  segment.offset_ = t.next_;
  segment.size_ = size;
  segment.attempts_ = 0;
  segment.recalled_ = segment.again_ = segment.answered_ = false;
  segment.by_right_ = segment.right_ != nullptr;
  segment.outcome_ = {};
  t.segments_.push_back(segment);
  ++t.in_flight_;
  ++t.peer_->in_flight;
  t.begun_ = true;
  t.next_ += size;
}

void transfer_queue::send_get(transfer_segment& segment) noexcept {
  transfer& t = *segment.owner_;
  const bool placed = segment.size_ > placed_payload_bytes;
  segment.receive_into(placed ? lent_range{&t.local_, segment.offset_, segment.size_} : lent_range{});
  memory_head head = t.head_;
  if (segment.attempts_ == limits::read_attempts &&
      !SCOLL_MUTANT(bulk_never_in_messages, "memory is asked for by READ, however often that was in vain"))
    head.operation = in_messages(head.operation);
  send(segment, endpoint_.acquire_message(), head, nullptr);
}

/// Sends the request of a segment; `head` is that of the transfer.
void transfer_queue::send(transfer_segment& segment, message& m, memory_head head,
                          const memory_right* right) noexcept {
  transfer& t = *segment.owner_;
  if (!SCOLL_MUTANT(bulk_offset_ignored, "every segment is taken from the beginning of its range"))
    head.offset += segment.offset_;
  head.length = segment.size_;
  const auto head_size = right == nullptr ? wire::encode_to(m.head_space(), head)
                                          : wire::encode_to(m.head_space(), put_by_read_head{head, *right});
  SCOLL_ASSERT(head_size.has_value(), "the head of a segment exceeds its frame");
  m.set_head_bytes(*head_size);
  if (const auto s = t.peer_->to->request(segment, traffic_class::bulk, m, t.get() ? segment.size_ : 0); !s) {
    segment.answered_ = true;
    stop(t, s.error());
    if (drop_right(segment)) return;
    release(segment);
    settle(t);
  }
}

void transfer_queue::heard(transfer_segment& segment, reply_event& event) noexcept {
  if (event.outcome && !event.final) return heard_part(segment, event);
  if (segment.reader_ != nullptr) return ended_while_reading(segment, event);
  if (segment.by_right_) return put_answered(segment, event);
  conclude(segment, deliver(*segment.owner_, segment, event));
}

/// Nothing is under way for the segment any more, except its exchange if the outcome is an error, or if the
/// exchange is the right that was used.
void transfer_queue::conclude(transfer_segment& segment, const status& outcome) noexcept {
  transfer* const t = segment.owner_;
  transfer_peer& peer = *segment.peer_;
  segment.cancel();
  if (t != nullptr && !outcome) stop(*t, outcome.error());
  release(segment);
  if (t != nullptr) settle(*t);
  pump(peer);
}

/// Ends the transfer if it has nothing under way and nothing to send.
void transfer_queue::settle(transfer& t) noexcept {
  if (t.all_sent() && t.in_flight_ == 0) {
    t.ended_.set();
  } else if (t.wants_turn() && !t.linked()) {
    t.peer_->ready.push_back(t);
  }
}

/// Sends no more of a transfer: segments that wait for credit, a connection or a slab are taken back.
/// Segments under way are still waited for, so that the caller learns what became of them, and so that no
/// part of a refused put arrives afterwards.
void transfer_queue::stop(transfer& t, const error& reason) noexcept {
  if (!t.failure_) t.failure_ = reason;
  t.unlink();
  t.next_ = t.local_.size();
  t.begun_ = true;
  for (transfer_segment* s = t.segments_.first(); s != nullptr;) {
    transfer_segment& each = *std::exchange(s, t.segments_.next(*s));
    if (each.reader_ != nullptr) {
      if (each.reader_->posted()) continue;
      service_.readers().take_back(*std::exchange(each.reader_, nullptr));
    } else if (each.pending() ? each.transmitted() : each.right_ == nullptr || each.answered_) {
      continue;
    }
    each.cancel();
    if (!drop_right(each)) release(each);
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
  t.abandoned_ = true;
  t.local_.let_go();
  for (transfer_segment* s = t.segments_.first(); s != nullptr;)
    leave(*std::exchange(s, t.segments_.next(*s)));
  if (t.segments_.empty()) t.ended_.set();
  pump(*t.peer_);
}

void transfer_queue::close(const error& reason) noexcept {
  for (auto& [node, peer] : peers_) {
    while (!peer.ready.empty()) abandon(peer.ready.front(), reason);
  }
}

}  // namespace scoll::transport
