#include "scoll/tree/any_tree.hpp"

#include <atomic>
#include <mutex>
#include <vector>

namespace scoll {

namespace {

constexpr std::size_t user_kinds = 256 - first_user_tree_kind;

/// The table is written at start-up and read without a lock.
std::array<std::atomic<const user_tree_functions*>, user_kinds> user_trees{};
std::mutex registering;

bool is_built_in(std::string_view name) {
  return name == flat::name || name == chain::name || name == kary::name || name == knomial::name ||
         name == greedy::name || name == zoned::name;
}

tree_fault check_params(const tree_spec& spec) {
  const auto verdict = [](bool good) { return good ? tree_fault::none : tree_fault::bad_parameters; };
  switch (spec.kind) {
    case flat::kind: return verdict(flat::from_params(spec.params).has_value());
    case chain::kind: return verdict(chain::from_params(spec.params).has_value());
    case kary::kind: return verdict(kary::from_params(spec.params).has_value());
    case knomial::kind: return verdict(knomial::from_params(spec.params).has_value());
    case greedy::kind: return verdict(greedy::from_params(spec.params).has_value());
    case zoned::kind: return verdict(zoned::from_params(spec.params).has_value());
    default: break;
  }
  if (detail::find_user_tree(spec.kind) == nullptr) return tree_fault::unknown_kind;
  return verdict(user_tree::make(spec).has_value());
}

}  // namespace

namespace detail {

bool register_user_tree(std::uint8_t kind, const user_tree_functions* functions) noexcept {
  if (kind < first_user_tree_kind || is_built_in(functions->name)) return false;
  const std::scoped_lock lock(registering);
  for (std::size_t i = 0; i < user_kinds; ++i) {
    const user_tree_functions* other = user_trees[i].load(std::memory_order_relaxed);
    if (other == nullptr) continue;
    const bool same_kind = i == kind - std::size_t{first_user_tree_kind};
    if (same_kind || other->name == functions->name) return same_kind && other == functions;
  }
  user_trees[kind - std::size_t{first_user_tree_kind}].store(functions, std::memory_order_release);
  return true;
}

const user_tree_functions* find_user_tree(std::uint8_t kind) noexcept {
  if (kind < first_user_tree_kind) return nullptr;
  return user_trees[kind - std::size_t{first_user_tree_kind}].load(std::memory_order_acquire);
}

}  // namespace detail

std::optional<user_tree> user_tree::make(const tree_spec& spec) {
  user_tree result;
  result.functions_ = detail::find_user_tree(spec.kind);
  if (result.functions_ == nullptr || !result.functions_->make(spec.params, result.storage_))
    return std::nullopt;
  return result;
}

tree_fault check_tree(const tree_spec& spec, std::uint32_t n) {
  if (const tree_fault fault = check_params(spec); fault != tree_fault::none) return fault;
  if (n == 0) return tree_fault::no_members;
  static_assert(greedy::max_members == zoned::max_members);
  const bool needs_table = spec.kind == greedy::kind || spec.kind == zoned::kind;
  if (needs_table && n > greedy::max_members) return tree_fault::too_many_members;
  return tree_fault::none;
}

std::optional<any_tree> any_tree::resolve(const tree_spec& spec, std::uint32_t n,
                                          std::span<const member_place> places) {
  if (check_tree(spec, n) != tree_fault::none) return std::nullopt;
  SCOLL_ASSERT(places.empty() || places.size() == n, "the places of all members are known, or of none");
  any_tree result;
  result.spec_ = spec;
  if (spec.kind == greedy::kind) {
    result.table_ = greedy{spec.params[0], spec.params[1], spec.params[2]}.table(n);
  } else if (spec.kind == zoned::kind) {
    const std::vector<member_place> unknown(places.empty() ? n : 0);
    if (places.empty()) places = unknown;
    result.table_ = std::make_shared<const zoned_table>(places, spec.params[0], spec.params[1]);
  } else if (spec.kind >= first_user_tree_kind) {
    const std::optional<user_tree> user = user_tree::make(spec);
    if (!user) return std::nullopt;
    result.user_ = *user;
  }
  return result;
}

}  // namespace scoll
