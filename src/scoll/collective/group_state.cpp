#include "scoll/collective/group_state.hpp"

#include <algorithm>
#include <utility>

namespace scoll::detail {

void group_state::enter(rooted_operation& op) noexcept {
  op.counter = next_counter++;
  rooted.push_back(op);
}

creation_terms group_state::terms() const {
  creation_terms said;
  said.ends_with = ends_with;
  said.within = within;
  said.name = name;
  said.inline_only = inline_only;
  return said;
}

std::size_t group_state::riding_bytes() const {
  return inline_only ? creation_bytes(terms(), *members) : descriptor_creation_bytes(terms());
}

result<std::shared_ptr<offered_members>> group_state::offer(transport::endpoint& at) {
  if (auto shared = offered.lock()) return shared;
  auto made = offer_members(at, *members);
  if (made) offered = *made;
  return made;
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
