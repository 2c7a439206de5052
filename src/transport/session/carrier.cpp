#include "transport/session/carrier.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/io/address.hpp"
#include "transport/io/control_frame.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/frame_batch.hpp"
#include "transport/session/greeting_room.hpp"
#include "transport/session/guarded_greeting.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

namespace {

bool is_violation(const error& reason) noexcept {
  return reason == errc::malformed || reason == errc::too_large || reason == errc::checksum_mismatch ||
         reason == errc::not_authentic;
}

}  // namespace

session& carrier::owner() const noexcept {
  return lane_.session_;
}

endpoint& carrier::at() const noexcept {
  return lane_.session_.endpoint_;
}

executor& carrier::ex() const noexcept {
  return at().get_executor();
}

lane_id carrier::lane() const noexcept {
  return lane_.id();
}

rail& carrier::transport() const noexcept {
  return at().rail_at(path_.own);
}

// ---- connecting

void carrier::begin_connect() noexcept {
  silence_.looks = 0;
  lane_.choose_path(*this);
  state_ = state::connecting;
  lane_.on_attempt(*this);
  transport().connect(std::string(address_of_lane(owner().address_on(path_.theirs), lane_.id())), *this);
}

void carrier::take_link(link& l, bool made_here, std::uint64_t attempt) noexcept {
  link_ = &l;
  made_here_ = made_here;
  attempt_ = attempt;
  landing_ = 0;
  cut_off_ = false;
  link_->set_owner(this);
  if (lane_.id() == lane_id::bulk) link_->expect_bulk();
}

void carrier::on_connected(link& connected) noexcept {
  take_link(connected, true, lane_.count_attempt());
  state_ = state::greeting;
  ex().arm(greeting_timer_, ex().now() + at().options().hello_limit);
  introduce();
}

/// Without a security mode, the hello and the identity leave together.
void carrier::introduce() noexcept {
  if (at().options().security != nullptr) return begin_guard();
  greeting_room opening;
  greeting_room who;
  hello said;
  said.lane = static_cast<std::uint8_t>(lane_.id());
  frame_header header;
  header.type = frame_type::hello;
  const std::array frames{opening.encode(header, said), encode_identity(who, frame_type::identity)};
  link_->write(frames);
}

void carrier::welcome() noexcept {
  greeting_room who;
  const frame_parts frame = encode_identity(who, frame_type::welcome);
  link_->write({&frame, 1});
}

frame_parts carrier::encode_identity(greeting_room& room, frame_type type) noexcept {
  identity said = owner().make_identity(lane_.id(), path_);
  if (lane_.is_spare(*this)) said.flags |= identity_flags::spare;
  if (type == frame_type::identity) said.attempt = attempt_;  // behind a guard, others may have begun since
  said_received_ = said.received;
  if (link_->guard() != nullptr) said.channel = link_->guard()->channel();
  frame_header header;
  header.type = type;
  owner().stamp(header, lane_.id());
  return room.encode(header, said);
}

void carrier::on_connect_failed(const error& reason) noexcept {
  pause(reason);
}

void carrier::on_greeting(frame_view& frame) noexcept {
  if (frame.header.type == frame_type::refuse) return on_refused(frame);
  if (is_being_guarded()) return on_step(frame);
  if (frame.header.type != frame_type::welcome)
    return violated({errc::malformed, "the identity was not answered"});
  const auto payload = frame.payload.bytes;
  if (const auto version = spoken_version(payload); version != protocol_version) {
    return refused_by_us(make_error(errc::version_mismatch, "node {} speaks protocol {}, this node {}",
                                    owner().peer(), version, protocol_version));
  }
  const auto answer = wire::decode_from<identity>(payload);
  if (!answer) return violated(answer.error());
  if (answer->lane != static_cast<std::uint8_t>(lane_.id()))
    return violated({errc::malformed, "welcome on the wrong lane"});
  if (const auto s = guarded_greeting::check(*link_, *answer, at().options().cluster); !s)
    return refused_by_us(printable(s.error().code(), s.error().text()));
  const bool was_spare = lane_.is_spare(*this);
  if (was_spare) lane_.promote_spare();
  if (const auto s = owner().on_welcome(*answer, lane_, path_); !s) {
    return refused_by_us(printable(s.error().code(), s.error().text()));
  }
  owner().note_arrival(path_, answer->from_rail);
  owner().apply_grants(frame.header);
  came_up(answer->received, answer->beyond);
  if (was_spare && up()) send_probe();  // so that the peer goes over to it
}

void carrier::refused_by_us(const error& reason) noexcept {
  at().note_refusal(owner().peer(), reason);
  break_off(reason);
}

