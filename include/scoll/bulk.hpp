#pragma once

/// Bulk data: memory that peers can read or write, pull and push, streams of chunks, and lists of
/// descriptors.

#include "scoll/bulk/bulk.hpp"    // IWYU pragma: export
#include "scoll/bulk/list.hpp"    // IWYU pragma: export
#include "scoll/bulk/stream.hpp"  // IWYU pragma: export
#include "scoll/node.hpp"         // IWYU pragma: export
