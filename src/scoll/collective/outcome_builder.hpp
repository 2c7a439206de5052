#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scoll/collective/outcome.hpp"
#include "scoll/coro/result.hpp"
#include "transport/wire/reader.hpp"
#include "transport/wire/writer.hpp"

namespace scoll::detail {

/// Who did what in a part of a tree, in relative ranks, while it is being gathered: runs in any order, and
/// the causes they refer to. Keeps its memory when cleared.
class outcome_builder {
 public:
  /// More distinct causes than this are folded into the last one.
  static constexpr std::size_t max_causes = 60;

  outcome_builder() { clear(); }

  void clear();
  bool empty() const noexcept { return runs_.empty(); }

  /// Remembers a cause and returns its index; equal ones share it.
  std::uint16_t add_cause(const cause& c);
  void add(rank_range members, member_state state, std::uint16_t cause_index = 0);

  /// The value is lost that the members added since run `from_run` were merged in: they executed, no more.
  void lose_merged(std::uint16_t cause_index, std::size_t from_run);
  /// Takes back the runs added since there were `runs`.
  void truncate(std::size_t runs) { runs_.resize(runs); }

  /// Sorts by rank and joins neighbours that agree.
  void normalise();
  std::span<const member_report> runs() const noexcept { return runs_; }
  std::span<const cause> causes() const noexcept { return causes_; }

  /// Writes a normalised account in at most `account_reserve_bytes`: as runs with causes and their texts,
  /// without the texts, or, if the states alternate wildly, densely with 3 bits per member and one cause for
  /// all. One that does not fit is written as nobody's, which its reader refuses: everybody is unknown to it.
  void encode(wire::writer& out) const;
  /// Whether `encode` has room for a normalised account: always up to 16,384 members.
  bool fits() const;
  /// Makes a normalised account of more members fit, by joining short runs with their neighbours: those who
  /// fared differently become unknown. Nobody in it may be merged any more.
  void coarsen();

  /// Reads what `encode` wrote and adds it, if it speaks of exactly the members in `subtree` (sorted).
  /// Nothing is added on an error (`malformed`).
  status decode(wire::reader& in, std::span<const rank_range> subtree);

 private:
  std::size_t runs_bytes(bool texts) const;
  std::size_t dense_bytes() const noexcept;
  void join_short(std::uint32_t limit);
  void encode_runs(wire::writer& out, bool texts) const;
  void encode_dense(wire::writer& out) const;
  bool decode_causes(wire::reader& in, std::vector<cause>& causes) const;
  bool decode_runs(wire::reader& in, std::size_t cause_count, std::vector<member_report>& runs) const;
  bool decode_dense(wire::reader& in, std::vector<member_report>& runs) const;

  std::vector<member_report> runs_;
  std::vector<cause> causes_;
};

}  // namespace scoll::detail
