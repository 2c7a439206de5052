#include "transport/session/lane.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/mutants.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

namespace {

/// True if nothing of a payload was written to where it belongs as it came.
bool was_not_placed(payload_disposition fate) noexcept {
  return fate == payload_disposition::lent || fate == payload_disposition::dropped;
}

}  // namespace

lane::lane(session& owner, lane_id id) noexcept
    : session_(owner), id_(id), carrier_(std::make_unique<carrier>(*this)) {}

lane::~lane() {
  reset(false);
}

executor& lane::ex() const noexcept {
  return session_.endpoint_.get_executor();
}

// ---- the connection

void lane::pump() noexcept {
  if (carrier_->up()) {
    carrier_->write();
  } else if (needed()) {
    attend();
  } else if (carrier_->idle() && restores()) {
    carrier_->begin_connect();
  }
  for (auto& c : others_) {
    if (c->up()) c->write();
  }
  if (id_ == lane_id::bulk && has_paths()) widen();
}

void lane::on_attempt(const carrier& c) noexcept {
  if (is_spare(c) || up()) return;
  if (needed()) start_grace();
  if (has_paths()) hedge();
}

void lane::adopt(link& l, const identity& said, const frame_header& header, bool continues,
                 path_key by) noexcept {
  if (by != carrier_->path()) session_.need_paths();
  if (has_paths() && id_ == lane_id::control && by != carrier_->path())
    return carrier_on(by).adopt(l, said, header, continues);
  if (has_paths() && by != carrier_->path() && up() && remote() == nullptr)
    return carrier_on(by).adopt(l, said, header, continues);
  if (continues && (said.flags & identity_flags::spare) != 0 && up()) {
    if (spare_ == nullptr) spare_ = std::make_unique<carrier>(*this);
    spare_->stop();
    spare_->aim(by);
    return spare_->welcome_spare(l, said);
  }
  stop_spare();
  if (by != carrier_->path()) {
    carrier_->stop();
    aim(by);
  }
  carrier_->adopt(l, said, header, continues);
}

void lane::retry(carrier& c, const error& reason) noexcept {
  const bool awaited = needed();
  if (!on_failure(reason, awaited)) return;
  if (session_.with_client()) {  // which connects when it wants to
    if (awaited) start_grace();
    return;
  }
  const nanoseconds limit = session_.endpoint_.options().backoff_limit;
  c.connect_after_backoff(awaited ? limit : std::max(limit, limits::lost_lane_pause));
  if (awaited) start_grace();
}

bool lane::on_failure(const error& reason, bool awaited) noexcept {
  last_failure_ = reason;
  if (!awaited) end_grace();
  return awaited || lost_ || restores();
}

void lane::on_up(carrier& c, std::uint64_t said_received, std::uint64_t peer_received,
                 const arrival_window::bits& beyond) noexcept {
  if (has_paths()) on_path_up(c);
  end_grace();
  was_up_ = true;
  last_failure_ = {};
  // More may have come over another connection meanwhile; or the session is new, and nothing has.
  acknowledgement_sent_ = std::min(said_received, received());
  if (acknowledgement_sent_ != received()) acknowledge_now();
  if (!acknowledged(peer_received, beyond)) {
    return c.violated({errc::malformed, "the peer acknowledges what was never sent"});
  }
  if (std::exchange(lost_, false)) take_back_unwanted();
  session_.kick();
}

void lane::try_spare() noexcept {
  if (session_.with_client()) return;
  if (spare_ == nullptr) spare_ = std::make_unique<carrier>(*this);
  if (spare_->idle()) spare_->aim(carrier_->path());
  if (!spare_->idle() || SCOLL_MUTANT(half_dead_kept, "a connection that carries nothing is not replaced"))
    return;
  spare_->forget_failures();
  spare_->begin_connect();
}

void lane::promote_spare() noexcept {
  ++session_.endpoint_.statistics_.links_half_dead;
  std::swap(carrier_, spare_);
  spare_->stop();
}

