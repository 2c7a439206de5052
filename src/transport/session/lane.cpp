#include "transport/session/lane.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/io/address.hpp"
#include "transport/io/control_frame.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

namespace {

/// The frames of one write. Places that are not used are not even touched: most batches have one frame, and
/// all places together are fifty cache lines.
class frame_batch {
 public:
  frame_batch() noexcept {}
  frame_batch(const frame_batch&) = delete;
  frame_batch& operator=(const frame_batch&) = delete;
  ~frame_batch() = default;

  bool full() const noexcept { return size_ == limits::batch_frames; }
  std::size_t size() const noexcept { return size_; }
  void push_back(const frame_parts& frame) noexcept { std::construct_at(&places_[size_++], frame); }
  const frame_parts& back() const noexcept { return places_[size_ - 1]; }
  std::span<const frame_parts> frames() const noexcept { return {places_, size_}; }

 private:
  static_assert(std::is_trivially_destructible_v<frame_parts>);
  union {
    frame_parts
        places_[limits::batch_frames];  // NOLINT(readability-identifier-naming): private, as the union is
  };
  std::size_t size_ = 0;
};

bool is_violation(const error& reason) noexcept {
  return reason == errc::malformed || reason == errc::too_large || reason == errc::checksum_mismatch;
}

/// True if nothing of a payload was written to where it belongs as it came.
bool was_not_placed(payload_disposition fate) noexcept {
  return fate == payload_disposition::lent || fate == payload_disposition::dropped;
}

}  // namespace

lane::lane(session& owner, lane_id id) noexcept : session_(owner), id_(id) {}

lane::~lane() {
  reset(false);
}

executor& lane::ex() const noexcept {
  return session_.endpoint_.get_executor();
}

// ---- connecting

void lane::pump() noexcept {
  if (state_ == state::up) {
    bool again = false;
    if (link_->writable()) {
      write_batch();
    } else if (acknowledge_now_ || next_message(again) != nullptr) {
      link_->flush();
    }
  } else if (needed()) {
    attend();
  }
}

void lane::begin_connect() noexcept {
  state_ = state::connecting;
  if (needed()) start_grace();
  session_.endpoint_.rail_.connect(std::string(address_of_lane(session_.address(), id_)), *this);
}

void lane::take_link(link& l) noexcept {
  link_ = &l;
  link_->set_owner(this);
  if (id_ == lane_id::bulk) link_->expect_bulk();
}

void lane::on_connected(link& connected) noexcept {
  take_link(connected);
  state_ = state::greeting;
  ++attempts_;
  ex().arm(greeting_timer_, ex().now() + session_.endpoint_.options().hello_limit);
  send_hello(frame_type::hello);
}

void lane::send_hello(frame_type type) noexcept {
  std::array<std::byte, max_control_payload_bytes> payload;
  const auto size = wire::encode_to(payload, session_.make_hello(id_));
  SCOLL_ASSERT(size.has_value(), "a hello exceeds its frame");
  frame_header header;
  header.type = type;
  session_.stamp(header, id_);
  write_control(*link_, header, std::span(payload).first(*size));
}

void lane::on_connect_failed(const error& reason) noexcept {
  pause(reason);
}

void lane::on_greeting(frame_view& frame) noexcept {
  if (frame.header.type == frame_type::refuse) return on_refused(frame);
  if (frame.header.type != frame_type::welcome)
    return violated({errc::malformed, "the hello was not answered"});
  const auto payload = frame.payload.bytes;
  if (const auto version = spoken_version(payload); version != protocol_version) {
    return refused_by_us(make_error(errc::version_mismatch, "node {} speaks protocol {}, this node {}",
                                    session_.peer(), version, protocol_version));
  }
  const auto answer = wire::decode_from<hello>(payload);
  if (!answer) return violated(answer.error());
  if (answer->lane != static_cast<std::uint8_t>(id_))
    return violated({errc::malformed, "welcome on the wrong lane"});
  if (const auto s = session_.on_welcome(*answer, *this); !s) {
    return refused_by_us(printable(s.error().code(), s.error().text()));
  }
  session_.apply_grants(frame.header);
  came_up(answer->received);
}

