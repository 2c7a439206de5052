#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scoll/collective/outcome.hpp"
#include "scoll/coro/result.hpp"
#include "transport/wire/reader.hpp"
#include "transport/wire/writer.hpp"

namespace scoll::detail {

/// The states of the members in a part of a tree, by relative rank, while they are being gathered: runs in
/// any order, and the causes they refer to. The builder keeps its memory when cleared.
class outcome_builder {
 public:
  /// The maximum number of distinct causes; further ones are folded into the last.
  static constexpr std::size_t max_causes = 60;

  outcome_builder() { clear(); }

  void clear();
  bool empty() const noexcept { return runs_.empty(); }

  /// Remembers a cause and returns its index; equal ones share it.
  std::uint16_t add_cause(const cause& c);
  void add(rank_range members, member_state state, std::uint16_t cause_index = 0);

  /// Accounts for a lost value: the members added since run `from_run` that were merged in it have executed,
  /// and nothing more.
  void lose_merged(std::uint16_t cause_index, std::size_t from_run);
  /// Removes the runs added since there were `runs`.
  void truncate(std::size_t runs) { runs_.resize(runs); }

  /// Sorts the runs by rank and joins equal neighbours.
  void normalise();
  std::span<const member_report> runs() const noexcept { return runs_; }
  std::span<const cause> causes() const noexcept { return causes_; }

  /// Writes a normalised account in at most `account_reserve_bytes`: as runs with causes and their texts;
  /// without the texts; or, if the states alternate wildly, densely with 3 bits per member and one cause for
  /// all. If none of these fits, it writes an empty account. Its reader refuses that, and all members are
  /// then unknown to it.
  void encode(wire::writer& out) const;
  /// True if `encode` has room for a normalised account. There always is up to 16,384 members.
  bool fits() const;
  /// Makes a normalised account of more members fit, by joining short runs with their neighbours. Members
  /// whose states differ become unknown. No member may be `merged` in the account.
  void coarsen();

  /// Reads what `encode` wrote and adds it, if it covers exactly the members in `subtree` (sorted). After an
  /// error (`malformed`) nothing has been added.
  status decode(wire::reader& in, std::span<const rank_range> subtree);
  /// Reads the account of a part of a reply, to the end, and adds it. The members that it settles, at least
  /// one, are taken out of `unsettled` (sorted; ranges that touch are joined). After an error (`malformed`)
  /// nothing has changed.
  status decode_part(wire::reader& in, std::vector<rank_range>& unsettled);

  /// Moves runs of members that are not merged to `into`, which is empty, as many as it then encodes in
  /// `room` bytes, and normalises that. Returns how many of them lay before run `mark`.
  std::size_t move_losses(outcome_builder& into, std::size_t room, std::size_t mark);
  /// Adds all runs of another builder.
  void add_all(const outcome_builder& from);

 private:
  std::uint16_t add_to_shared(const cause& c);
  std::size_t runs_bytes(bool texts) const;
  std::size_t dense_bytes() const noexcept;
  void join_short(std::uint32_t limit);
  void encode_runs(wire::writer& out, bool texts) const;
  void encode_dense(wire::writer& out) const;
  bool decode_causes(wire::reader& in, std::vector<cause>& causes) const;
  bool decode_runs(wire::reader& in, std::size_t cause_count, std::vector<member_report>& runs) const;
  bool decode_dense(wire::reader& in, std::vector<member_report>& runs) const;
  bool decode_states(wire::reader& in, std::vector<cause>& causes, std::vector<member_report>& runs) const;
  void add_decoded(std::span<const member_report> runs, std::span<const cause> causes);

  std::vector<member_report> runs_;
  std::vector<cause> causes_;
};

}  // namespace scoll::detail