bool lane::spare_takes_over(const error& reason) noexcept {
  if (spare_ == nullptr || spare_->idle()) return false;
  last_failure_ = reason;
  std::swap(carrier_, spare_);
  spare_->stop();
  if (needed()) start_grace();
  return true;
}

void lane::stop_spare() noexcept {
  if (spare_ != nullptr) spare_->stop();
}

void lane::reset(bool keep_connecting) noexcept {
  if (acknowledge_timer_.armed()) ex().disarm(acknowledge_timer_);
  while (!retained_.empty()) session_.release(retained_.pop_front());
  retained_count_ = 0;
  stripes_.reset();
  carrier_->set_cursor(nullptr);
  last_assigned_ = acknowledgement_sent_ = 0;
  arrived_.reset();
  placed_.clear();
  cancels_.clear();
  seen_ = oldest_ = 0;
  times_stuck_ = unanswered_for_ = 0;
  carried_by_.reset();
  acknowledge_now_ = left_ = lost_ = was_up_ = false;
  stop_others(keep_connecting);
  if (keep_connecting && !carrier_->up()) {
    if (!grace_timer_.armed()) return;
    end_grace();  // the new session has its own grace
    return start_grace();
  }
  end_grace();
  stop_spare();
  carrier_->stop();
  carrier_->forget_failures();
}

bool lane::leave() noexcept {
  if (!carrier_->up() || left_) return true;
  left_ = carrier_->say_goodbye();
  return left_;
}

// ---- receiving

/// It must predict what `on_sequenced` will decide. One copy of a message at a time is written to its place.
lent_range lane::place(const carrier& by, const frame_header& header,
                       std::span<const std::byte> head) noexcept {
  const bool expected =
      takes(header.sequence) && lane_of(header.klass) == id_ && head.size() >= message::envelope_bytes;
  if (!expected) return {};
  const lent_range place = session_.place(header, head);
  if (place.size == 0) return place;
  placed_.add(header.sequence);
  if (!others_.empty()) end_other_landings(by, header.sequence);
  return place;
}

void lane::on_sequenced(carrier& c, frame_view& frame) noexcept {
  const frame_header& header = frame.header;
  // Another copy of it has arrived, or is about to.
  const bool cut_off = c.landing() != 0 && c.landing_over(header.sequence);
  if (cut_off && !SCOLL_MUTANT(rails_cut_copy_counted, "a copy that was cut off counts as received")) return;
  if (header.sequence != received() + 1 && !takes_out_of_order(c, frame)) return;
  if (lane_of(header.klass) != id_) return c.violated({errc::malformed, "a message on the wrong lane"});
  if (frame.head.size() < message::envelope_bytes)
    return c.violated({errc::malformed, "a message without envelope"});
  const bool announced = header.type == frame_type::reply || header.type == frame_type::cancel;
  if (!announced && !session_.credits(header.klass).may_receive()) {
    return c.violated({errc::malformed, "a request or notice beyond its credit"});
  }
  const bool first = received() == acknowledgement_sent_;
  arrived_.add(header.sequence);
  frame.torn_before =
      placed_.has(header.sequence) && was_not_placed(frame.fate) &&
      !SCOLL_MUTANT(bulk_torn_put_forgotten, "a put that a broken connection tore is not written");
  placed_.remove(header.sequence);
  if (!others_.empty()) end_other_landings(c, header.sequence);
  c.forget_failures();
  acknowledge_soon(first);
  deliver(c, frame);
  if (!cancels_.empty()) hear_cancels();
}

bool lane::takes_out_of_order(carrier& c, frame_view& frame) noexcept {
  const frame_header& header = frame.header;
  const bool forgotten =
      header.sequence > received() &&
      SCOLL_MUTANT(rails_bitmap_forgotten, "what has arrived out of order is taken once more");
  if (arrived_.has(header.sequence) && !forgotten) {  // replayed: it arrived before
    ++session_.endpoint_.statistics_.duplicates;
    if (SCOLL_MUTANT(duplicates_delivered) && header.type == frame_type::request) {
      session_.on_request(frame);
    } else {
      acknowledge_now();
    }
    return false;
  }
  if (takes(header.sequence)) return true;
  c.violated({errc::malformed, "a gap in the sequence"});
  return false;
}

