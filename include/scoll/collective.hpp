#pragma once

/// Broadcasts with merged replies: services, groups, their outcomes, and trees chosen by measuring.

#include "scoll/collective/aggregate.hpp"      // IWYU pragma: export
#include "scoll/collective/agree.hpp"          // IWYU pragma: export
#include "scoll/collective/bcast.hpp"          // IWYU pragma: export
#include "scoll/collective/bcast_result.hpp"   // IWYU pragma: export
#include "scoll/collective/bulk_data.hpp"      // IWYU pragma: export
#include "scoll/collective/context.hpp"        // IWYU pragma: export
#include "scoll/collective/end_condition.hpp"  // IWYU pragma: export
#include "scoll/collective/gather.hpp"         // IWYU pragma: export
#include "scoll/collective/group.hpp"          // IWYU pragma: export
#include "scoll/collective/group_name.hpp"     // IWYU pragma: export
#include "scoll/collective/group_timing.hpp"   // IWYU pragma: export
#include "scoll/collective/measure_links.hpp"  // IWYU pragma: export
#include "scoll/collective/membership.hpp"     // IWYU pragma: export
#include "scoll/collective/options.hpp"        // IWYU pragma: export
#include "scoll/collective/outcome.hpp"        // IWYU pragma: export
#include "scoll/collective/parts.hpp"          // IWYU pragma: export
#include "scoll/collective/plan_tree.hpp"      // IWYU pragma: export
#include "scoll/collective/rank_set.hpp"       // IWYU pragma: export
#include "scoll/collective/revoke_report.hpp"  // IWYU pragma: export
#include "scoll/collective/service.hpp"        // IWYU pragma: export
#include "scoll/collective/size_limits.hpp"    // IWYU pragma: export
#include "scoll/collective/trace.hpp"          // IWYU pragma: export
#include "scoll/node.hpp"                      // IWYU pragma: export