void carrier::on_refused(frame_view& frame) noexcept {
  const auto why = wire::decode_from<refusal>(frame.payload.bytes);
  if (!why) return violated(why.error());
  drop_link();
  if (why->code == 0) return violated({errc::malformed, "a refusal without reason"});
  const error reason = printable(static_cast<errc>(why->code), why->text);
  at().note_refusal(owner().peer(), reason);
  pause(reason);
}

/// The peer has not answered the greeting, or has not gone on after the welcome.
void carrier::greeting_over() noexcept {
  break_off({errc::deadline_exceeded, "the peer accepted the connection and said nothing"});
}

/// The pauses grow, and are never in step with those of the peer.
void carrier::pause(const error& reason) noexcept {
  if (greeting_timer_.armed()) ex().disarm(greeting_timer_);
  cursor_ = nullptr;
  at().note_progress();
  const bool was_up = std::exchange(state_, state::idle) == state::up;
  if (lane_.is_spare(*this)) return;
  if (lane_.has_paths()) return lane_.on_path_failure(*this, reason, was_up);
  if (lane_.spare_takes_over(reason)) return;
  lane_.retry(*this, reason);
}

void carrier::connect_after_backoff(nanoseconds most) noexcept {
  backoff_ = std::clamp(backoff_ * 2, at().options().backoff_first, most);
  const auto jitter = at().random_.below(static_cast<std::uint64_t>(backoff_.count()) / 4 + 1);
  connect_after(backoff_ + nanoseconds(static_cast<std::int64_t>(jitter)));
}

void carrier::connect_after(nanoseconds pause) noexcept {
  if (pause_timer_.armed()) ex().disarm(pause_timer_);
  state_ = state::pausing;
  ex().arm(pause_timer_, ex().now() + pause);
}

void carrier::resume_after_pause() noexcept {
  state_ = state::idle;
  if (lane_.wants(*this)) {
    const nanoseconds wait = lane_.turn_of(*this);
    return wait.count() == 0 ? begin_connect() : connect_after(wait);
  }
  lane_.end_grace();
}

void carrier::hurry() noexcept {
  if (state_ != state::pausing) return;
  ex().disarm(pause_timer_);
  forget_failures();
  begin_connect();
}

void carrier::adopt(link& l, const identity& said, const frame_header& header, bool continues) noexcept {
  if (state_ == state::connecting) transport().cancel_connect(*this);
  drop_link();
  take_link(l, false, said.attempt);
  welcome();
  if (continues) owner().apply_grants(header);
  came_up(continues ? said.received : 0, continues ? said.beyond : arrival_window::bits{});
}

void carrier::welcome_spare(link& l, const identity& said) noexcept {
  stop();
  take_link(l, false, said.attempt);
  state_ = state::welcomed;
  silence_ = {.since = ex().now()};
  peer_received_ = said.received;
  ex().arm(greeting_timer_, ex().now() + at().options().hello_limit);
  welcome();
}

/// The peer goes on with this connection, which has been a spare.
void carrier::stand_in() noexcept {
  if (lane_.is_spare(*this)) lane_.promote_spare();
  came_up(peer_received_, {});
}

void carrier::came_up(std::uint64_t peer_received, const arrival_window::bits& beyond) noexcept {
  stop_timers();
  state_ = state::up;
  prober_ = {};
  mark_ = 0;
  probe_due_ = answer_due_ = downs_due_ = false;
  silence_ = {};
  remote_ = link_->remote();
  cursor_ =
      SCOLL_MUTANT(replay_forgotten, "a new connection replays nothing") ? nullptr : lane_.first_retained();
  lane_.on_up(*this, said_received_, peer_received, beyond);
  if (at().options().probe_first && up() && lane_.id() == lane_id::control) send_probe();
}

// ---- losing the connection

void carrier::on_closed(const error& reason) noexcept {
  link_ = nullptr;
  remote_ = nullptr;
  lane_.on_link_gone(*this);
  if (is_violation(reason)) at().note_violation(owner().peer(), reason);
  pause(reason);
}

void carrier::violated(const error& reason) noexcept {
  at().note_violation(owner().peer(), reason);
  break_off(reason);
}

void carrier::break_off(const error& reason) noexcept {
  drop_link();
  pause(reason);
}

void carrier::sever(const error& reason) noexcept {
  drop_link(true);
  pause(reason);
}

void carrier::drop_link(bool at_once) noexcept {
  cursor_ = nullptr;
  remote_ = nullptr;
  if (link_ == nullptr) return;
  link_->set_owner(nullptr);
  link& dropped = *std::exchange(link_, nullptr);
  at_once ? dropped.sever() : dropped.close();
  lane_.on_link_gone(*this);
}

