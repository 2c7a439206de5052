#include "scoll/collective/revocation.hpp"

#include <algorithm>
#include <charconv>

#include "scoll/collective/binomial_graph.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/io/control_frame.hpp"

namespace scoll::detail {
namespace {

bool holds(const std::vector<std::uint32_t>& ranks, std::uint32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

void add_children(group_state& group, const notice_head& notice, std::vector<std::uint32_t>& into) {
  const std::uint32_t n = group.members->size();
  tree_fault fault = tree_fault::none;
  // A tree of the initiator's own may be unknown here. Then the graph alone has to do.
  const any_tree* const tree = group.resolve({notice.tree_kind, notice.tree}, {}, notice.initiator, fault);
  if (tree == nullptr) return;
  auto cursor = tree->cursor(n, to_relative(group.self_rank, notice.initiator, n));
  for (auto child = cursor.next(); child && into.size() < n; child = cursor.next()) {
    if (*child < n) into.push_back(to_rank(*child, notice.initiator, n));
  }
}

}  // namespace

std::uint32_t revocation::connecting() const noexcept {
  const auto queued = std::count_if(telling.begin(), telling.end(), [](const member_notice& m) {
    return m.state() == transport::notice_state::queued;
  });
  const std::size_t unsent = to_tell.size() - next + others.size();
  return static_cast<std::uint32_t>(unsent) + static_cast<std::uint32_t>(queued) + behind;
}

void revocation::knows(node_id node) {
  static_cast<void>(settle(node));
  if (std::find(knowing.begin(), knowing.end(), node) == knowing.end()) knowing.push_back(node);
}

bool revocation::is_told(node_id node) const noexcept {
  const auto left = to_tell.begin() + static_cast<std::ptrdiff_t>(next);
  return std::find(knowing.begin(), knowing.end(), node) != knowing.end() ||
         std::find(left, to_tell.end(), node) != to_tell.end() ||
         std::find(others.begin(), others.end(), node) != others.end() ||
         std::any_of(telling.begin(), telling.end(), [&](const member_notice& m) { return m.node == node; });
}

bool revocation::owes(node_id node) const noexcept {
  return std::find(owed.begin(), owed.end(), node) != owed.end();
}

namespace {

/// The deliberate bug: each dead neighbour is replaced by the next living member behind it.
void pass_over_the_dead(const binomial_graph& graph, std::uint32_t self, std::vector<std::uint32_t>& into) {
  const std::uint32_t n = graph.members();
  const auto look = [&](std::uint32_t from, std::uint32_t by) {
    while (graph.is_dead(from)) from = (from + by) % n;
    if (from != self && !holds(into, from)) into.push_back(from);
  };
  for (std::uint32_t step = 1; step < n; step *= 2) {
    look((self + step) % n, 1);
    look((self + n - step) % n, n - 1);
  }
}

}  // namespace

revoke_targets targets_of(group_state& group, const notice_head& notice,
                          const std::vector<std::uint32_t>& dead, node_id sender) {
  const std::uint32_t n = group.members->size();
  const std::uint32_t self = group.self_rank;
  const binomial_graph graph(n, dead);
  revoke_targets found;
  add_children(group, notice, found.living);
  const auto needs_none = [&](std::uint32_t rank) { return group.members->node(rank) == sender; };
  std::erase_if(found.living,
                [&](std::uint32_t rank) { return rank == self || graph.is_dead(rank) || needs_none(rank); });
  found.children = found.living.size();
  if (SCOLL_MUTANT(revoke_distance_routing,
                   "a dead neighbour in the graph is replaced by the next that lives")) {
    pass_over_the_dead(graph, self, found.living);
  } else {
    for (const std::uint32_t rank : graph.neighbours(self)) {
      if (!holds(found.living, rank)) found.living.push_back(rank);
    }
  }
  std::erase_if(found.living, needs_none);
  for (const std::uint32_t rank : graph.skipped(self)) found.dead.push_back(rank);
  if (!found.dead.empty() && found.living.size() > 1 &&
      SCOLL_MUTANT(revoke_stops_at_failure,
                   "where a neighbour is dead, only the first of the others is told"))
    found.living.resize(1);
  return found;
}

// ---- the error

namespace {

constexpr std::string_view before_node = "node ";
constexpr std::string_view before_reason = " has revoked the group, reason ";

/// Takes `text` off the front of `from`. Returns false if it is not there.
bool take(std::string_view& from, std::string_view text) noexcept {
  if (!from.starts_with(text)) return false;
  from.remove_prefix(text.size());
  return true;
}

template <class Number>
bool take_number(std::string_view& from, Number& into) noexcept {
  const auto read = std::from_chars(from.data(), from.data() + from.size(), into);
  if (read.ec != std::errc()) return false;
  from.remove_prefix(static_cast<std::size_t>(read.ptr - from.data()));
  return true;
}

}  // namespace

error revoked_by(const notice_head& notice) noexcept {
  const std::string_view text = notice.words();
  const error made = make_error(errc::revoked, "{}{}{}{}{}{}", before_node, notice.by, before_reason,
                                notice.reason, text.empty() ? "" : ": ", text);
  const error shown = transport::printable(made.code(), made.text());
  return {shown.code(), shown.text(), static_cast<std::int32_t>(notice.reason)};
}

void read_revoked(const error& why, notice_head& into) noexcept {
  std::string_view left = why.text();
  std::uint64_t by = 0;
  std::uint32_t reason = 0;
  if (!take(left, before_node) || !take_number(left, by) || by == 0) return;
  into.by = by;
  if (!take(left, before_reason) || !take_number(left, reason)) return;
  into.reason = reason;
  if (take(left, ": ")) into.say(left);
}

}  // namespace scoll::detail
