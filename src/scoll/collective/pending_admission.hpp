#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "scoll/bulk/head.hpp"
#include "scoll/collective/broadcast_caller.hpp"
#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/parent_request.hpp"
#include "scoll/collective/resolution.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/time.hpp"
#include "transport/io/buffer.hpp"

namespace scoll::detail {

/// A request that has been accepted and waits until its group is known here. It holds no credit, so that no
/// other request has to wait for it.
struct pending_admission final : list_hook<>, parent_request {
  void on_parent_cancelled(const transport::cancel_reason& reason) noexcept override;

  engine::admissions* owner = nullptr;
  collective_head head;
  std::optional<bulk_head> bulk;
  std::optional<broadcast_caller> caller;
  transport::buffer_view payload;
  node_id parent = 0;
  std::uint32_t reply_capacity = 0;
  time_point arrived{};
  time_point expires{};
  transport::region_descriptor offered;  ///< the members at its parent, if it waits for a pull
  /// The search that the request waits for. While its checks run again, this is the search that has ended.
  std::shared_ptr<resolution> members;
};

}  // namespace scoll::detail