void carrier::stop_timers() noexcept {
  if (pause_timer_.armed()) ex().disarm(pause_timer_);
  if (greeting_timer_.armed()) ex().disarm(greeting_timer_);
}

void carrier::stop() noexcept {
  if (state_ == state::connecting) transport().cancel_connect(*this);
  stop_timers();
  drop_link();
  state_ = state::idle;
}

void carrier::abandon() noexcept {
  drop_link(true);
  stop();
}

bool carrier::say_goodbye() noexcept {
  if (!link_->writable()) return false;
  frame_header header;
  header.type = frame_type::goodbye;
  lane_.stamp(header);
  write_control(*link_, header);
  return true;
}

// ---- receiving

void carrier::on_frame(frame_view& frame) noexcept {
  endpoint_statistics& count = at().statistics_;
  ++count.frames_received;
  count.bytes_received += frame.header.frame_bytes();
  if (SCOLL_MUTANT(rails_inbound_is_health, "whatever arrives by a path counts as its answer"))
    silence_.floor = ex().now();
  if (state_ == state::greeting) return on_greeting(frame);
  if (state_ == state::welcomed) stand_in();
  if (!up()) return;
  if (!lane_.acknowledged(frame.header.acknowledged)) {
    return violated({errc::malformed, "the peer acknowledges what was never sent"});
  }
  owner().apply_grants(frame.header);
  switch (frame.header.type) {
    case frame_type::request:
    case frame_type::reply:
    case frame_type::cancel:
    case frame_type::notice: return lane_.on_sequenced(*this, frame);
    case frame_type::acknowledge: return;
    case frame_type::probe: return on_probe(frame);
    case frame_type::probe_reply: return on_probe_reply(frame);
    case frame_type::link_down: return owner().on_link_down(*this, frame);
    case frame_type::link_down_reply: return owner().on_link_down_reply(*this, frame);
    case frame_type::goodbye:
      return owner().fail(make_error(errc::closed, "node {} has shut down", owner().peer()));
    default: return violated({errc::malformed, "a greeting in the middle of a session"});
  }
}

lent_range carrier::place_payload(const frame_header& header, std::span<const std::byte> head) noexcept {
  const lent_range place = state_ == state::up ? lane_.place(*this, header, head) : lent_range{};
  landing_ = place.size == 0 ? 0 : header.sequence;
  cut_off_ = false;
  return place;
}

// ---- sending

void carrier::on_writable() noexcept {
  at().note_progress();
  if (up()) {
    if (mark_ != stripes::nobody) lane_.took(*this);
    write_batch();
  } else if (is_being_guarded()) {
    advance_guard();
  }
}

void carrier::write() noexcept {
  if (link_->writable()) return write_batch();
  bool again = false;
  if (probe_due_ || answer_due_ || downs_due_ || lane_.owes_acknowledgement() ||
      lane_.next_message(*this, again) != nullptr) {
    link_->flush();
  }
}

void carrier::write_batch() noexcept {
  if (lane_.left()) return;
  if (downs_due_) return write_downs();
  if (lane_.nothing_for(*this) && !probe_due_ && !answer_due_) return acknowledge_alone();
  write_messages();
}

void carrier::write_messages() noexcept {
  frame_batch batch;
  std::array<control_frame, 2> probes;
  if (probe_due_ || answer_due_) add_probes(batch, probes);
  std::size_t bytes = 0;
  std::size_t carried = 0;
  bool all = false;
  while (!batch.full()) {
    bool again = false;
    message* m = lane_.next_message(*this, again);
    if (m == nullptr) {
      all = true;
      break;
    }
    if (bytes + m->copied_bytes() > link_->batch_bytes()) break;
    lane_.hand_over(*m, *this, again);
    batch.push_back(m->parts());
    bytes += m->copied_bytes();
    carried += m->frame_bytes();
    if (batch.back().lent) break;  // a link borrows from one memory at a time
  }
  if (batch.size() == 0) return acknowledge_alone();
  endpoint_statistics& count = at().statistics_;
  if (lane_.owes_acknowledgement() && lane_.speaks_by(*this)) lane_.acknowledgement_leaves();
  count.frames_sent += batch.size();
  count.bytes_sent += carried;
  count.bytes_copied += bytes;
  ++count.writes;
  link_->write(batch.frames());
  if (batch.back().lent && mark_ != stripes::nobody) lane_.gave(*this, carried);
  if (!all) link_->flush();
}

void carrier::acknowledge_alone() noexcept {
  if (!lane_.owes_acknowledgement() || !lane_.speaks_by(*this)) return;
  lane_.acknowledgement_leaves();
  frame_header header;
  lane_.stamp(header);
  ++at().statistics_.acknowledges_sent;
  ++at().statistics_.writes;
  write_control(*link_, header);
}

}  // namespace scoll::transport