void lane::deliver(carrier& c, frame_view& frame) noexcept {
  if (frame.header.type == frame_type::request) return session_.on_request(frame);
  if (frame.header.type == frame_type::cancel) return on_cancel(frame);
  const bool reply = frame.header.type == frame_type::reply;
  const auto s = reply ? session_.on_reply(frame) : session_.on_notice(frame);
  if (!s) c.violated(s.error());
}

bool lane::acknowledged(std::uint64_t sequence) noexcept {
  if (sequence > last_assigned_) return false;
  if (SCOLL_MUTANT(retained_kept, "an acknowledged message is kept")) return true;
  const bool held_back = retained_count_ >= limits::retained_messages;
  while (!retained_.empty() && retained_.front().header().sequence <= sequence) let_go(retained_.front());
  if (held_back && retained_count_ < limits::retained_messages) session_.kick();
  return true;
}

/// The message has arrived.
void lane::let_go(message& m) noexcept {
  if (carrier_->cursor() == &m) carrier_->set_cursor(retained_.next(m));
  if (stripes_ != nullptr) {
    stripes_->mark(m.handed_to_, stripes::undecided, false);
    session_.kick();
  }
  m.unlink();
  --retained_count_;
  session_.release(m, notice_state::acknowledged);
}

/// `first`: nothing was owed before.
void lane::acknowledge_soon(bool first) noexcept {
  const std::uint64_t owed = received() - acknowledgement_sent_;
  if (first) unacknowledged_since_ = ex().now();
  if (owed >= limits::acknowledge_every) return acknowledge_now();
  if (acknowledge_timer_.armed()) return;
  ex().arm(acknowledge_timer_, ex().now() + session_.endpoint_.options().acknowledge_delay);
}

void lane::acknowledge_now() noexcept {
  acknowledge_now_ = true;
  session_.kick();
}

/// The timer stays armed while messages flow, so that a busy lane touches it once per delay, not once per
/// message.
void lane::acknowledge_due() noexcept {
  if (received() == acknowledgement_sent_) return;
  const time_point due = unacknowledged_since_ + session_.endpoint_.options().acknowledge_delay;
  if (ex().now() < due) return ex().arm(acknowledge_timer_, due);
  acknowledge_now();
}

// ---- sending

void lane::stamp(frame_header& header) noexcept {
  header.acknowledged = acknowledgement_sent_ =
      received() + SCOLL_MUTANT(acknowledges_ahead, "one message more than has arrived is acknowledged");
  session_.stamp(header, id_);
}

void lane::stamp_anew(frame_header& header) const noexcept {
  header.acknowledged = acknowledgement_sent_;
  session_.stamp_anew(header);
}

/// Messages that an earlier link may have lost come first (`again`), then new ones.
message* lane::find_message(const carrier& c, bool& again) noexcept {
  if (stripes_ != nullptr) return next_of_stripes(c, again);
  again = c.cursor() != nullptr;
  if (!is_active(c)) return nullptr;
  if (again) return c.cursor();
  return session_.peek(id_, retained_count_ < limits::retained_messages);
}

void lane::hand_over(message& m, carrier& to, bool again) noexcept {
  if (again) {
    ++session_.endpoint_.statistics_.replays;
    if (stripes_ == nullptr) to.set_cursor(retained_.next(m));
  } else {
    session_.take(m);
    m.header().sequence = ++last_assigned_;
    retained_.push_back(m);
    ++retained_count_;
  }
  if (stripes_ != nullptr) took_message(m, to, again);
  stamp(m.header());
}

}  // namespace scoll::transport
