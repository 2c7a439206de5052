#pragma once

#include "scoll/collective/operation/own_records.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/coro/error.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::detail {

struct bulk_head;
class operation;
struct operation_times;

/// The time for which a member keeps its record of a broadcast whose request has just come: until its root must be
/// over. `levels` are those of the whole tree; `bulk` is null without bulk data.
nanoseconds time_to_keep(const collective_head& head, const bulk_head* bulk, std::int64_t levels);
/// The time that a first request leaves to the hook of a member, beyond that for its answer: the root keeps a
/// quarter of a deadline for further rounds, in which the answer can come late. 0 without a deadline.
nanoseconds time_of_kept_hook(const collective_head& head);

/// This node's own part in a broadcast of which members keep what they have done (docs/failure.md). The operation
/// that does the part writes the record; those of further rounds, which repeat it, read it.
class kept_part {
 public:
  explicit kept_part(operation& op) noexcept : op_(op) {}

  /// True if the part is kept, and is done by this very operation.
  bool is_written() const noexcept;
  /// The part has failed in that step.
  void fail(phase where, const error& why);
  /// `execute` has returned.
  void end();
  /// Links the operation with the record of the part, which there must be: the one that does it can be stopped, others wait
  /// for it.
  void enter();
  void leave() noexcept;
  /// True if the part is at work, here or in another operation.
  bool runs() const noexcept;
  /// Asks the operation that does the part to end it.
  void stop_elsewhere() noexcept;

  /// True if there is nothing to wait for: the part has ended, or nothing is known of it.
  bool is_known() const noexcept;
  /// Enters the recorded end of the part into the account and the value.
  void take();

  /// True if the hook of the part may go on although the time for the answer is over.
  bool outlives_answer() const noexcept;

 private:
  void keep_reply();

  operation& op_;
};

}  // namespace scoll::detail
