#pragma once

#include "transport/session/endpoint.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

/// A parent's request that this node has accepted: an operation, or an admission that waits.
class parent_request : public transport::incoming {
 public:
  virtual void on_parent_cancelled(const transport::cancel_reason& reason) noexcept = 0;

 protected:
  ~parent_request() = default;
};

}  // namespace scoll::detail
