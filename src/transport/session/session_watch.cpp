#include "transport/session/session_watch.hpp"

#include <algorithm>
#include <string>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/limits.hpp"

// Whether a peer of which something is awaited is still there. A connection that stands proves nothing: the
// kernel of a stopped process acknowledges what it receives, and the other half of a connection may be gone.
// So the peer is probed, and only its answers count.
namespace scoll::transport {
namespace {

/// The number of looks in a time, at least one.
std::uint32_t looks(nanoseconds time) noexcept {
  return static_cast<std::uint32_t>(std::max<nanoseconds::rep>(1, time / limits::watch_interval));
}

std::string seconds_of(nanoseconds time) {
  return fmt::format("{} s", std::chrono::duration<double>(time).count());
}

}  // namespace

session_watch::~session_watch() {
  if (timer_.armed()) executor_.disarm(timer_);
}

void session_watch::add(session& one) noexcept {
  sessions_.push_back(one);
  if (timer_.armed()) return;
  next_ = executor_.now() + limits::watch_interval;
  executor_.arm(timer_, next_);
}

void session_watch::on_time() noexcept {
  const bool late = executor_.now() - next_ > limits::watch_interval;
  next_ = executor_.now() + limits::watch_interval;
  executor_.arm(timer_, next_);
  intrusive_list<session, watched> now;
  now.splice(sessions_);
  while (!now.empty()) {
    session& one = now.pop_front();
    if (one.look(late) && !one.linked()) sessions_.push_back(one);
  }
  if (sessions_.empty()) executor_.disarm(timer_);
}

/// What a lost bulk lane holds is awaited by nobody. One that is down is looked at for replies that it owes, too.
bool session::awaits_over(lane_id id) const noexcept {
  const auto& l = lanes_[index(id)];
  if (pending_exchanges_[index(id)] != 0) return true;
  return l != nullptr && !l->lost() &&
         (l->retains() || (id == lane_id::bulk && !l->up() && work_waiting(id)));
}

bool session::awaits() const noexcept {
  return owed_calls_ != 0 || awaits_over(lane_id::control) || awaits_over(lane_id::bulk);
}

bool session::look(bool late) noexcept {
  const bool awaited = awaits();
  if (!awaited) silent_for_ = 0;
  if (!awaited && !unsettled()) {
    if (paths_ != nullptr) keep_paths();
    return false;
  }
  const auto is_up = [](const auto& l) { return l != nullptr && l->up(); };
  const auto probed = std::ranges::find_if(lanes_, is_up);
  if (probed == lanes_.end()) {  // the grace bounds that
    if (paths_ != nullptr && lanes_[index(lane_id::control)] != nullptr)
      lanes_[index(lane_id::control)]->settle();
    return awaited;
  }
  const nanoseconds limit = endpoint_.options_.silence_limit;
  if (late) (*probed)->distrust_times();
  const bool silent = awaited && (*probed)->unanswered() && !late;
  if (silent && limit.count() != 0 && ++silent_for_ > looks(limit) &&
      !SCOLL_MUTANT(silence_endless, "a node waits for ever for a peer that does not answer")) {
    ++endpoint_.statistics_.silences;
    fail(make_error(errc::connection_lost, "node {} has not answered for {}, though its connection stands",
                    peer_, seconds_of(limit)));
    return false;
  }
  if (silent_for_ > looks(limits::standstill)) ++still_looks_;
  // The other lane may be answered by a path of its own.
  if (!silent && !late) (*probed)->on_answer();
  if (silent && (*probed)->is_silent_again()) (*probed)->try_anew();
  (*probed)->probe_if_due();
  if (paths_ != nullptr) compare_paths(late);
  for (auto& l : lanes_) {
    if (l == nullptr) continue;
    l->watch_acknowledgements();
    if (l->striped()) {
      l->watch_stripes(silent_for_ == 0);
    } else if (l != *probed && l->up() && awaits_over(l->id())) {
      l->watch_half_dead(silent_for_ == 0);
    }
  }
  return true;
}

void session::on_contact(const carrier& by, nanoseconds took) noexcept {
  ++endpoint_.statistics_.probes_answered;
  silent_for_ = 0;
  last_contact_ = endpoint_.executor_.now();
  if (by.lane() != lane_id::control) return;
  if (paths_ != nullptr) on_path_answer(by);
  if (took.count() != 0 && lanes_[index(lane_id::control)]->is_active(by)) rtt_->add(took, last_contact_);
}

void session::on_pulse(std::uint32_t pulse) noexcept {
  const std::uint32_t before = std::exchange(peer_pulse_, pulse);
  const bool grown = before != 0 && pulse != 0 && pulse != before;
  if (grown && endpoint_.pulse_ != nullptr) endpoint_.pulse_->on_pulse(peer_, peer_incarnation_);
}

/// 0 while a message waits to be sent or acknowledged, else a number that grows with each message, either way.
std::uint64_t session::settled() const noexcept {
  if (held_messages() != 0) return 0;
  std::uint64_t traffic = 1;
  for (const auto& l : lanes_) traffic += l == nullptr ? 0 : l->numbers();
  return traffic;
}

/// The probe left when everything sent had arrived, and no message has come or gone since. If two such answers
/// in a row say that the peer works at less than is awaited of it, somebody waits for nothing. It is counted and
/// told, and the session goes on: the caller may have a deadline.
void session::compare_waiting(std::uint32_t owing, std::uint64_t settled_before) noexcept {
  const std::uint64_t now = settled();
  if (now == 0 || now != settled_before || waiting() <= owing) {
    missing_since_ = 0;
    return;
  }
  if (std::exchange(missing_since_, now) != now) return;
  ++endpoint_.statistics_.answers_missing;
  endpoint_.handler_of(traffic_class::urgent).on_answers_missing(peer_, waiting(), owing);
}

/// True once a second while the lane is not answered.
bool lane::is_silent_again() noexcept {
  return ++unanswered_for_ % looks(limits::silent_link) == 0;
}

/// Paths that were dead may be back: whichever is welcomed first shows whether the peer is there.
void lane::try_anew() noexcept {
  try_spare();
  if (SCOLL_MUTANT(rails_not_tried_anew,
                   "when the connected paths fall silent, the others wait for their turn"))
    return;
  if (!has_paths() || id_ != lane_id::control) return;
  hurry_others();
  try_further();
}

bool session::probe_now() noexcept {
  lane* const control = lanes_[index(lane_id::control)].get();
  if (control == nullptr || !control->up()) return false;
  control->each_up([](carrier& c) { c.send_probe(); });
  return true;
}

void lane::probe_if_due() noexcept {
  const auto& bulk = session_.lanes_[index(lane_id::bulk)];
  const bool in_grace = bulk != nullptr && bulk->grace_timer_.armed();
  const bool busy = numbers() != seen_ || in_grace;
  const nanoseconds interval =
      busy ? limits::busy_probe_interval : session_.endpoint_.options().probe_interval;
  if (!carrier_->probes().due(ex().now(), interval)) return;
  seen_ = numbers();
  carrier_->send_probe();
}

void lane::watch_half_dead(bool peer_answers) noexcept {
  probe_if_due();
  const auto progress = carrier_->acknowledged_bytes();
  const bool moves = !progress || std::exchange(progress_, *progress) != *progress;
  if (!unanswered() || moves) {
    unanswered_for_ = 0;
    return;
  }
  if (!peer_answers || ++unanswered_for_ <= looks(limits::silent_link)) return;
  if (SCOLL_MUTANT(half_dead_kept)) return;
  unanswered_for_ = 0;
  ++session_.endpoint_.statistics_.links_half_dead;
  carrier_->break_off(
      make_error(errc::connection_lost, "node {} answers, but not over this connection", session_.peer()));
}

void lane::watch_acknowledgements() noexcept {
  const std::uint64_t oldest = retained_.empty() ? 0 : retained_.front().header().sequence;
  if (oldest != oldest_) {
    oldest_ = oldest;
    old_for_ = times_stuck_ = 0;
    return;
  }
  const bool may_be_stuck = oldest != 0 && up() && session_.silent_for_ == 0;
  const nanoseconds limit = session_.endpoint_.options().unacknowledged_limit;
  if (!may_be_stuck || ++old_for_ <= looks(limit)) return;
  old_for_ = 0;
  ++session_.endpoint_.statistics_.links_stuck;
  const error reason =
      make_error(errc::connection_lost, "node {} has acknowledged nothing for {}, though it answers probes",
                 session_.peer(), seconds_of(limit));
  if (++times_stuck_ == limits::most_times_stuck) return session_.fail(reason);
  carrier* stuck = carrier_.get();
  each_up([&](carrier& c) {
    if (holds_front(c)) stuck = &c;
  });
  stuck->break_off(reason);
}

}  // namespace scoll::transport
