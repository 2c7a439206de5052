#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "scoll/coro/mutants.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/rails/path_table.hpp"
#include "transport/session/rails/stripes.hpp"
#include "transport/session/session.hpp"

// The bulk lane of a peer with several good paths has a connection by each of them, up to four, once four
// messages wait. Each connection takes the next message when its link is writable, so each carries what it
// can. A message keeps the mark of the connection that it was last handed to. When that one is suspected, its
// messages are free for the others, oldest first. When it is gone, the peer is asked what has arrived first,
// but not for long.
//
// A lane with one connection knows nothing of this: it sends by its cursor, in order.
namespace scoll::transport {
namespace {

/// A connection that has not come up after this many looks is given up.
constexpr std::uint32_t patience_of_stripe = 20;

/// The time that the peer has to say what has arrived over a connection that is gone.
nanoseconds patience_with_reply(const round_trip& rtt) noexcept {
  return std::clamp<nanoseconds>(4 * rtt.smoothed(), std::chrono::milliseconds(1), std::chrono::seconds(1));
}

}  // namespace

// ---- marks

stripes::~stripes() {
  stop_timer();
  for (std::uint8_t mark = 1; mark <= most; ++mark) {
    if (at(mark).by != nullptr) at(mark).by->set_mark(nobody);
  }
}

std::uint8_t stripes::enter(carrier& by) noexcept {
  for (std::uint8_t mark = 1; mark <= most; ++mark) {
    if (at(mark).by != nullptr) continue;
    at(mark) = place{&by};
    return mark;
  }
  return nobody;
}

void stripes::mark(std::uint8_t& of, std::uint8_t next, bool segment) noexcept {
  if (of == nobody) --free_;
  if ((of & large) != 0) --at(static_cast<std::uint8_t>(of & ~large)).segments;
  of = next;
  if (of == nobody) ++free_;
  if (!segment) return;
  ++at(of).segments;
  of |= large;
}

void stripes::decide_by(time_point when) noexcept {
  if (!timer_.armed()) owner_.ex().arm(timer_, when);
}

void stripes::stop_timer() noexcept {
  if (timer_.armed()) owner_.ex().disarm(timer_);
}

void stripes::over() noexcept {
  owner_.free_undecided();
}

// ---- connections that come and go

/// A connection is up. If it is not the only one, the lane sends by several from now on.
void lane::join_stripes(carrier& c) noexcept {
  if (stripes_ == nullptr) {
    carrier* const first = another_up(c);
    if (first == nullptr) return;
    stripes_ = std::make_unique<stripes>(*this);
    const std::uint8_t mark = enter(*first);
    const message* const cursor = first->cursor();
    bool handed = true;
    for (message* m = retained_.first(); m != nullptr; m = retained_.next(*m)) {
      handed = handed && m != cursor;
      m->handed_to_ = stripes::undecided;
      stripes_->mark(m->handed_to_, handed ? mark : stripes::nobody, handed && is_segment(*m));
    }
    first->set_cursor(nullptr);
  }
  c.set_cursor(nullptr);
  enter(c);
  free_undecided();
}

std::uint8_t lane::enter(carrier& c) noexcept {
  c.set_mark(stripes_->enter(c));
  c.keep_unsent_short();
  ++session_.endpoint_.statistics_.stripes_joined;
  return c.mark();
}

/// The link of a connection is gone. The peer says what has arrived over it when it answers the link_down, or
/// has just said so with its own.
void lane::on_link_gone(carrier& c) noexcept {
  if (stripes_ == nullptr || c.mark() == stripes::nobody) return;
  const bool told = session_.paths_->peer_told;
  hand_back(c, told ? stripes::nobody : stripes::undecided);
  stripes_->at(c.mark()) = {};
  c.set_mark(stripes::nobody);
  if (!told) stripes_->decide_by(ex().now() + patience_with_reply(session_.rtt()));
  session_.kick();
}

/// The messages that the connection was handed are to be handed out again.
void lane::hand_back(const carrier& c, std::uint8_t next) noexcept {
  for (message* m = retained_.first(); m != nullptr; m = retained_.next(*m)) {
    if ((m->handed_to_ & ~stripes::large) == c.mark()) stripes_->mark(m->handed_to_, next, false);
  }
}

/// The peer has said what has arrived, or has been silent for too long: what is not acknowledged is sent again.
void lane::free_undecided() noexcept {
  if (stripes_ == nullptr) return;
  stripes_->stop_timer();
  for (message* m = retained_.first(); m != nullptr; m = retained_.next(*m)) {
    if (m->handed_to_ == stripes::undecided) stripes_->mark(m->handed_to_, stripes::nobody, false);
  }
  session_.kick();
}

carrier* lane::another_up(const carrier& than) noexcept {
  if (&than != carrier_.get() && carrier_->up()) return carrier_.get();
  for (auto& c : others_) {
    if (c.get() != &than && c->up()) return c.get();
  }
  return nullptr;
}

void lane::on_bulk_failure(carrier& c, const error& reason, bool was_up) noexcept {
  path& its = session_.path_at(c.path());
  const bool alone = another_up(c) == nullptr;
  if (was_up) {
    // What could not be used in an earlier outage may be the only way out of this one.
    if (alone) std::ranges::for_each(session_.paths_->all(), &path::forgive_bulk);
    its.bulk_left(ex().now(), alone ? path::longest_pause : session_.endpoint_.options().rails_prove);
    session_.tell_link_over(c, reason);
  } else if (reason != errc::already_exists) {  // else the peer's own connection is about to come
    its.bulk_failed(ex().now());
  }
  last_failure_ = reason;
  if (alone) {
    if (!is_active(c)) return;
    if (!spare_takes_over(reason)) retry(c, reason);
    return;
  }
  last_failure_ = {};
  if (!is_active(c)) return;
  ++session_.endpoint_.statistics_.path_moves;
  its.left();
  swap_in(*best_stripe(nullptr));
  note_path();
  session_.kick();
}

// ---- choosing

bool lane::in_doubt(const carrier& c) noexcept {
  return c.seen().shunned || session_.path_at(c.path()).standing() != 0;
}

/// The connection that is best to go on with, other than `but`; null if none is up.
carrier* lane::best_stripe(const carrier* but) noexcept {
  carrier* best = nullptr;
  const auto cost = [&](const carrier& c) {
    const path& its = session_.path_at(c.path());
    return std::tuple(in_doubt(c), its.standing(), !prefers(its), its.rank());
  };
  const auto look_at = [&](carrier& c) {
    if (&c != but && c.up() && (best == nullptr || cost(c) < cost(*best))) best = &c;
  };
  look_at(*carrier_);
  for (auto& each : others_) look_at(*each);
  return best;
}

/// True if messages are handed to the connection. If all are in doubt, the active one goes on.
bool lane::carries(const carrier& c) noexcept {
  if (!c.up() || c.mark() == stripes::nobody) return false;
  if (!in_doubt(c))
    return prefers(session_.path_at(c.path())) || !prefers(session_.path_at(carrier_->path()));
  const carrier* const best = best_stripe(nullptr);
  return is_active(c) && (best == nullptr || in_doubt(*best));
}

std::uint32_t lane::others_that_carry(const carrier& than) noexcept {
  std::uint32_t count = 0;
  each_up([&](carrier& each) { count += &each != &than && carries(each); });
  return count;
}

bool lane::speaks_by(const carrier& c) noexcept {
  return is_active(c) || (stripes_ != nullptr && carries(c));
}

bool lane::holds_front(const carrier& c) noexcept {
  if (retained_.empty()) return false;
  return stripes_ == nullptr ? is_active(c)
                             : (retained_.front().handed_to_ & ~stripes::large) == c.mark() && c.mark() != 0;
}

std::uint64_t lane::old_front(const carrier& of) noexcept {
  return holds_front(of) && retained_.front().header().sequence == oldest_ ? oldest_ : 0;
}

bool lane::is_segment(const message& m) noexcept {
  return m.header_.payload_bytes > placed_payload_bytes;
}

/// The receiver remembers 256 numbers after the first one that is missing.
bool lane::within_window(std::uint64_t number) noexcept {
  return retained_.empty() || number < retained_.front().header().sequence + arrival_window::span ||
         SCOLL_MUTANT(rails_window_unbounded, "more than 256 numbers are sent beyond one that is missing");
}

/// Messages whose connection is gone or suspected come first, then new ones.
message* lane::next_of_stripes(const carrier& c, bool& again) noexcept {
  again = stripes_->free() != 0;
  if (!carries(c)) return nullptr;
  message* next = nullptr;
  if (again) {
    next = retained_.first();
    while (next->handed_to_ != stripes::nobody) next = retained_.next(*next);
    if (!within_window(next->header().sequence)) return nullptr;
  } else {
    if (!within_window(last_assigned_ + 1)) return nullptr;
    next = session_.peek(id_, retained_count_ < limits::retained_messages);
  }
  return next != nullptr && may_take(c, *next) ? next : nullptr;
}

/// A path must not hold all segments, because it may stall; and it leaves the last ones to a faster path. Nothing
/// is acknowledged before the oldest message, so any path takes that.
bool lane::may_take(const carrier& c, const message& m) noexcept {
  const bool oldest = &m == retained_.first() &&
                      !SCOLL_MUTANT(rails_oldest_waits, "a full path does not take the oldest message again");
  if (!is_segment(m) || oldest) return true;
  const std::uint32_t window = session_.window_of(traffic_class::bulk);
  const std::uint32_t others = others_that_carry(c);
  const std::uint32_t share = share_of(window, others);
  const auto full = [&](const carrier& each) { return stripes_->at(each.mark()).segments >= share; };
  if (full(c) && !SCOLL_MUTANT(rails_cap_ignored, "one of several paths may hold all segments")) return false;
  const link_load& own = stripes_->at(c.mark()).load;
  if (others == 0 || !own.known()) return true;
  const std::uint64_t queued = bytes_waiting();
  bool leaves = false;
  each_up([&](carrier& each) {
    if (&each == &c || !carries(each) || full(each)) return;
    leaves |= leaves_to(own, stripes_->at(each.mark()).load, m.frame_bytes(), queued, ex().now());
  });
  return !leaves;
}

/// Visits the messages that have never been sent and have credit.
template <class Visit>
void lane::each_sendable(Visit&& visit) noexcept {
  auto& bulk = session_.classes_[index(traffic_class::bulk)];
  for (message* m = bulk.expected.first(); m != nullptr; m = bulk.expected.next(*m)) visit(*m);
  std::uint32_t left = bulk.credits.available();
  for (message* m = bulk.requests.first(); m != nullptr && left-- != 0; m = bulk.requests.next(*m)) visit(*m);
}

/// The bytes of the messages that could be handed out now.
std::uint64_t lane::bytes_waiting() noexcept {
  std::uint64_t bytes = 0;
  std::size_t freed = stripes_->free();
  for (message* m = retained_.first(); m != nullptr && freed != 0; m = retained_.next(*m)) {
    if (m->handed_to_ != stripes::nobody) continue;
    bytes += m->frame_bytes();
    --freed;
  }
  each_sendable([&](const message& m) { bytes += m.frame_bytes(); });
  return bytes;
}

void lane::took_message(message& m, carrier& to, bool again) noexcept {
  if (!again) m.handed_to_ = stripes::undecided;
  if (again &&
      SCOLL_MUTANT(rails_freed_twice, "a message that is sent again by another path gets a new number"))
    m.header().sequence = ++last_assigned_;
  stripes_->mark(m.handed_to_, to.mark(), is_segment(m));
  if (!is_segment(m) || others_that_carry(to) == 0) return;
  std::uint64_t& most = session_.endpoint_.statistics_.stripe_most;
  most = std::max<std::uint64_t>(most, stripes_->at(to.mark()).segments);
}

/// The link has been given a segment. Links tell the end of other batches when they like.
void lane::gave(const carrier& c, std::uint64_t bytes) noexcept {
  stripes_->at(c.mark()).load.gave(bytes, ex().now());
}

void lane::took(const carrier& c) noexcept {
  stripes_->at(c.mark()).load.took(ex().now());
}

// ---- further connections

bool lane::prefers(const path& p) noexcept {
  return session_.endpoint_.bulk_prefers(p.key().own) || session_.paths_->is_for_bulk(p.key().theirs);
}

/// True if a connection by that path adds to the others: it is good and preferred as they are, and shares no
/// rail with them.
bool lane::adds(const path& p) noexcept {
  const bool good = p.reachable() && p.standing() == 0 && p.failures() == 0 && p.takes_bulk(ex().now());
  if (!good || prefers(p) != prefers(session_.path_at(carrier_->path()))) return false;
  const auto apart = [&](const carrier& c) {
    if (!c.up() && !c.attempting()) return true;
    return c.path().own != p.key().own && c.path().theirs != p.key().theirs;
  };
  return apart(*carrier_) && std::ranges::all_of(others_, [&](const auto& c) { return apart(*c); });
}

/// Another connection is made if messages wait that no link takes now. Hardware reads over one link.
void lane::widen() {
  if (!carrier_->up() || remote() != nullptr || connections() >= path_table::most_connected) return;
  std::size_t waiting = stripes_ == nullptr ? 0 : stripes_->free();
  each_sendable([&](const message&) { ++waiting; });
  if (waiting < path_table::waiting_for_stripe) return;
  for (const path& each : session_.paths_->all()) {
    if (!adds(each)) continue;
    if (begin_stripe(each.key())) return;
  }
}

bool lane::begin_stripe(path_key by) {
  carrier& c = carrier_on(by);
  if (!c.idle()) return false;
  c.seen().looks = 0;
  c.begin_connect();
  return true;
}

bool lane::opens_beside(path_key by) {
  const carrier* const known = carrier_by(by);
  const bool reads = remote() != nullptr &&
                     SCOLL_MUTANT(rails_read_link_left, "a link that reads is left for one beside it");
  if (known != nullptr && (known->up() || known->attempting()) && !reads) return true;
  return remote() == nullptr && connections() < path_table::most_connected && adds(session_.path_at(by)) &&
         begin_stripe(by);
}

void lane::doubt_path(carrier& c, const error& reason) noexcept {
  const carrier* const best = stripes_ == nullptr ? nullptr : best_stripe(&c);
  best != nullptr && !in_doubt(*best) ? shun(c) : leave_path(c, reason);
}

/// Nothing more is sent by a connection that does not answer, and what it was handed is sent by others. It is
/// cut if that goes on. Acknowledgements and grants that it may hold are repeated.
void lane::shun(carrier& c) noexcept {
  if (c.seen().shunned) return;
  ++session_.endpoint_.statistics_.path_moves;
  session_.path_at(c.path()).left();
  c.seen().shunned = true;
  c.seen().shunned_at = ex().now();
  c.seen().looks = 0;
  hand_back(c, stripes::nobody);
  c.send_probe();
  settle_stripes();
  acknowledge_now();
}

/// The active connection is the best one.
void lane::settle_stripes() noexcept {
  if (stripes_ == nullptr) return;
  carrier* const best = best_stripe(nullptr);
  if (best == nullptr || is_active(*best)) return;
  swap_in(*best);
  note_path();
}

/// A further connection that does not come up is given up.
void lane::watch_attempts() noexcept {
  for (std::size_t i = 0; i < others_.size(); ++i) {
    carrier& c = *others_[i];
    if (!c.attempting() || is_active(c) || ++c.seen().looks < patience_of_stripe) continue;
    session_.path_at(c.path()).bulk_failed(ex().now());
    c.abandon();
  }
}

/// Looks at each of several connections: one that answers again takes messages again, and one that is mute
/// while the peer answers is cut.
void lane::watch_stripes(bool peer_answers) noexcept {
  std::array<carrier*, stripes::most> up{};
  std::size_t count = 0;
  each_up([&](carrier& c) {
    if (count < up.size()) up[count++] = &c;
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (up[i]->up()) watch_stripe(*up[i], peer_answers);
  }
  settle_stripes();
  session_.kick();  // what a connection has left to a faster one may be taken by another one now
}

void lane::watch_stripe(carrier& c, bool peer_answers) noexcept {
  carrier::silence& s = c.seen();
  if (c.probes().due(ex().now(), limits::busy_probe_interval)) c.send_probe();
  if (s.shunned && c.probes().answered_probe_left() >= s.shunned_at) {
    s.shunned = false;
    s.looks = 0;
  }
  const auto progress = c.unanswered() ? c.acknowledged_bytes() : std::nullopt;
  const bool moves = progress && std::exchange(s.bytes, *progress) != *progress;
  if (!c.unanswered() || moves || !peer_answers) {
    s.mute = 0;
    return;
  }
  if (++s.mute * limits::watch_interval <= limits::silent_link) return;
  ++session_.endpoint_.statistics_.links_half_dead;
  c.sever({errc::connection_lost, "the peer answers, but not over this connection"});
}

}  // namespace scoll::transport
