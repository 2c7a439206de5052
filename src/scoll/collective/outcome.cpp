#include "scoll/collective/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scoll/coro/error_format.hpp"

namespace scoll {
namespace {

const cause no_cause{};
constexpr std::array state_names{"merged",  "executed", "failed", "not reached",
                                 "unknown", "excluded", "pending"};
constexpr std::array phase_names{"none", "liveness", "admission", "prepare",
                                 "bulk", "execute",  "reply",     "delivery"};

template <class Name>
std::string describe_with(const outcome& o, Name name) {
  const std::uint32_t merged = o.count(member_state::merged);
  const std::uint32_t addressed = o.members() - o.count(member_state::excluded);
  std::string text = fmt::format("{} of {} executed and merged", merged, addressed);
  if (addressed != o.members()) text += fmt::format(" ({} not addressed)", o.members() - addressed);
  for (const member_report& r : o.reports()) {
    if (r.state == member_state::merged || r.state == member_state::excluded) continue;
    const cause& why = o.causes()[r.cause_index];
    std::string who;
    for (std::uint32_t rank = r.members.first; rank != r.members.last; ++rank) {
      if (rank != r.members.first) who += ' ';
      who += name(rank);
    }
    text += fmt::format("; {}: {}", to_string(r.state), who);
    if (why.where != phase::none) {
      text += fmt::format(" ({}: {}, says {})", to_string(why.where), describe(why.what), name(why.reporter));
    }
  }
  return text;
}

}  // namespace

std::string_view to_string(member_state state) noexcept {
  const auto i = static_cast<std::size_t>(state);
  return i < state_names.size() ? state_names[i] : "?";
}

std::string_view to_string(phase p) noexcept {
  const auto i = static_cast<std::size_t>(p);
  return i < phase_names.size() ? phase_names[i] : "?";
}

bool outcome::is_clean(const std::vector<member_report>& reports) noexcept {
  return std::all_of(reports.begin(), reports.end(), [](const member_report& r) {
    return r.state == member_state::merged || r.state == member_state::excluded;
  });
}

/// True if the reports follow one another from the first member to the last, and name causes that there are.
bool outcome::is_whole() const noexcept {
  if (reports_.empty()) return true;
  std::uint32_t next = 0;
  for (const member_report& r : reports_) {
    const bool known = r.state <= member_state::excluded && r.cause_index < causes_.size();
    if (!known || r.members.first != next || r.members.last <= next) return false;
    next = r.members.last;
  }
  return next == members_;
}

outcome::outcome(std::uint32_t members, std::vector<member_report> reports, std::vector<cause> causes)
    : members_(members), clean_(is_clean(reports)), reports_(std::move(reports)), causes_(std::move(causes)) {
  SCOLL_ASSERT(!causes_.empty() && !reports_.empty() && reports_.front().members.first == 0 &&
                   reports_.back().members.last == members_,
               "an outcome accounts for every member");
}

const member_report* outcome::find(std::uint32_t rank) const noexcept {
  const auto at =
      std::upper_bound(reports_.begin(), reports_.end(), rank,
                       [](std::uint32_t r, const member_report& run) { return r < run.members.last; });
  return at == reports_.end() ? nullptr : &*at;
}

member_state outcome::state(std::uint32_t rank) const noexcept {
  const member_report* run = find(rank);
  return run == nullptr ? member_state::merged : run->state;
}

const cause& outcome::why(std::uint32_t rank) const noexcept {
  const member_report* run = find(rank);
  return run == nullptr ? no_cause : causes_[run->cause_index];
}

std::uint32_t outcome::count(member_state wanted) const noexcept {
  if (reports_.empty()) return wanted == member_state::merged ? members_ : 0;
  std::uint32_t sum = 0;
  for (const member_report& run : reports_) sum += run.state == wanted ? run.members.size() : 0;
  return sum;
}

rank_set outcome::in(member_state wanted) const {
  rank_set set;
  if (reports_.empty() && wanted == member_state::merged) return rank_set::all(members_);
  for (const member_report& run : reports_) {
    if (run.state == wanted) set.append(run.members.first, run.members.last);
  }
  return set;
}

rank_set outcome::executed() const {
  if (reports_.empty()) return merged();
  rank_set set;
  for (const member_report& run : reports_) {
    if (run.state <= member_state::executed) set.append(run.members.first, run.members.last);
  }
  return set;
}

std::string describe(const outcome& o) {
  return describe_with(o, [](std::uint32_t rank) { return fmt::format("rank {}", rank); });
}

std::string describe(const outcome& o, const membership& members) {
  return describe_with(o, [&](std::uint32_t rank) { return fmt::format("node {}", members.node(rank)); });
}

}  // namespace scoll
