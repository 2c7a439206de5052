#include "transport/session/rails/path.hpp"

#include <algorithm>

#include "scoll/coro/mutants.hpp"

namespace scoll::transport {

std::string_view to_string(path_health health) noexcept {
  switch (health) {
    case path_health::untried: return "untried";
    case path_health::good: return "good";
    case path_health::proving: return "proving";
    case path_health::suspect: return "suspect";
    case path_health::dead: return "dead";
  }
  return "?";
}

void path::resume(const path& before) noexcept {
  const std::uint32_t rank = rank_;
  const bool reachable = reachable_;
  *this = before;
  rank_ = rank;
  reachable_ = reachable;
}

unsigned path::standing() const noexcept {
  switch (health_) {
    case path_health::untried:
    case path_health::good: return 0;
    case path_health::proving: return 1;
    case path_health::suspect: return 2;
    default: return 3;
  }
}

void path::enter(path_health next, time_point now) noexcept {
  health_ = next;
  since_ = now;
}

void path::trouble(time_point now, nanoseconds prove) noexcept {
  const bool again = proof_.count() != 0 && now - troubled_at_ < memory;
  proof_ = again ? std::min(2 * proof_, longest_proof) : prove;
  troubled_at_ = now;
}

void path::bulk_left(time_point now, nanoseconds least) noexcept {
  const bool at_once = now == bulk_left_at_;
  const bool again = bulk_away_.count() != 0 && now < bulk_left_at_ + bulk_away_ + memory && !at_once;
  const nanoseconds before = at_once ? bulk_away_ : again ? std::min(2 * bulk_away_, longest_proof) : least;
  bulk_away_ = SCOLL_MUTANT(rails_read_link_left) ? least : std::max(least, before);
  bulk_left_at_ = now;
  bulk_after_ = now + bulk_away_;
  bulk_failed_ = false;
}

void path::forgive_bulk() noexcept {
  if (!SCOLL_MUTANT(rails_left_for_unusable)) bulk_failed_ = false;
}

void path::came_up(time_point now) noexcept {
  failures_ = 0;
  bulk_came_up();
  if (health_ == path_health::good || health_ == path_health::proving) return;
  answers_ = 0;
  const bool trusted = health_ == path_health::untried ||
                       SCOLL_MUTANT(rails_prove_skipped, "a path that is back is trusted at once");
  enter(trusted ? path_health::good : path_health::proving, now);
}

void path::suspect(time_point now, nanoseconds prove, const error& reason) noexcept {
  if (standing() >= 2) return;
  trouble(now, prove);
  ++suspicions_;
  why_ = reason;
  enter(path_health::suspect, now);
}

void path::answered(time_point now) noexcept {
  if (health_ == path_health::suspect) {
    answers_ = 0;
    enter(SCOLL_MUTANT(rails_prove_skipped) ? path_health::good : path_health::proving, now);
  }
  if (health_ != path_health::proving) return;
  ++answers_;
  const bool proven = answers_ >= answers_wanted && now - since_ >= proof_;
  if (!proven || SCOLL_MUTANT(rails_never_returned, "a path that has failed once is never good again"))
    return;
  pause_ = nanoseconds(0);
  forgive_bulk();
  enter(path_health::good, now);
}

void path::died(time_point now, nanoseconds prove, const error& reason) noexcept {
  if (health_ == path_health::dead) return;
  const bool was_back = health_ != path_health::proving || answers_ != 0 || now - since_ >= first_pause;
  if (health_ != path_health::suspect && was_back) trouble(now, prove);
  ++deaths_;
  why_ = reason;
  enter(path_health::dead, now);
}

nanoseconds path::next_pause() noexcept {
  pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
  return pause_;
}

}  // namespace scoll::transport
