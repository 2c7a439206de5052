#include "scoll/collective/group_state.hpp"

#include <algorithm>
#include <utility>

namespace scoll::detail {

void group_state::enter(rooted_operation& op) noexcept {
  op.counter = next_counter++;
  rooted.push_back(op);
}

const any_tree* group_state::resolve(const tree_spec& spec, std::uint32_t count, tree_fault& fault) {
  for (resolved_tree& known : resolved) {
    if (known.members != count || known.tree.spec() != spec) continue;
    if (&known != &resolved.front()) std::swap(known, resolved.front());
    return &resolved.front().tree;
  }
  fault = check_tree(spec, count);
  if (fault != tree_fault::none) return nullptr;
  auto found = any_tree::resolve(spec, count);
  if (!found) {
    fault = tree_fault::bad_parameters;
    return nullptr;
  }
  resolved.back() = {count, std::move(*found)};
  std::swap(resolved.front(), resolved.back());
  return &resolved.front().tree;
}

result<subset_ptr> group_state::take_subset(std::span<const std::byte> bytes, std::uint64_t digest) {
  if (last_subset != nullptr && digest == last_subset->digest() &&
      std::ranges::equal(bytes, last_subset->encoded()))
    return last_subset;
  auto read = subset::decode(bytes, members->size());
  if (read && (*read)->digest() != digest)
    return error(errc::malformed, "the ranks of a subset do not have its digest");
  if (read) last_subset = *read;
  return read;
}

}  // namespace scoll::detail
