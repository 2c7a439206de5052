#include "tools/scoll-sim/exhaust/kill_trial.hpp"

#include <algorithm>
#include <chrono>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

namespace scoll::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t asked_group = 1, asked_broadcast = 1;
constexpr nanoseconds creation_takes = 100ms;
constexpr nanoseconds word_takes = 3ms;  // until others hear of a loud death, or of a wrong verdict
constexpr nanoseconds longest_await = 60s;
constexpr nanoseconds last_answers_take = 3s;
constexpr nanoseconds rest_takes = 12s;
constexpr std::chrono::microseconds work = 30us;  // of each member, so that it can die meanwhile

std::string_view to_string(kill_group group) {
  switch (group) {
    case kill_group::created: return "";
    case kill_group::adopted: return " out of band";
    case kill_group::unheard_of: return " out of band whose lives are not known";
    case kill_group::delayed: return " told with the broadcast";
  }
  return "?";
}

plan plan_of(const kill_subject& s) {
  plan p;
  p.hosts = s.members;
  p.events.push_back({0ns, events::wires{10us, 10us, 0us, 0, 1, 4096}});
  return p;
}

}  // namespace

std::string_view to_string(member_end what) {
  switch (what) {
    case member_end::loud: return "dies loudly";
    case member_end::silent: return "dies silently";
    case member_end::reboot: return "reboots";
    case member_end::doubted: return "is called dead wrongly";
  }
  return "?";
}

std::string_view name_of(failure_policy policy) {
  switch (policy) {
    case degrade: return "degrade";
    case fail_fast: return "fail_fast";
    case repair: return "repair";
  }
  return "?";
}

std::string to_string(const kill_subject& s) {
  return fmt::format("{} over {} members{}, {}", scoll::to_string(s.tree), s.members, to_string(s.group),
                     name_of(s.policy));
}

// ---- the run

kill_trial::kill_trial(const kill_subject& subject)
    : subject_(subject),
      tree_(any_tree::resolve(subject.tree, subject.members).value()),
      cluster_(std::make_unique<cluster>(plan_of(subject))) {
  make_group();
  run_for(creation_takes);
  events::policy policy;
  policy.broadcast = asked_broadcast;
  policy.fail_fast = subject.policy == fail_fast;
  policy.repairs = subject.policy == repair;
  carry_out(policy);
  events::manner manner;
  manner.broadcast = asked_broadcast;
  manner.dead = dead_choice::try_others;
  carry_out(manner);
  events::bcast asked;
  asked.number = asked_broadcast;
  asked.group = asked_group;
  asked.work = work;
  carry_out(asked);
}

void kill_trial::make_group() {
  const number_set all = number_set::below(subject_.members);
  const std::uint32_t parameter = subject_.tree.params[0];
  const bool delayed = subject_.group == kill_group::delayed;
  if (delayed || subject_.group == kill_group::created) {
    events::group made;
    made.number = asked_group;
    made.tree = subject_.tree.kind;
    made.tree_parameter = parameter;
    made.members = all;
    made.lasting = !delayed;
    made.delayed = delayed;
    carry_out(made);
  } else {
    carry_out(events::adopt{asked_group, subject_.tree.kind, parameter, all, service_kind::bare, all, {}});
  }
  const bool told = delayed || subject_.group == kill_group::adopted;
  for (std::uint32_t host = 1; host < subject_.members && told; ++host)
    carry_out(events::verdict{0, host, news::alive});
}

std::uint32_t kill_trial::run(std::uint32_t steps) {
  std::uint32_t done = 0;
  while (done < steps && !(root_died() ? is_at_rest() : told().done)) {
    tell_due();
    if (cluster_->world().step(words_.empty() ? now() + 1s : words_.front().at)) {
      ++done;
    } else if (words_.empty()) {
      break;
    } else {
      cluster_->world().run_until(words_.front().at);
    }
  }
  return done;
}

void kill_trial::run_for(nanoseconds d) {
  const nanoseconds end = now() + d;
  for (; !words_.empty() && words_.front().at <= end; tell_due())
    cluster_->world().run_until(words_.front().at);
  cluster_->world().run_until(end);
}

void kill_trial::strike(const blow& b) {
  blows_.push_back(b);
  if (b.what == member_end::doubted) {
    tell(news::falsely_dead, b);
  } else {
    carry_out(events::crash{b.victim, b.what == member_end::silent});
  }
  if (b.what == member_end::reboot) carry_out(events::boot{b.victim});
  if (b.what == member_end::loud) words_.push_back({now() + word_takes, news::dead, b});
  if (b.what == member_end::doubted) words_.push_back({now() + word_takes, news::alive, b});
}

void kill_trial::tell(news what, const blow& about) {
  for (std::uint32_t host = 0; host < subject_.members; ++host) {
    if (host == about.hearer.value_or(host)) carry_out(events::verdict{host, about.victim, what});
  }
}