void lane::refused_by_us(const error& reason) noexcept {
  session_.endpoint_.last_refusal_ = reason;
  drop_link();
  pause(reason);
}

void lane::on_refused(frame_view& frame) noexcept {
  const auto why = wire::decode_from<refusal>(frame.payload.bytes);
  if (!why) return violated(why.error());
  drop_link();
  if (why->code == 0) return violated({errc::malformed, "a refusal without reason"});
  const error reason = printable(static_cast<errc>(why->code), why->text);
  if (reason.code() != errc::already_exists) session_.endpoint_.last_refusal_ = reason;
  pause(reason);
}

void lane::greeting_over() noexcept {
  drop_link();
  pause({errc::deadline_exceeded, "the peer accepted the connection and said nothing"});
}

/// Waits before the next attempt, longer each time and never in step with the peer.
void lane::pause(const error& reason) noexcept {
  if (greeting_timer_.armed()) ex().disarm(greeting_timer_);
  cursor_ = nullptr;
  last_failure_ = reason;
  session_.endpoint_.note_progress();
  const bool awaited = needed();
  if (!awaited && grace_timer_.armed()) ex().disarm(grace_timer_);
  if (!awaited && !lost_) {
    state_ = state::idle;
    return;
  }
  const endpoint_options& options = session_.endpoint_.options();
  state_ = state::pausing;
  const nanoseconds most =
      awaited ? options.backoff_limit : std::max(options.backoff_limit, limits::lost_lane_pause);
  backoff_ = std::clamp(backoff_ * 2, options.backoff_first, most);
  const auto jitter = session_.endpoint_.random_.below(static_cast<std::uint64_t>(backoff_.count()) / 4 + 1);
  ex().arm(pause_timer_, ex().now() + backoff_ + nanoseconds(static_cast<std::int64_t>(jitter)));
  if (awaited) start_grace();
}

void lane::resume_after_pause() noexcept {
  state_ = state::idle;
  if (needed() || lost_) return begin_connect();
  if (grace_timer_.armed()) ex().disarm(grace_timer_);
}

void lane::adopt(link& l, const hello& h, const frame_header& header, bool continues) noexcept {
  if (state_ == state::connecting) session_.endpoint_.rail_.cancel_connect(*this);
  drop_link();
  take_link(l);
  send_hello(frame_type::welcome);
  if (continues) session_.apply_grants(header);
  came_up(continues ? h.received : 0);
}

void lane::stop_timers() noexcept {
  for (timer_node* timer : {static_cast<timer_node*>(&pause_timer_), static_cast<timer_node*>(&grace_timer_),
                            static_cast<timer_node*>(&greeting_timer_)}) {
    if (timer->armed()) ex().disarm(*timer);
  }
}

void lane::came_up(std::uint64_t peer_received) noexcept {
  stop_timers();
  state_ = state::up;
  remote_ = link_->remote();
  was_up_ = true;
  last_failure_ = {};
  acknowledgement_sent_ = received_;  // the greeting has acknowledged it
  cursor_ = SCOLL_MUTANT(replay_forgotten, "a new connection replays nothing") ? nullptr : retained_.first();
  if (!acknowledged(peer_received)) {
    return violated({errc::malformed, "the peer acknowledges what was never sent"});
  }
  if (std::exchange(lost_, false)) take_back_unwanted();
  session_.kick();
}

// ---- losing the connection

void lane::on_closed(const error& reason) noexcept {
  link_ = nullptr;
  remote_ = nullptr;
  if (is_violation(reason)) session_.endpoint_.note_violation(reason);
  pause(reason);
}

