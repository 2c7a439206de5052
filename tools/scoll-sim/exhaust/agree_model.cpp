#include "tools/scoll-sim/exhaust/agree_model.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/exhaust/explore.hpp"

namespace scoll::sim {

using namespace detail;

namespace {

constexpr std::uint8_t bit(std::uint32_t member) noexcept {
  return static_cast<std::uint8_t>(1U << member);
}
constexpr std::uint8_t everybody = bit(agree_model::members) - 1;

rank_set ranks_of(std::uint8_t bits) {
  rank_set ranks;
  for (std::uint32_t m = 0; m < agree_model::members; ++m) {
    if ((bits & bit(m)) != 0) ranks.append(m, m + 1);
  }
  return ranks;
}
std::uint8_t bits_of(const rank_set& ranks) {
  std::uint8_t bits = 0;
  ranks.for_each([&](std::uint32_t m) { bits |= bit(m); });
  return bits;
}

/// A value counts for each member how often it was merged.
using counts = std::array<std::byte, agree_model::members>;

counts value_of(std::uint32_t member) {
  counts value{};
  value[member] = std::byte{1};
  return value;
}

status add_counts(std::vector<std::byte>& into, std::span<const std::byte> from) {
  for (std::size_t i = 0; i < into.size(); ++i)
    into[i] = static_cast<std::byte>(std::to_integer<unsigned>(into[i]) + std::to_integer<unsigned>(from[i]));
  return {};
}

/// True if the value is made of the members outside `failed`, each once.
bool right(const proposal& p) {
  if (p.value.size() != agree_model::members) return false;
  for (std::uint32_t m = 0; m < agree_model::members; ++m) {
    if (p.value[m] != (p.failed.contains(m) ? std::byte{0} : std::byte{1})) return false;
  }
  return true;
}

}  // namespace

agree_model::agree_model(const agree_bounds& bounds) : bounds_(bounds) {
  for (std::uint32_t p = 0; p < bounds.proposers; ++p)
    proposers_.push_back({agreement_proposer(members, p, bounds.rule, &add_counts)});
}

bool agree_model::lives(std::uint8_t member) const {
  return (crashed_ & bit(member)) == 0;
}

/// With wrong verdicts a crash is not a step of its own: the member just takes no further step.
std::vector<agree_model::step> agree_model::steps() const {
  std::vector<step> possible;
  const auto proposers = static_cast<std::uint8_t>(proposers_.size());
  const auto late = static_cast<std::uint8_t>(late_.size());
  for (std::uint8_t p = 0; p < proposers; ++p) {
    if (lives(p)) add_steps_of(possible, p);
  }
  for (std::uint8_t m = 0; m < members; ++m) {
    if (!lives(m)) continue;
    if (!bounds_.wrong_verdicts) possible.push_back({action::crash, 0, m});
    for (std::uint8_t r = 0; r < late; ++r) {
      if (matters(late_[r], m)) possible.push_back({action::arrive_late, 0, m, r});
    }
  }
  return possible;
}

void agree_model::add_steps_of(std::vector<step>& into, std::uint8_t p) const {
  const proposing& by = proposers_[p];
  if (by.now == stage::idle) {
    if (ballots_ < bounds_.ballots) into.push_back({action::begin, p});
    return;
  }
  for (std::uint8_t m = 0; m < members; ++m) {
    if (!lives(m)) continue;
    if (by.now == stage::decided) {
      if (m >= proposers_.size() && !acceptors_[m].decided()) into.push_back({action::hear, p, m});
    } else if ((by.waiting & bit(m)) != 0) {
      if (!acceptors_[m].called()) into.push_back({action::call, p, m});
    } else if ((by.asked & ~by.arrived & bit(m)) != 0) {
      into.push_back({action::arrive, p, m});
    }
  }
  if (by.now == stage::decided) return;
  // A verdict matters only for members that have not contributed, so that it is enough to hold none dead or
  // as many as possible.
  const auto most_dead = static_cast<bits>(bounds_.wrong_verdicts ? everybody & ~bit(p) : crashed_);
  for (unsigned heard = 0; heard <= everybody; ++heard) {
    // A proposer hears its own answer.
    if ((heard & ~by.arrived) != 0 || (heard & bit(p)) != (by.arrived & bit(p))) continue;
    into.push_back({action::conclude, p, 0, 0, static_cast<bits>(heard), 0});
    if (most_dead != 0) into.push_back({action::conclude, p, 0, 0, static_cast<bits>(heard), most_dead});
  }
}

void agree_model::take(const step& s) {
  switch (s.what) {
    case action::begin: return begin(s.proposer);
    case action::arrive: return arrive(s.proposer, s.member);
    case action::arrive_late: return arrive_late(s);
    case action::call: return call(s.proposer, s.member);
    case action::conclude: return conclude(s);
    case action::crash: crashed_ |= bit(s.member); return;
    case action::hear: return acceptors_[s.member].decide(proposers_[s.proposer].core.proposed());
  }
}

void agree_model::begin(std::uint8_t p) {
  acceptors_[p].call(value_of(p));
  proposers_[p].core.next_ballot(acceptors_[p].promised());
  ++ballots_;
  ask(p, stage::collecting, everybody);
}

/// The proposer's own vote comes first, because nothing is between the two.
void agree_model::ask(std::uint8_t p, stage what, bits asked) {
  proposing& by = proposers_[p];
  by = {std::move(by.core), what, asked};
  if ((asked & bit(p)) != 0) arrive(p, p);
}

void agree_model::arrive(std::uint8_t p, std::uint8_t member) {
  proposing& from = proposers_[p];
  agreement_acceptor& at = acceptors_[member];
  from.arrived |= bit(member);
  if (from.now == stage::accepting) {
    at.accept(from.core.current(), from.core.proposed());
  } else if (at.promise(from.core.current()) && !at.can_answer()) {
    from.waiting |= bit(member);
    return;
  }
  from.answers[member] = answer_now(from, member);
}

void agree_model::arrive_late(const step& s) {
  late_request& r = late_[s.late];
  r.missing &= static_cast<bits>(~bit(s.member));
  if (r.votes) {
    acceptors_[s.member].accept(r.at, r.what);
  } else {
    acceptors_[s.member].promise(r.at);
  }
}

void agree_model::call(std::uint8_t p, std::uint8_t member) {
  acceptors_[member].call(value_of(member));
  proposing& from = proposers_[p];
  from.waiting &= static_cast<bits>(~bit(member));
  from.answers[member] = answer_now(from, member);
}

agreement_answers agree_model::answer_now(const proposing& to, std::uint8_t member) const {
  const agreement_acceptor& by = acceptors_[member];
  return to.now == stage::collecting ? by.answer_collect(to.core.current(), member, to.core.held())
                                     : by.answer_accept(to.core.current(), member);
}

void agree_model::conclude(const step& s) {
  using next = agreement_proposer::step;
  proposing& by = proposers_[s.proposer];
  keep_late(by);
  agreement_answers answers;
  for (std::uint8_t m = 0; m < members; ++m) {
    if ((s.heard & bit(m)) == 0) continue;
    join(answers, (by.waiting & bit(m)) != 0 ? answer_now(by, m) : by.answers[m]);
  }
  const rank_set asked = ranks_of(by.asked), heard = ranks_of(s.heard), dead = ranks_of(s.dead);
  const next then = by.now == stage::collecting ? by.core.after_collect(answers, asked, heard, dead)
                                                : by.core.after_accept(answers, asked, heard, dead);
  switch (then) {
    case next::collect_more:
    case next::accept_more:
      if (bounds_.second_asks) return ask(s.proposer, by.now, bits_of(by.core.missing()));
      return ask(s.proposer, stage::idle, 0);
    case next::accept: return ask(s.proposer, stage::accepting, everybody);
    case next::decided: return ask(s.proposer, stage::decided, 0);
    default: return ask(s.proposer, stage::idle, 0);
  }
}

void agree_model::keep_late(const proposing& by) {
  const auto missing = static_cast<bits>(by.asked & ~by.arrived);
  const bool votes = by.now == stage::accepting;
  const auto at = std::ranges::lower_bound(late_, std::pair(by.core.current(), votes), {},
                                           [](const late_request& r) { return std::pair(r.at, r.votes); });
  if (at == late_.end() || at->at != by.core.current() || at->votes != votes) {
    late_.insert(at, {by.core.current(), votes, by.core.proposed(), missing});
  } else {
    at->missing |= missing;
  }
}

/// True if the request has not arrived at the member and would change something there.
bool agree_model::matters(const late_request& r, std::uint8_t member) const {
  const agreement_acceptor& at = acceptors_[member];
  if ((r.missing & bit(member)) == 0 || r.at < at.promised()) return false;
  return r.votes ? r.at > at.accepted().at : r.at > at.promised();
}

const proposal* agree_model::decision_of(std::size_t i) const {
  if (i < members) return acceptors_[i].decided() ? &acceptors_[i].decision() : nullptr;
  const proposing& by = proposers_[i - members];
  return by.now == stage::decided ? &by.core.proposed() : nullptr;
}

std::string agree_model::violation() const {
  const proposal* first = nullptr;
  for (std::size_t i = 0; i < members + proposers_.size(); ++i) {
    const proposal* const decided = decision_of(i);
    if (decided == nullptr) continue;
    if (first == nullptr) first = decided;
    if (*decided != *first) return "two outcomes are decided";
    if (!right(*decided)) return "the value is not made of the members outside `failed`, each once";
  }
  return {};
}

bool agree_model::reached() const {
  return std::ranges::any_of(acceptors_, [](const auto& a) { return a.decided(); });
}

void agree_model::describe_to(std::vector<std::uint64_t>& out) const {
  out.insert(out.end(), {ballots_, crashed_});
  for (const agreement_acceptor& a : acceptors_) a.describe_to(out);
  for (const proposing& p : proposers_) {
    out.insert(out.end(), {static_cast<std::uint64_t>(p.now), p.asked, p.arrived, p.waiting});
    if (p.now == stage::idle) {
      if (ballots_ == bounds_.ballots) continue;  // it does nothing more
      agreement_proposer next = p.core;
      next.next_ballot({});  // what it remembers beyond this makes no difference
      next.describe_to(out);
      continue;
    }
    if (p.now == stage::decided) {
      detail::describe_to(out, p.core.proposed());
      continue;
    }
    p.core.describe_to(out);
    for (const agreement_answers& a : p.answers) detail::describe_to(out, a);
  }
  for (const late_request& r : late_) {
    bits left = 0;
    for (std::uint8_t m = 0; m < members; ++m) left |= matters(r, m) ? bit(m) : bits{0};
    if (left == 0) continue;
    detail::describe_to(out, r.at);
    out.insert(out.end(), {r.votes, left});
  }
}

std::string agree_model::text_of(const step& s) {
  switch (s.what) {
    case action::begin: return fmt::format("{} begins a collect", s.proposer);
    case action::arrive: return fmt::format("the request of {} arrives at {}", s.proposer, s.member);
    case action::arrive_late: return fmt::format("late request {} arrives at {}", s.late, s.member);
    case action::call: return fmt::format("{} calls, and answers {}", s.member, s.proposer);
    case action::conclude:
      return fmt::format("{} waits no longer; it has heard {} and holds dead: {}", s.proposer,
                         to_string(ranks_of(s.heard)), to_string(ranks_of(s.dead)));
    case action::crash: return fmt::format("{} dies", s.member);
    case action::hear: return fmt::format("{} hears the outcome from {}", s.member, s.proposer);
  }
  return {};
}

}  // namespace scoll::sim
