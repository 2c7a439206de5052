#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "scoll/collective/bulk_data.hpp"
#include "scoll/collective/offered_members.hpp"
#include "scoll/collective/operation/end_cause.hpp"
#include "scoll/collective/operation/own_records.hpp"
#include "scoll/collective/outcome_builder.hpp"
#include "scoll/coro/result.hpp"
#include "transport/io/buffer.hpp"

/// The parts of an operation's state. Each is set once for each operation, and reset by assignment.
namespace scoll::detail {

class broadcast_condition;
class broadcast_repair;

struct request_data {
  transport::buffer_view forwarded;
  /// The original request, if `prepare` rewrote it: the decoded request may point into it.
  transport::buffer_view received;
  std::uint64_t checksum = 0;
};

/// The request with the creation of the group in front, for children that may not hold the group.
struct loaded_request {
  transport::buffer_view payload;
  std::uint64_t checksum = 0;
  std::uint16_t creation_bytes = 0;
  std::shared_ptr<offered_members> offered;  ///< the members, if the creation has a descriptor of them
};

/// This node's own part, beside its children.
struct own_part {
  bool begun = false;                  ///< `execute` was called
  bool settled = false;                ///< its result is in the account
  error closed;                        ///< why it was asked to end, if it was
  bool elsewhere = false;              ///< another operation of the same broadcast does it, or has done it
  errc barred = errc::ok;              ///< why this life must not do it, and has not done it
  std::shared_ptr<own_record> record;  ///< for further rounds; null if there will be none
  time_point hook_until{};             ///< its hook may go on until then, if that is after the answer

  void clear() noexcept {
    begun = settled = elsewhere = false;
    if (closed) closed = {};
    barred = errc::ok;
    if (record != nullptr) record.reset();
    hook_until = {};
  }
};

struct operation_ending {
  end_cause cause = end_cause::none;
  error reason;                ///< empty for a deadline, and for the caller's own stop
  bool asked = false;          ///< asked to end, perhaps after the time was over
  bool at_once = false;        ///< what the children have done by now is not awaited
  bool answer_awaited = true;  ///< the parent awaits the answer

  void clear() noexcept {
    cause = end_cause::none;
    if (reason) reason = {};
    asked = at_once = false;
    answer_awaited = true;
  }
};

struct operation_result {
  bool clean = false;  ///< all of the subtree executed and is merged
  status why;          ///< the reason, at the root
  dissent dissenters;  ///< the dissenters in this subtree

  void clear() noexcept {
    clean = false;
    if (!why) why = {};
    dissenters = {};
  }
};

/// What encoding an answer gives if the value has been given up because it does not fit.
inline constexpr std::size_t not_encoded = SIZE_MAX;

/// What only the root has.
struct root_side {
  std::coroutine_handle<> waiter;
  bool result_taken = false;
  std::optional<bulk_report> bulk;                 ///< `taken` is set at the end
  std::unique_ptr<broadcast_condition> condition;  ///< null if the await ends with the broadcast
  std::unique_ptr<broadcast_repair> repair;        ///< null if nobody is asked in further rounds
  broadcast_repair* round_of = nullptr;            ///< of a further round: the broadcast that it is for
};

}  // namespace scoll::detail
