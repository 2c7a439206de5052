#include <algorithm>
#include <tuple>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/rails/path_table.hpp"
#include "transport/session/session.hpp"

// A lane with several paths to its peer.
//
// The control lane has a carrier for each path that it has needed. One is active: it alone carries messages
// and acknowledgements of this side. To move to another one, that one begins with the first message that has
// not been acknowledged. So each connection carries a run without gaps that begins no later than the first
// number that has not arrived, and the receiver's rule is that of a single connection. The two sides choose
// their active carriers independently.
//
// The bulk lane has one carrier, which chooses a path each time it connects, and further ones while there is
// much to send (lane_stripes.cpp).
namespace scoll::transport {

carrier* lane::carrier_by(path_key key) noexcept {
  return const_cast<carrier*>(std::as_const(*this).carrier_by(key));
}

const carrier* lane::carrier_by(path_key key) const noexcept {
  if (carrier_->path() == key) return carrier_.get();
  const auto found = std::ranges::find(others_, key, [](const auto& c) { return c->path(); });
  return found == others_.end() ? nullptr : found->get();
}

/// Finds the connection by its number, which both sides know. They may name its path differently, if wires are
/// crossed.
carrier* lane::carrier_of(const link_down& what) noexcept {
  if (SCOLL_MUTANT(rails_down_of_later_link, "the end of a connection ends the one after it"))
    return carrier_by({what.to_rail, what.from_rail});
  const auto is_meant = [&](const auto& c) { return c->is_link(what.made_by_speaker == 0, what.attempt); };
  if (is_meant(carrier_)) return carrier_.get();
  const auto found = std::ranges::find_if(others_, is_meant);
  return found == others_.end() ? nullptr : found->get();
}

carrier& lane::carrier_on(path_key key) noexcept {
  if (carrier* const known = carrier_by(key)) return *known;
  return *others_.emplace_back(std::make_unique<carrier>(*this, key));
}

std::size_t lane::connections() const noexcept {
  const auto busy = [](const auto& c) { return c->up() || c->attempting(); };
  return static_cast<std::size_t>(busy(carrier_)) +
         static_cast<std::size_t>(std::ranges::count_if(others_, busy));
}

bool lane::make_place_for(path_key by) noexcept {
  if (connections() < path_table::most_connected) return true;
  const carrier* const known = carrier_by(by);
  if (known != nullptr && !known->idle() && !known->pausing()) return true;
  carrier* const worse = worse_than(by);
  if (worse != nullptr) retire(*worse);
  return worse != nullptr;
}

/// Finds the connection of a control lane that stands by on the least preferred path. Returns null if there is
/// none, or if `by` is not preferred to its path.
carrier* lane::worse_than(path_key by) noexcept {
  if (id_ == lane_id::bulk || !has_paths()) return nullptr;
  const auto rank_of = [&](const carrier& c) { return session_.path_at(c.path()).rank(); };
  carrier* worst = nullptr;
  for (auto& c : others_) {
    if (c->up() && (worst == nullptr || rank_of(*c) > rank_of(*worst))) worst = c.get();
  }
  const bool worse = worst != nullptr && rank_of(*worst) > session_.path_at(by).rank();
  return worse && !SCOLL_MUTANT(rails_places_kept, "connections by worse paths keep a better one out")
             ? worst
             : nullptr;
}

/// Ends a connection that stands by and is not needed. Nothing is wrong with its path.
void lane::retire(carrier& c) noexcept {
  session_.tell_link_over(c, {errc::busy, "a better path takes its place"});
  c.stop();
}

bool lane::greeting(path_key by) const noexcept {
  const auto greets = [&](const auto& c) {
    return c != nullptr && c->greeting() && (c->path() == by || (id_ == lane_id::bulk && !up()));
  };
  return greets(carrier_) || greets(spare_) || std::ranges::any_of(others_, greets);
}

std::uint64_t lane::peer_attempts(path_key by) const noexcept {
  if (by == path_key{}) return peer_attempts_;
  const auto found = std::ranges::find(peer_attempts_by_, by, &std::pair<path_key, std::uint64_t>::first);
  return found == peer_attempts_by_.end() ? 0 : found->second;
}

void lane::set_peer_attempts(path_key by, std::uint64_t attempts) noexcept {
  if (by == path_key{}) {
    peer_attempts_ = attempts;
    return;
  }
  const auto found = std::ranges::find(peer_attempts_by_, by, &std::pair<path_key, std::uint64_t>::first);
  if (found == peer_attempts_by_.end()) {
    peer_attempts_by_.emplace_back(by, attempts);
  } else {
    found->second = attempts;
  }
}

void lane::forget_peer_attempts() noexcept {
  peer_attempts_ = 0;
  peer_attempts_by_.clear();
}

bool lane::unanswered() const noexcept {
  return carrier_->unanswered() &&
         std::ranges::none_of(others_, [](const auto& c) { return c->up() && !c->unanswered(); });
}

// ---- choosing

/// Among good paths the order of preference decides. A path that is not good is no better than another one
/// in the same state, so that nothing moves between them.
carrier* lane::best_up() noexcept {
  carrier* best = carrier_->up() ? carrier_.get() : nullptr;
  for (auto& c : others_) {
    if (!c->up()) continue;
    if (best == nullptr) {
      best = c.get();
      continue;
    }
    const path& candidate = session_.path_at(c->path());
    const path& chosen = session_.path_at(best->path());
    const bool preferred = candidate.standing() == 0 && candidate.rank() < chosen.rank();
    if (candidate.standing() < chosen.standing() || (candidate.standing() == chosen.standing() && preferred))
      best = c.get();
  }
  return best;
}

/// A connection that has taken the place of a broken one, by the same path, gets a moment for its first frame.
void lane::settle() noexcept {
  if (id_ == lane_id::bulk) return;
  carrier* const best = best_up();
  if (best == nullptr || is_active(*best)) return;
  if (carrier_->welcomed() && ex().now() - carrier_->seen().since < session_.endpoint_.options().rails_detect)
    return;
  if (carrier_->up()) {
    ++session_.endpoint_.statistics_.path_moves;
    session_.path_at(carrier_->path()).left();
  } else {
    end_grace();
  }
  go_over(*best);
}

void lane::swap_in(carrier& next) noexcept {
  const auto place = std::ranges::find(others_, &next, [](const auto& c) { return c.get(); });
  SCOLL_ASSERT(place != others_.end(), "a lane goes over to a carrier of its own");
  stop_spare();
  carrier_->set_cursor(nullptr);
  std::swap(carrier_, *place);
}

/// Acknowledgements and grants that left by the old path may be lost with it, and nothing repeats them.
void lane::go_over(carrier& next) noexcept {
  swap_in(next);
  carrier_->set_cursor(
      SCOLL_MUTANT(rails_move_without_replay, "a new active path begins with what has not been sent")
          ? nullptr
          : first_retained());
  if (!SCOLL_MUTANT(rails_grant_lost, "what was granted by a path that is lost is not granted again"))
    acknowledge_now();
  note_path();
  session_.kick();
}

/// Tells the layer above if messages go by another path than before.
void lane::note_path() noexcept {
  const path_key now = carrier_->path();
  const path_key before = carried_by_.value_or(now);
  carried_by_ = now;
  if (before == now) return;
  const path& old = session_.path_at(before);
  const bool bulk = id_ == lane_id::bulk;
  std::string_view why = old.standing() == 0 ? "a path that is preferred is good again" : words_of(old.why());
  if (bulk && old.usable() && last_failure_) why = words_of(last_failure_);
  session_.tell_path({path_news::kind::moved, before, now, bulk, why});
}

/// Bulk prefers the paths that have a connection, because it shows that they can be used: even one that still
/// proves itself, or that bulk has left, is better than one that nobody has been able to use. A path that is meant
/// for bulk is tried without that, until it has failed.
path_key lane::best_path() noexcept {
  const time_point now = ex().now();
  const path* best = nullptr;
  const bool bulk = id_ == lane_id::bulk;
  const auto cost = [&](const path& p) {
    const bool preferred = !bulk || prefers(p);
    const bool hopeful =
        preferred && p.health() == path_health::untried && p.failures() == 0 && p.takes_bulk(now);
    const bool shown = !bulk || hopeful || session_.connected_by(traffic_class::urgent, p.key()) ||
                       session_.connected_by(traffic_class::bulk, p.key());
    return std::tuple(!p.usable(), bulk && p.fails_bulk(now), !shown, bulk && !p.takes_bulk(now),
                      p.standing(), p.failures() != 0, !preferred, p.rank());
  };
  for (const path& each : session_.paths_->all()) {
    if (each.reachable() && (best == nullptr || cost(each) < cost(*best))) best = &each;
  }
  return best == nullptr ? carrier_->path() : best->key();
}

void lane::choose_path(carrier& c) noexcept {
  if (id_ == lane_id::bulk && has_paths() && is_active(c)) aim(best_path());
}

/// The active carrier, which has no connection, changes its path. No two carriers have the same one.
void lane::aim(path_key by) noexcept {
  if (by == carrier_->path()) return;
  if (carrier* const other = carrier_by(by); other != nullptr) {
    other->stop();
    other->aim(carrier_->path());
  }
  carrier_->aim(by);
}

// ---- connecting

/// While the lane is down, all its paths are tried, one after the other, so that a path that swallows
/// everything costs the time of one step and not that of a connection attempt.
void lane::hedge() noexcept {
  if (id_ == lane_id::bulk) return;
  const nanoseconds step = session_.endpoint_.options().rails_detect;
  nanoseconds pause = step;
  for (std::size_t i = 0; i < session_.paths_->all().size(); ++i) {
    const path& each = session_.paths_->all()[i];
    if (!each.reachable() || connections() >= path_table::most_connected) continue;
    carrier& c = carrier_on(each.key());
    if (!c.idle()) continue;
    c.connect_after(pause);
    pause += step;
  }
}

void lane::attend_paths() noexcept {
  if (id_ == lane_id::bulk && session_.lanes_[index(lane_id::control)] == nullptr) {
    session_.lane_at(lane_id::control);  // it finds out which paths can be used
    session_.kick();
  }
  if (carrier_->idle()) {
    if (id_ == lane_id::control) {
      carrier& first = carrier_on(best_path());
      if (!is_active(first)) swap_in(first);
    }
    if (carrier_->idle()) return carrier_->begin_connect();
  }
  if (grace_timer_.armed()) return;
  start_grace();
  carrier_->hurry();
  hurry_others();
  hedge();  // an attempt that hangs may have begun for somebody who has given up since
}

bool lane::wants(const carrier& c) noexcept {
  return has_paths() && up() ? standby_wanted(c) : wanted();
}

/// The paths are gone through in the order of preference, until one is found that stands by. Those before it
/// are tried for ever, because they are preferred.
bool lane::standby_wanted(const carrier& c) noexcept {
  if (id_ == lane_id::bulk || is_active(c)) return false;
  if (ex().now() - session_.paths_->used_at > path_table::idle_after) return false;
  for (const path& each : session_.paths_->all()) {
    if (each.key() == c.path()) return each.reachable();
    const carrier* const there = carrier_by(each.key());
    if (there != nullptr && !is_active(*there) && there->up() && each.usable()) return false;
  }
  return false;
}

/// The side that has made the active connection makes the standby. The other side waits first.
void lane::make_standby() noexcept {
  if (id_ == lane_id::bulk || !up()) return;
  const bool first = carrier_->made_here();
  for (std::size_t i = 0; i < session_.paths_->all().size(); ++i) {
    const path& each = session_.paths_->all()[i];
    if (each.key() == carrier_->path() || !each.reachable()) continue;
    if (connections() >= path_table::most_connected && worse_than(each.key()) == nullptr) return;
    carrier& c = carrier_on(each.key());
    const bool hopeful = each.usable() && each.failures() == 0;
    if (c.idle()) c.connect_after(first && hopeful ? nanoseconds(0) : path::first_pause);
    if (hopeful) return;
  }
}

void lane::on_path_up(carrier& c) noexcept {
  if (id_ == lane_id::bulk) {
    if (!SCOLL_MUTANT(rails_read_link_left)) session_.path_at(c.path()).bulk_came_up();
    if (!is_active(c) && !is_spare(c) && !carrier_->up()) swap_in(c);
    join_stripes(c);
    settle_stripes();
    return note_path();
  }
  path& its = session_.path_at(c.path());
  its.came_up(ex().now());
  its.try_at({});
  session_.endpoint_.note_rail_answer(c.path().own, ex().now());
  session_.paths_->used_at = ex().now();
  if (!is_active(c)) {
    c.set_cursor(nullptr);
    settle();
  }
  note_path();
  make_standby();
  if (!session_.paths_->told.empty()) c.tell_downs();
}

// ---- losing

void lane::on_path_failure(carrier& c, const error& reason, bool was_up) noexcept {
  const endpoint_options& options = session_.endpoint_.options();
  const time_point now = ex().now();
  path& its = session_.path_at(c.path());
  // The peer goes on with a spare beside this connection, on the same path.
  if (was_up && is_active(c) && spare_ != nullptr && spare_->welcomed() && spare_takes_over(reason)) return;
  if (id_ == lane_id::bulk) return on_bulk_failure(c, reason, was_up);
  if (was_up) {
    ++session_.endpoint_.statistics_.path_deaths;
    const bool news = its.health() != path_health::suspect;
    its.died(now, options.rails_prove, reason);
    session_.tell_path({path_news::kind::dead, c.path(), {}, false, words_of(reason)});
    if (news) session_.on_path_loss(c.path(), now);
    if (SCOLL_MUTANT(rails_death_as_nodes, "the death of a path ends the session"))
      return session_.fail(reason);
  } else {
    its.attempt_failed(reason);
  }
  if (was_up) session_.tell_link_over(c, reason);
  last_failure_ = reason;
  if (is_active(c)) {
    if (carrier* const next = best_up(); next != nullptr) {
      ++session_.endpoint_.statistics_.path_moves;
      its.left();
      go_over(*next);
      last_failure_ = {};
    } else if (spare_takes_over(reason)) {
      return;
    }
  }
  if (up() && !session_.paths_->told.empty()) carrier_->tell_downs();
  if (!up()) {
    retry(c, reason);
    // The last path is gone: all others are tried at once, however long they were to wait.
    if (was_up && needed()) hurry_others();
    return;
  }
  make_standby();
  if (!c.idle() && !c.pausing()) return;
  const nanoseconds pause =
      session_.endpoint_.is_rail_dead(c.path().own) ? path::first_pause : its.next_pause();
  const auto jitter = session_.endpoint_.random_.below(static_cast<std::uint64_t>(pause.count()) / 4 + 1);
  const nanoseconds whole = pause + nanoseconds(static_cast<std::int64_t>(jitter));
  its.try_at(now + whole);
  c.connect_after(whole);
}

/// An attempt may make carriers for further paths.
void lane::hurry_others() noexcept {
  for (std::size_t i = 0; i < others_.size(); ++i) others_[i]->hurry();
}

/// Connects by the paths that have not been needed so far, as far as there is room.
void lane::try_further() noexcept {
  if (SCOLL_MUTANT(rails_further_untried, "when the connected paths fall silent, others are not connected"))
    return;
  for (std::size_t i = 0; i < session_.paths_->all().size(); ++i) {
    const path& each = session_.paths_->all()[i];
    if (!each.reachable() || connections() >= path_table::most_connected) continue;
    if (carrier& c = carrier_on(each.key()); c.idle()) c.begin_connect();
  }
}

/// Goes on by another path, whose connection begins with what has not been acknowledged.
void lane::leave_path(carrier& c, const error& reason) noexcept {
  const bool was_up = c.up();
  path& its = session_.path_at(c.path());
  if (was_up && another_up(c) == nullptr) {
    ++session_.endpoint_.statistics_.path_moves;
    its.left();
  }
  was_up ? c.sever(reason) : c.abandon();
  const bool used =
      was_up && !SCOLL_MUTANT(rails_left_for_unusable, "a path that bulk has left cannot be used");
  used ? its.bulk_left(ex().now(), path::longest_pause) : its.bulk_failed(ex().now());
  c.forget_failures();
  if (carrier_->up()) return;
  if (carrier_->pausing()) return carrier_->hurry();
  if (needed() && carrier_->idle()) carrier_->begin_connect();
}

/// A connection that is up, or has been welcomed, belongs to the session that ends.
void lane::stop_others(bool keep_connecting) noexcept {
  for (auto& c : others_) {
    const bool goes_on = keep_connecting && (c->attempting() || c->pausing());
    if (!goes_on) c->stop();
    c->forget_failures();
  }
}

}  // namespace scoll::transport