void kill_trial::tell_due() {
  for (; !words_.empty() && words_.front().at <= now(); words_.pop_front())
    tell(words_.front().what, words_.front().about);
}

const broadcast_record& kill_trial::told() const {
  return cluster_->broadcasts().at(asked_broadcast);
}

bool kill_trial::root_died() const {
  return std::ranges::any_of(blows_,
                             [](const blow& b) { return b.victim == 0 && b.what != member_end::doubted; });
}

bool kill_trial::is_at_rest() const {
  for (std::uint32_t host = 0; host < subject_.members; ++host) {
    const life* const l = cluster_->alive(host);
    if (l != nullptr && detail::node_access::engine(*l->member).operations() != 0) return false;
  }
  return true;
}

std::string kill_trial::finish() {
  for (const nanoseconds last = now() + longest_await; !over() && now() < last;) run_for(100ms);
  run_for(last_answers_take);
  std::string fault = fault_of_outcome();
  if (fault.empty() && !is_at_rest()) fault = "a host has work left at rest";
  if (fault.empty()) fault = fault_at_the_end();
  if (!fault.empty()) static_cast<void>(cluster_.release());  // a broken run is left as it is
  return fault;
}

std::string kill_trial::fault_at_the_end() {
  cluster_->begin_shutdown();
  run_for(rest_takes);
  cluster_->bury_the_dead();
  violations found;
  check_broadcasts(*cluster_, found);
  check_shutdown(*cluster_, found);
  return found.empty() ? "" : found.front().property + ": " + found.front().what;
}

// ---- what must have become of each member

std::string kill_trial::fault_of_outcome() const {
  if (!over()) return "the await does not end";
  const broadcast_record& b = told();
  for (std::uint32_t rank = 0; rank < subject_.members; ++rank) {
    const std::uint32_t begun = b.members[rank].begun;
    if (begun > 1) return fmt::format("rank {} executed {} times", rank, begun);
    if (root_died() || is_right(rank, b.account.state(rank), begun)) continue;
    return fmt::format("rank {} executed {} times: {}", rank, begun, describe(b.account));
  }
  return {};
}

/// True if `ancestor` is on the way from the root to a member, or is that member.
bool kill_trial::is_below(std::uint32_t member, std::uint32_t ancestor) const {
  for (; member != ancestor; member = tree_.parent(subject_.members, member)) {
    if (member == 0) return false;
  }
  return true;
}

/// True for members whose way to the root, in the tree of the group, suffers from the misfortune.
bool kill_trial::harms(const blow& b, std::uint32_t rank) const {
  if (!b.hearer) return is_below(rank, b.victim);
  const auto parent = [&](std::uint32_t r) { return tree_.parent(subject_.members, r); };
  if (b.victim == 0 || parent(*b.hearer) == b.victim) return is_below(rank, *b.hearer);
  return parent(b.victim) == *b.hearer && is_below(rank, b.victim);
}

/// True for members to which the misfortune leaves no way at all.
bool kill_trial::cuts_off(const blow& b, std::uint32_t rank) const {
  return b.victim == rank || (b.what == member_end::doubted && b.victim == 0 && harms(b, rank));
}

/// True if the root asks members that are lost to execute. If it does not know their lives, it asks them only what
/// they have done.
bool kill_trial::finds_others() const {
  return subject_.policy == repair && subject_.group != kill_group::unheard_of;
}

/// True for members that lose nothing: others find a way to them, if the policy looks for one.
bool kill_trial::is_safe(std::uint32_t rank) const {
  return std::ranges::none_of(
      blows_, [&](const blow& b) { return finds_others() ? cuts_off(b, rank) : harms(b, rank); });
}

/// True if the broadcast may have been stopped by a failure.
bool kill_trial::stops() const {
  if (subject_.policy != fail_fast) return false;
  for (std::uint32_t rank = 0; rank < subject_.members; ++rank) {
    if (!is_safe(rank)) return true;
  }
  return false;
}

/// True for members that may have stopped because they took the root for dead.
bool kill_trial::gave_up(std::uint32_t rank) const {
  return std::ranges::any_of(blows_, [&](const blow& b) {
    return b.what == member_end::doubted && b.victim == 0 && harms(b, rank);
  });
}

/// True if a member that has begun to execute so often is in the right state.
bool kill_trial::is_right(std::uint32_t rank, member_state state, std::uint32_t begun) const {
  const bool safe = is_safe(rank);
  switch (state) {
    case member_state::merged: return begun == 1;
    case member_state::executed: return begun == 1 && (stops() || !safe);
    case member_state::not_reached: return begun == 0 && (stops() || !safe);
    case member_state::failed: return stops() || gave_up(rank) || (begun == 0 && !safe);
    case member_state::unknown: return !safe;
    default: return false;
  }
}

}  // namespace scoll::sim
