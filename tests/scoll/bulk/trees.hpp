#pragma once

#include "scoll/tree/any_tree.hpp"

namespace scoll::test {

inline any_tree tree_of(const tree_spec& spec) {
  return any_tree::resolve(spec, 1).value();
}

}  // namespace scoll::test
