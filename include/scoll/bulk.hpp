#pragma once

/// Bulk data: memory that is exposed to peers, pull and push, chunks as they land, lists of descriptors.

#include "scoll/bulk/bulk.hpp"    // IWYU pragma: export
#include "scoll/bulk/list.hpp"    // IWYU pragma: export
#include "scoll/bulk/stream.hpp"  // IWYU pragma: export
#include "scoll/node.hpp"         // IWYU pragma: export
