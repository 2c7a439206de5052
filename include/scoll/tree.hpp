#pragma once

/// Spanning trees: the built-in kinds, trees of the program's own, and functions that choose, predict, draw
/// and verify one.

#include "scoll/tree/any_tree.hpp"   // IWYU pragma: export
#include "scoll/tree/chain.hpp"      // IWYU pragma: export
#include "scoll/tree/choose.hpp"     // IWYU pragma: export
#include "scoll/tree/draw.hpp"       // IWYU pragma: export
#include "scoll/tree/flat.hpp"       // IWYU pragma: export
#include "scoll/tree/greedy.hpp"     // IWYU pragma: export
#include "scoll/tree/kary.hpp"       // IWYU pragma: export
#include "scoll/tree/knomial.hpp"    // IWYU pragma: export
#include "scoll/tree/link_map.hpp"   // IWYU pragma: export
#include "scoll/tree/predict.hpp"    // IWYU pragma: export
#include "scoll/tree/spec.hpp"       // IWYU pragma: export
#include "scoll/tree/tree.hpp"       // IWYU pragma: export
#include "scoll/tree/user_tree.hpp"  // IWYU pragma: export
#include "scoll/tree/verify.hpp"     // IWYU pragma: export
#include "scoll/tree/walk.hpp"       // IWYU pragma: export
#include "scoll/tree/zoned.hpp"      // IWYU pragma: export
