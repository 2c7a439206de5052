#pragma once

#include <cstdint>

#include "scoll/bulk/pieces.hpp"
#include "scoll/bulk/plan.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/ids.hpp"
#include "transport/memory/region_descriptor.hpp"

namespace scoll::detail {

/// Describes the bulk data of a broadcast. It follows the collective head of the request (docs/wire.md).
struct bulk_head {
  std::uint64_t length = 0;
  std::uint32_t piece_bytes = 0;
  std::uint8_t plan = 0;
  std::uint8_t radix = 0;
  std::uint16_t reserved = 0;
  /// The time that is allowed for the bulk data beside that for the request, in all and not for each level.
  std::uint64_t time_ns = 0;
  /// The memory of the sender; its node is 0 if the sender has none.
  transport::region_descriptor from;

  bulk_plan routes() const noexcept { return bulk_plan::unchecked(plan, radix); }
};

/// Checks a head that has come from `sender`. Error: `malformed`.
inline status check(const bulk_head& head, node_id sender) {
  if (!bulk_pieces::divide(head.length, head.piece_bytes)) {
    return make_error(errc::malformed, "{} bytes of bulk data in pieces of {} bytes", head.length,
                      head.piece_bytes);
  }
  const bulk_plan_fault fault = check_bulk_plan(head.routes());
  if (fault != bulk_plan_fault::none) return error(errc::malformed, describe(fault));
  if (head.reserved != 0 || (head.from.node != 0 && head.from.node != sender))
    return error(errc::malformed, "bulk data in the memory of another node than the sender");
  return {};
}

}  // namespace scoll::detail
