#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/io/address.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/rails/path_table.hpp"
#include "transport/session/session.hpp"

// Which of the paths to a peer are to be trusted. A path is suspected only by comparison: it has left
// something unanswered, and another path of the same peer has answered a probe that left later. A peer that
// stands still answers on no path, and a node that did not run itself has read no answers; neither makes a path
// suspect. What arrives by itself proves nothing, because the other half of a connection may be dead.
namespace scoll::transport {
namespace {

/// The time between two probes of a connection that stands by.
constexpr nanoseconds standby_probe_interval = std::chrono::seconds(5);

/// A bulk connection that has not come up after this many looks is tried elsewhere: after more of them if the
/// path has a control connection. Even that may have been made by the peer, and not be the way from here.
constexpr std::uint32_t patience_of_bulk = 4;
constexpr std::uint32_t patience_on_good_path = 6;
constexpr int round_trips_to_connect = 4;
constexpr int attempts_in_grace = 3;

std::int64_t milliseconds_of(nanoseconds time) noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

/// Sees whether the connection leaves something unanswered, and since when. The transport's own count of what
/// the peer has acknowledged is asked only if it does.
void observe(carrier& c, std::uint64_t old_front, time_point now, bool late) noexcept {
  carrier::silence& s = c.seen();
  if (old_front != s.front) {
    s.front = old_front;
    s.front_since = now - limits::watch_interval;  // at the last look it was there already
  }
  const bool unanswered = c.probes().unanswered();
  const bool waited = std::exchange(s.waits, unanswered || old_front != 0);
  if (!s.waits) return;
  s.since = unanswered ? c.probes().unanswered_since() : now;
  if (old_front != 0) s.since = std::min(s.since, s.front_since);
  const auto progress = c.acknowledged_bytes();
  const bool moves = progress && std::exchange(s.progress, *progress) != *progress && waited;
  if (moves || late) s.floor = now;
  s.since = std::max(s.since, s.floor);
}

/// True if all of these connections of a lane, at least one, have left a probe unanswered since before `limit`.
template <class Among>
bool all_silent(lane& of, const Among& among, time_point limit) {
  bool any = false, answers = false;
  of.each_up([&](carrier& c) {
    if (!among(c)) return;
    any = true;
    answers |= !c.probes().unanswered() || c.probes().unanswered_since() >= limit;
  });
  return any && !answers;
}

}  // namespace

// ---- the table

std::span<const path> session::paths() const noexcept {
  return paths_ == nullptr ? std::span<const path>() : std::as_const(*paths_).all();
}

path_key session::path_of(traffic_class klass) const noexcept {
  const auto& l = lanes_[index(lane_of(klass))];
  return l == nullptr ? path_key() : std::as_const(*l).active().path();
}

bool session::connected_by(traffic_class klass, path_key key) const noexcept {
  const auto& l = lanes_[index(lane_of(klass))];
  if (l == nullptr) return false;
  const carrier* const there = std::as_const(*l).carrier_by(key);
  return there != nullptr && there->up();
}

const std::string& session::address_on(std::uint8_t rail) const noexcept {
  return paths_ == nullptr ? address_ : paths_->address(rail);
}

void session::set_addresses(std::span<const std::string> addresses) {
  address_ = addresses[0];
  const bool one_place = addresses.size() == 1 &&
                         (!endpoint_.has_named_rails() || address_.find(bulk_mark) == std::string::npos);
  if (paths_ == nullptr && endpoint_.rails() == 1 && one_place) return;
  need_paths().set_addresses(endpoint_, {addresses.begin(), addresses.end()});
}

path_table& session::need_paths() {
  if (paths_ == nullptr) {
    paths_ = std::make_unique<path_table>();
    paths_->set_addresses(endpoint_, {address_});
  }
  return *paths_;
}

path& session::path_at(path_key key) noexcept {
  return paths_->at(key);
}

void session::tell_path(const path_news& news) noexcept {
  endpoint_.handler_of(traffic_class::urgent).on_path_news(*this, news);
}

/// The peer numbers its rails itself, and this node by the order in which it knows their addresses. A peer of
/// which only one address is known may well have further rails.
void session::note_arrival(path_key by, std::uint8_t theirs) noexcept {
  if (paths_ == nullptr || paths_->addresses().size() < 2 || theirs >= max_rails) return;
  path& its = path_at(by);
  const bool news = its.arrives_at() != theirs && theirs != by.theirs;
  its.arrived_at(theirs);
  if (!news) return;
  tell_path({path_news::kind::crossed, by, {by.own, theirs}, false, {}});
}

path_key session::path_from(std::uint8_t own, std::uint8_t theirs) const noexcept {
  return {own, paths_ == nullptr ? theirs : paths_->name_of(theirs)};
}

void session::on_path_answer(const carrier& by) noexcept {
  const path_key key = by.path();
  path& its = path_at(key);
  const bool in_doubt = its.health() != path_health::good;
  its.answered(last_contact_);
  if (in_doubt && its.health() == path_health::good) tell_path({path_news::kind::good, key, {}, false, {}});
  endpoint_.note_rail_answer(key.own, by.probes().answered_probe_left());
}

// ---- comparing

/// While a path is suspected or proves itself, it is looked at even if nothing is awaited. That ends: a path that
/// does not answer is cut, and for a peer that answers on no path there is a limit.
bool session::unsettled() noexcept {
  lane* const control = lanes_[index(lane_id::control)].get();
  if (paths_ == nullptr || control == nullptr) return false;
  const time_point now = endpoint_.executor_.now();
  const bool used = now - paths_->used_at <= path_table::idle_after;
  bool any = used && control->up() && (!paths_->losses.empty() || endpoint_.has_rail_in_doubt());
  control->each_up([&](carrier& c) {
    const path& its = path_at(c.path());
    const bool proves = its.health() == path_health::proving;
    any |= proves ? now - its.since() <= its.proof() + path_table::idle_after
                  : used && its.health() == path_health::suspect;
  });
  return any;
}

/// Uses the best paths, and has another one stand by. Short calls have often been answered before a look, so
/// this is done even if nothing is awaited any more.
void session::keep_paths() noexcept {
  lane* const control = lanes_[index(lane_id::control)].get();
  if (control == nullptr || !control->up()) return;
  control->settle();
  control->make_standby();
  watch_bulk_path();
}

void session::compare_paths(bool late) noexcept {
  lane* const control = lanes_[index(lane_id::control)].get();
  if (control == nullptr) return;
  const time_point now = endpoint_.executor_.now();
  if (awaits()) paths_->used_at = now;
  std::array<carrier*, path_table::most_connected + 4> up{};
  std::size_t count = 0;
  for (auto& l : lanes_) {
    if (l == nullptr) continue;
    l->each_up([&](carrier& c) {
      observe(c, l->old_front(c), now, late);
      if (count < up.size()) up[count++] = &c;
    });
  }
  for (std::size_t i = 0; i < count && !late; ++i) {
    if (up[i]->up()) judge(*up[i]);
  }
  if (lanes_[index(lane_id::control)].get() != control) return;
  if (!control->up()) return control->settle();
  settle_losses();
  if (!late) endpoint_.settle_rails(endpoint_.options_.rails_detect);
  keep_paths();
  probe_paths();
}

/// True if another path has answered a probe that left after `since`.
bool session::another_answers(path_key key, time_point since) noexcept {
  bool any = false;
  lanes_[index(lane_id::control)]->each_up([&](carrier& c) {
    any |= c.path() != key && path_at(c.path()).usable() && c.probes().answered_probe_left() > since;
  });
  return any;
}

/// Time in which no other path answers either does not count: an answer may be late in a queue, and be held up
/// there while the peer stands still.
void session::judge(carrier& c) noexcept {
  const endpoint_options& options = endpoint_.options_;
  const time_point now = endpoint_.executor_.now();
  if (c.lane() == lane_id::control && path_at(c.path()).health() == path_health::suspect)
    return judge_suspect(c);
  carrier::silence& s = c.seen();
  if (!s.waits) return;
  const auto is_other = [&](const carrier& o) { return o.path() != c.path() && path_at(o.path()).usable(); };
  const bool compares = !SCOLL_MUTANT(rails_no_comparison, "a path is suspected because it is silent");
  if (compares && all_silent(*lanes_[index(lane_id::control)], is_other, now - rtt().safe()))
    s.since = s.floor = now;
  const nanoseconds limit = std::max(options.rails_detect, 2 * rtt().safe());
  if (now - s.since < limit) return;
  if (compares && !another_answers(c.path(), s.since)) return;
  const error reason = make_error(errc::connection_lost, "no answer for {} ms, while another path answers",
                                  milliseconds_of(now - s.since));
  if (c.lane() == lane_id::control) return on_suspicion(c, reason);
  const carrier* const beside = lanes_[index(lane_id::control)]->carrier_by(c.path());
  const bool path_lives = beside != nullptr && beside->up() && !beside->seen().waits;
  if (!path_lives) lanes_[index(lane_id::bulk)]->doubt_path(c, reason);
}

/// A bulk connection on the same path that still gets bytes through shows that the path is merely congested.
void session::on_suspicion(carrier& c, const error& reason) noexcept {
  lane* const bulk = lanes_[index(lane_id::bulk)].get();
  carrier* const beside = bulk == nullptr ? nullptr : bulk->carrier_by(c.path());
  if (beside != nullptr && beside->up() && beside->seen().waits &&
      beside->seen().floor == endpoint_.executor_.now())
    return;
  ++endpoint_.statistics_.path_suspicions;
  c.seen().looks = 0;
  path_at(c.path()).suspect(endpoint_.executor_.now(), endpoint_.options_.rails_prove, reason);
  tell_path({path_news::kind::suspected, c.path(), {}, false, words_of(reason)});
  on_path_loss(c.path(), c.seen().since);
  lanes_[index(lane_id::control)]->settle();
  if (beside != nullptr && beside->up()) bulk->doubt_path(*beside, reason);
}

/// Only looks at which another path answers count, so that a peer that stands still loses no path.
void session::judge_suspect(carrier& c) noexcept {
  const endpoint_options& options = endpoint_.options_;
  const nanoseconds fresh = std::max(2 * options.rails_detect, 2 * rtt().safe()) + limits::watch_interval;
  const time_point now = endpoint_.executor_.now();
  if (!another_answers(c.path(), now - fresh)) return;
  if (++c.seen().looks * limits::watch_interval < options.rails_dead) return;
  c.sever(make_error(errc::connection_lost, "suspected for {} ms, while another path answers",
                     milliseconds_of(now - path_at(c.path()).since())));
}

void session::probe_paths() noexcept {
  lane& control = *lanes_[index(lane_id::control)];
  const time_point now = endpoint_.executor_.now();
  bool doubt = !paths_->losses.empty();
  control.each_up(
      [&](carrier& c) { doubt |= c.seen().waits || path_at(c.path()).health() == path_health::suspect; });
  if (lane* const bulk = lanes_[index(lane_id::bulk)].get(); bulk != nullptr && bulk->up()) {
    bulk->each_up([&](carrier& c) {
      doubt |= c.seen().waits;
      if (c.seen().waits && c.probes().due(now, endpoint_.options_.rails_detect / 2)) c.send_probe();
    });
  }
  control.each_up([&](carrier& c) {
    const bool proves = path_at(c.path()).health() == path_health::proving;
    if (!doubt && !proves && control.is_active(c)) return;  // that one is probed as if it were alone
    const nanoseconds interval = doubt    ? endpoint_.options_.rails_detect / 2
                                 : proves ? limits::busy_probe_interval
                                          : standby_probe_interval;
    if (c.probes().due(now, interval)) c.send_probe();
  });
}

/// The time in which the peer's host must answer the first packet of a connection. Where packets are lost, round
/// trips take long and vary much; then several attempts must fit into the grace, because a lost first packet is
/// sent again only after a second.
nanoseconds session::time_to_connect() const noexcept {
  const nanoseconds shortest = round_trips_to_connect * rtt().least();
  const nanoseconds share = endpoint_.options().reconnect_grace / attempts_in_grace;
  return std::min(round_trips_to_connect * rtt().safe(), std::max(shortest, share));
}

/// Bulk goes where the control lane has found a way, and comes back to the path that it prefers.
void session::watch_bulk_path() noexcept {
  lane* const bulk = lanes_[index(lane_id::bulk)].get();
  if (bulk == nullptr) return;
  bulk->watch_attempts();
  lane& control = *lanes_[index(lane_id::control)];
  carrier& c = bulk->active();
  const auto carries = [&](path_key key) {
    const carrier* const there = control.carrier_by(key);
    return there != nullptr && there->up() && path_at(key).standing() == 0;
  };
  if (c.up()) {
    c.seen().looks = 0;
    const path_key best = bulk->best_path();
    if (best != c.path() && carries(best) && !bulk->opens_beside(best))
      bulk->leave_path(c, {errc::connection_lost, "a better path is back"});
    return;
  }
  if (!c.attempting() || ++c.seen().looks < patience_of_bulk) return;
  const nanoseconds waited = c.seen().looks * limits::watch_interval;
  const carrier* const beside = control.carrier_by(c.path());
  // One that proves itself may be the only one.
  const bool answers = beside != nullptr && beside->up() && path_at(c.path()).usable();
  const bool shown = answers && beside->made_here();  // it shows the way from here
  // Once its host has answered, the peer itself may be slow.
  const nanoseconds patience = c.greeting() ? round_trips_to_connect * rtt().safe() : time_to_connect();
  const bool slow = (shown && c.seen().looks < patience_on_good_path) || waited < patience;
  if (slow && answers) return;
  c.seen().looks = 0;
  bulk->leave_path(c, {errc::connection_lost, "no connection, while another path answers"});
}

}  // namespace scoll::transport
