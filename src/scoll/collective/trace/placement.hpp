#pragma once

#include <cstdint>
#include <span>

#include "scoll/collective/operation/subject.hpp"
#include "scoll/collective/trace.hpp"
#include "scoll/collective/trace/record.hpp"

namespace scoll::detail {

/// Puts the stamps of all members on the clock of the root: its own, and records of which each comes after
/// that of its parent. A record that its parent does not know of is dropped, too.
collective_trace place_trace(const operation_subject& subject, const trace_record& own,
                             std::span<const std::byte> below, std::uint32_t dropped);

}  // namespace scoll::detail
