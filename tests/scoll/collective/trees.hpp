#pragma once

#include "scoll/tree/any_tree.hpp"

namespace scoll::test {

/// A tree of every kind.
inline const tree_spec trees[] = {flat{}, chain{}, kary{2}, knomial{2}, knomial{4}, greedy{7, 1, 1}};

}  // namespace scoll::test