void lane::violated(const error& reason) noexcept {
  session_.endpoint_.note_violation(reason);
  drop_link();
  pause(reason);
}

void lane::drop_link() noexcept {
  cursor_ = nullptr;
  remote_ = nullptr;
  if (link_ == nullptr) return;
  link_->set_owner(nullptr);
  std::exchange(link_, nullptr)->close();
}

void lane::reset(bool keep_connecting) noexcept {
  if (acknowledge_timer_.armed()) ex().disarm(acknowledge_timer_);
  while (!retained_.empty()) session_.release(retained_.pop_front());
  retained_count_ = 0;
  cursor_ = nullptr;
  last_assigned_ = received_ = acknowledgement_sent_ = placed_ = 0;
  acknowledge_now_ = left_ = lost_ = was_up_ = false;
  if (keep_connecting && state_ != state::up) {
    if (!grace_timer_.armed()) return;
    ex().disarm(grace_timer_);  // the new session has its own grace
    ex().arm(grace_timer_, ex().now() + session_.endpoint_.options().reconnect_grace);
    return;
  }
  if (state_ == state::connecting) session_.endpoint_.rail_.cancel_connect(*this);
  stop_timers();
  drop_link();
  state_ = state::idle;
  backoff_ = nanoseconds(0);
}

bool lane::leave() noexcept {
  if (state_ != state::up || left_) return true;
  if (!link_->writable()) return false;
  frame_header header;
  header.type = frame_type::goodbye;
  stamp(header);
  write_control(*link_, header);
  left_ = true;
  return true;
}

// ---- receiving

void lane::on_frame(frame_view& frame) noexcept {
  endpoint_statistics& count = session_.endpoint_.statistics_;
  ++count.frames_received;
  count.bytes_received += frame.header.frame_bytes();
  if (state_ == state::greeting) return on_greeting(frame);
  if (!acknowledged(frame.header.acknowledged)) {
    return violated({errc::malformed, "the peer acknowledges what was never sent"});
  }
  session_.apply_grants(frame.header);
  switch (frame.header.type) {
    case frame_type::request:
    case frame_type::reply:
    case frame_type::cancel:
    case frame_type::notice: return on_sequenced(frame);
    case frame_type::acknowledge: return;
    case frame_type::goodbye:
      return session_.fail(make_error(errc::closed, "node {} has shut down", session_.peer()));
    default: return violated({errc::malformed, "a greeting in the middle of a session"});
  }
}

/// It must predict what `on_frame` will decide: only the next message of the sequence is taken.
lent_range lane::place_payload(const frame_header& header, std::span<const std::byte> head) noexcept {
  const bool expected = state_ == state::up && header.sequence == received_ + 1 &&
                        lane_of(header.klass) == id_ && head.size() >= message::envelope_bytes;
  if (!expected) return {};
  const lent_range place = session_.place(header, head);
  if (place.size != 0) placed_ = header.sequence;
  return place;
}

void lane::on_sequenced(frame_view& frame) noexcept {
  const frame_header& header = frame.header;
  if (header.sequence != 0 && header.sequence <= received_) {  // replayed: it arrived before
    ++session_.endpoint_.statistics_.duplicates;
    if (SCOLL_MUTANT(duplicates_delivered) && header.type == frame_type::request)
      return session_.on_request(frame);
    return acknowledge_now();
  }
  if (header.sequence != received_ + 1) return violated({errc::malformed, "a gap in the sequence"});
  if (lane_of(header.klass) != id_) return violated({errc::malformed, "a message on the wrong lane"});
  if (frame.head.size() < message::envelope_bytes)
    return violated({errc::malformed, "a message without envelope"});
  const bool announced = header.type == frame_type::reply || header.type == frame_type::cancel;
  if (!announced && !session_.credits(header.klass).may_receive()) {
    return violated({errc::malformed, "a request or notice beyond its credit"});
  }
  received_ = header.sequence;
  frame.torn_before =
      placed_ == received_ && was_not_placed(frame.fate) &&
      !SCOLL_MUTANT(bulk_torn_put_forgotten, "a put that a broken connection tore is not written");
  backoff_ = nanoseconds(0);
  acknowledge_soon();
  if (header.type == frame_type::request) return session_.on_request(frame);
  if (header.type == frame_type::cancel) return session_.on_cancel(frame.head);
  const auto s = header.type == frame_type::reply ? session_.on_reply(frame) : session_.on_notice(frame);
  if (!s) violated(s.error());
}

