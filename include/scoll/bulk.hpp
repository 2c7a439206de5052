#pragma once

/// Bulk data: memory that peers can read or write, pull and push, streams of chunks, lists of descriptors,
/// plans for one object that goes to many members, and memory for hardware that moves bulk data.

#include "scoll/bulk/bulk.hpp"        // IWYU pragma: export
#include "scoll/bulk/costs.hpp"       // IWYU pragma: export
#include "scoll/bulk/list.hpp"        // IWYU pragma: export
#include "scoll/bulk/pieces.hpp"      // IWYU pragma: export
#include "scoll/bulk/plan.hpp"        // IWYU pragma: export
#include "scoll/bulk/predict.hpp"     // IWYU pragma: export
#include "scoll/bulk/registered.hpp"  // IWYU pragma: export
#include "scoll/bulk/shape.hpp"       // IWYU pragma: export
#include "scoll/bulk/stream.hpp"      // IWYU pragma: export
#include "scoll/node.hpp"             // IWYU pragma: export
