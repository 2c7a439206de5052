#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "scoll/collective/bulk_data.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/collective/trace.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/rest_of_broadcast.hpp"
#include "scoll/detail/status_and_value.hpp"

namespace scoll {

/// The result of a broadcast: a status, the merged value if there is one, and the outcome of every member. It
/// is used like a `result`, except that it may hold a value and an error at once, because a partial answer is
/// data. `ok()` means that every member executed and its reply is merged, or that the condition of `until`
/// holds; then there is a value.
/// `has_value()` means that replies are merged, though perhaps not those of all members.
template <class Reply>
class bcast_result : public detail::status_and_value<Reply> {
 public:
  bcast_result(scoll::status s, std::optional<Reply> value, scoll::outcome o,
               std::optional<bulk_report> bulk = {},
               std::shared_ptr<detail::rest_of_broadcast> rest = nullptr,
               std::shared_ptr<const collective_trace> trace = nullptr)
      : detail::status_and_value<Reply>(s, std::move(value)),
        outcome_(std::move(o)),
        bulk_(bulk),
        rest_(std::move(rest)),
        trace_(std::move(trace)) {}

  const scoll::outcome& outcome() const noexcept { return outcome_; }
  /// Waits until every member is settled: `co_await r.rest()` gives the final outcome. The value stays as it
  /// is, so members that are settled later than the await ended are `executed` at best, never `merged`.
  /// Without `bcast_options::until` it is the outcome above, at once. The broadcast ends by its limit or with
  /// its group or this node, whether or not somebody waits for it. The task may outlive this object, but
  /// not the node. Thread: the node's.
  task<scoll::outcome> rest() const { return detail::await_rest(rest_, outcome_); }
  /// The plan of the broadcast's bulk data, and its predicted and real time. Nothing if there was no bulk
  /// data, or if the broadcast was refused before anything was sent.
  const std::optional<bulk_report>& bulk() const noexcept { return bulk_; }
  /// The times at which members did what, as far as their answers have come; empty without
  /// `bcast_options::trace`, and for a broadcast that was refused. After `rest` it holds what has come since.
  /// It lives as long as this object. Thread: the node's, until the broadcast has ended.
  const collective_trace& trace() const noexcept { return trace_ != nullptr ? *trace_ : no_trace(); }

 private:
  static const collective_trace& no_trace() noexcept {
    static const collective_trace none;
    return none;
  }

  scoll::outcome outcome_;
  std::optional<bulk_report> bulk_;
  std::shared_ptr<detail::rest_of_broadcast> rest_;
  std::shared_ptr<const collective_trace> trace_;
};

}  // namespace scoll