bool lane::acknowledged(std::uint64_t sequence) noexcept {
  if (sequence > last_assigned_) return false;
  if (SCOLL_MUTANT(retained_kept, "an acknowledged message is kept")) return true;
  const bool held_back = retained_count_ >= limits::retained_messages;
  while (!retained_.empty() && retained_.front().header().sequence <= sequence) {
    message& m = retained_.front();
    if (cursor_ == &m) cursor_ = retained_.next(m);
    m.unlink();
    --retained_count_;
    session_.release(m, notice_state::acknowledged);
  }
  if (held_back && retained_count_ < limits::retained_messages) session_.kick();
  return true;
}

void lane::acknowledge_soon() noexcept {
  const std::uint64_t owed = received_ - acknowledgement_sent_;
  if (owed == 1) unacknowledged_since_ = ex().now();
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
  if (received_ == acknowledgement_sent_) return;
  const time_point due = unacknowledged_since_ + session_.endpoint_.options().acknowledge_delay;
  if (ex().now() < due) return ex().arm(acknowledge_timer_, due);
  acknowledge_now();
}

// ---- sending

void lane::on_writable() noexcept {
  session_.endpoint_.note_progress();
  if (state_ == state::up) write_batch();
}

void lane::stamp(frame_header& header) noexcept {
  header.acknowledged = acknowledgement_sent_ =
      received_ + SCOLL_MUTANT(acknowledges_ahead, "one message more than has arrived is acknowledged");
  session_.stamp(header, id_);
}

/// Messages that an earlier link may have lost come first (`again`), then new ones.
message* lane::next_message(bool& again) noexcept {
  again = cursor_ != nullptr;
  return again ? cursor_ : session_.peek(id_, retained_count_ < limits::retained_messages);
}

void lane::write_batch() noexcept {
  if (left_) return;
  endpoint_statistics& count = session_.endpoint_.statistics_;
  frame_batch batch;
  std::size_t bytes = 0;
  std::size_t carried = 0;
  bool all = false;
  while (!batch.full()) {
    bool again = false;
    message* m = next_message(again);
    if (m == nullptr) {
      all = true;
      break;
    }
    if (bytes + m->copied_bytes() > link_->batch_bytes()) break;
    if (again) {
      ++count.replays;
      cursor_ = retained_.next(*m);
    } else {
      session_.take(*m);
      m->header().sequence = ++last_assigned_;
      retained_.push_back(*m);
      ++retained_count_;
    }
    stamp(m->header());
    batch.push_back(m->parts());
    bytes += m->copied_bytes();
    carried += m->frame_bytes();
    if (batch.back().lent) break;  // a link borrows from one memory at a time
  }
  if (batch.size() == 0) return acknowledge_alone();
  acknowledge_now_ = false;
  count.frames_sent += batch.size();
  count.bytes_sent += carried;
  count.bytes_copied += bytes;
  ++count.writes;
  link_->write(batch.frames());
  if (!all) link_->flush();
}

void lane::acknowledge_alone() noexcept {
  if (!acknowledge_now_) return;
  acknowledge_now_ = false;
  frame_header header;
  stamp(header);
  ++session_.endpoint_.statistics_.acknowledges_sent;
  ++session_.endpoint_.statistics_.writes;
  write_control(*link_, header);
}

}  // namespace scoll::transport
