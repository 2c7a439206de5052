#pragma once

#include <cstdint>
#include <memory>

#include "scoll/collective/pending_admission.hpp"
#include "scoll/coro/time.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/session.hpp"

namespace scoll::detail {

/// A request that is to become an operation: one that has just arrived, or one that has waited.
class admission_request {
 public:
  /// The heads behind the first one must live as long as this object; null: there is none.
  admission_request(transport::request_view& arriving, time_point now, const bulk_head* bulk,
                    const broadcast_caller* caller) noexcept
      : arriving_(&arriving), arrived_(now), bulk_(bulk), caller_(caller) {}
  explicit admission_request(pending_admission& waited) noexcept
      : waited_(&waited),
        arrived_(waited.arrived),
        bulk_(waited.bulk ? &*waited.bulk : nullptr),
        caller_(waited.caller ? &*waited.caller : nullptr) {}

  node_id from() const noexcept { return waited_ == nullptr ? arriving_->from().peer() : waited_->parent; }
  transport::buffer_view& payload() const noexcept {
    return waited_ == nullptr ? arriving_->payload() : waited_->payload;
  }
  std::uint32_t reply_capacity() const noexcept {
    return waited_ == nullptr ? arriving_->reply_capacity() : waited_->reply_capacity;
  }
  time_point arrived() const noexcept { return arrived_; }
  /// The description of the bulk data; null if the request has none.
  const bulk_head* bulk() const noexcept { return bulk_; }
  /// The node for which the root broadcasts; null if that is itself.
  const broadcast_caller* caller() const noexcept { return caller_; }
  /// The request, if it has not waited.
  transport::request_view* arriving() const noexcept { return arriving_; }
  /// The request, if it has waited.
  pending_admission* waited() const noexcept { return waited_; }
  /// The search that the request has waited for, which has ended. Null if it has not waited.
  const resolution* found() const noexcept { return waited_ == nullptr ? nullptr : waited_->members.get(); }

  /// Hands the request to `work`, which owes the reply from now on.
  void accept(transport::incoming& work) const noexcept {
    if (waited_ == nullptr) return arriving_->accept(work);
    waited_->move_to(work);
  }

 private:
  transport::request_view* arriving_ = nullptr;
  pending_admission* waited_ = nullptr;
  time_point arrived_;
  const bulk_head* bulk_;
  const broadcast_caller* caller_;
};

}  // namespace scoll::detail
