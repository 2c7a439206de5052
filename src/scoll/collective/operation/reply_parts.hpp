#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/collective/operation/child.hpp"
#include "scoll/collective/operation/subject.hpp"
#include "scoll/collective/outcome_builder.hpp"
#include "scoll/coro/result.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

/// Calls `fn(first, last)` for the runs of relative ranks at and below a child that no part of its answer has
/// settled: all of them as long as no part has come.
template <class Fn>
void visit_unsettled(const operation_subject& subject, const operation_child& c, Fn fn) {
  if (!c.has_settled_some()) return subject.tree.subtree_ranges(subject.members, c.relative, fn);
  for (const rank_range& r : c.parts->unsettled) fn(r.first, r.last);
}

/// The least bytes that a member at this place sets aside for parts of answers.
std::size_t least_bytes_for_parts(const collective_head& head, const service_table& table,
                                  const any_tree& tree, std::uint32_t members, std::uint32_t relative);
/// The most bytes of a whole answer, and of a part of one that comes ahead.
std::uint32_t most_answer_bytes(const collective_head& head, std::size_t capacity) noexcept;
std::uint32_t most_part_bytes(const collective_head& head, const service_table& table) noexcept;

/// The answers in parts of an operation, those of its children and its own. Every member below a child is
/// settled in exactly one part of the child's answer: in one that comes ahead, or in the last one, which
/// comes in any case. A part speaks of its members for good.
class reply_parts {
 public:
  explicit reply_parts(operation& op) noexcept : op_(op) {}

  /// Sets memory aside for parts of the children's answers. Error: `busy`.
  status set_aside();
  /// Lets a child answer in parts, before it is asked, if the operation is one of that kind.
  void expect(operation_child& c);
  /// A part of a child's answer has come. It waits until `collect` takes it. A child that sends what it was
  /// not asked for is lost.
  void hear(operation_child& c, const collective_reply_head& head, transport::reply_event& event) noexcept;
  /// Enters the part that waits into the account. Returns its value, if it has one. After a part that does
  /// not decode nothing more is heard of the child: what was settled before stays, and the rest is unknown.
  void* take(operation_child& c, std::size_t mark);
  /// Lets go of a piece that has been merged. If it was a part, the child may send one more.
  static void release(operation_child& c, reply_piece& piece);

  /// The parent allows one more part.
  static void heard_permission(transport::incoming& self) noexcept;
  /// Tells of members that are settled otherwise than merged, if that is to be told at once: the parent, as
  /// soon as it allows a part; at the root the broadcast ends. Returns where the run `mark` of the account is
  /// then.
  std::size_t tell_losses(std::size_t mark);
  /// Tells the parent of all that is settled, with the value, if that is to be told at once. It is for moments
  /// at which every value in the account is merged.
  void tell_all();

 private:
  status read(operation_child& c);
  void end_by_loss();
  std::size_t send_losses(std::size_t mark);
  bool send_account(const outcome_builder& losses);
  bool send(collective_reply_head head, std::span<const std::byte> payload);

  operation& op_;
};

}  // namespace scoll::detail
