#include "scoll/collective/group_state.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace scoll::detail {

void group_state::enter(rooted_operation& op) noexcept {
  op.counter = next_counter++;
  rooted->running.push_back(op);
}

std::uint64_t group_state::watermark() noexcept {
  return rooted->running.empty() ? next_counter : rooted->running.front().counter;
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

namespace {

/// The places of the members by relative rank, the root's first.
std::vector<member_place> places_of(const membership& all, const subset* among, std::uint32_t root) {
  const std::uint32_t n = among != nullptr ? among->size() : all.size();
  std::vector<member_place> places;
  places.reserve(n);
  const auto add = [&](std::uint32_t first, std::uint32_t last) {
    for (; first != last; ++first) places.push_back(all.place(first));
  };
  for (const rank_range indices : {rank_range{root, n}, rank_range{0, root}}) {
    if (among != nullptr && indices.first != indices.last) among->visit(indices.first, indices.last, add);
    if (among == nullptr) add(indices.first, indices.last);
  }
  return places;
}

bool are_equal(const subset_ptr& a, const subset_ptr& b) noexcept {
  if (a == b) return true;
  return a != nullptr && b != nullptr && a->digest() == b->digest() &&
         std::ranges::equal(a->encoded(), b->encoded());
}

}  // namespace

const any_tree* group_state::resolve(const tree_spec& spec, const subset_ptr& among, std::uint32_t root_rank,
                                     tree_fault& fault) {
  const std::uint32_t count = among != nullptr ? among->size() : members->size();
  const bool by_place = spec.kind == zoned::kind && members->has_places();
  std::uint32_t root = 0;
  if (by_place) root = among != nullptr ? among->index_of(root_rank).value_or(0) : root_rank;
  const auto same = [&](const resolved_tree& known) {
    if (known.members != count || known.tree.spec() != spec) return false;
    return !by_place || (known.root == root && are_equal(known.among, among));
  };
  const auto known = std::ranges::find_if(resolved, same);
  if (known != resolved.end()) {
    if (known != resolved.begin()) std::rotate(resolved.begin(), known, std::next(known));
    return &resolved.front().tree;
  }
  fault = check_tree(spec, count);
  if (fault != tree_fault::none) return nullptr;
  std::vector<member_place> places;
  if (by_place) places = places_of(*members, among.get(), root);
  auto found = any_tree::resolve(spec, count, places);
  if (!found) {
    fault = tree_fault::bad_parameters;
    return nullptr;
  }
  resolved.back() = {count, std::move(*found), root, by_place ? among : nullptr};
  std::rotate(resolved.begin(), std::prev(resolved.end()), resolved.end());
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
