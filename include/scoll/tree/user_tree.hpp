#pragma once

/// Registers trees of the program's own, with kind numbers 128 ... 255, so that messages can name them.

#include <cstddef>
#include <new>

#include "scoll/tree/spec.hpp"

namespace scoll {

/// Storage for a user's policy inside an `any_tree`.
struct user_tree_storage {
  alignas(8) std::array<std::byte, 32> bytes{};
};

/// The functions of a user's policy, which take its bytes.
struct user_tree_functions {
  std::string_view name;
  bool (*make)(const tree_params&, user_tree_storage&);
  std::uint32_t (*parent)(const user_tree_storage&, std::uint32_t n, std::uint32_t r);
  std::uint32_t (*fan_out)(const user_tree_storage&, std::uint32_t n, std::uint32_t r);
  std::uint32_t (*child)(const user_tree_storage&, std::uint32_t n, std::uint32_t r, std::uint32_t i);
  std::uint32_t (*subtree_nodes)(const user_tree_storage&, std::uint32_t n, std::uint32_t r);
  std::uint32_t (*subtree_levels)(const user_tree_storage&, std::uint32_t n, std::uint32_t r);
};

namespace detail {

template <class P>
const P& stored_tree(const user_tree_storage& storage) noexcept {
  return *std::launder(reinterpret_cast<const P*>(storage.bytes.data()));
}

template <tree_policy P>
inline constexpr user_tree_functions user_tree_functions_of{
    .name = P::name,
    .make =
        [](const tree_params& params, user_tree_storage& storage) {
          const std::optional<P> policy = P::from_params(params);
          if (policy) ::new (static_cast<void*>(storage.bytes.data())) P(*policy);
          return policy.has_value();
        },
    .parent = [](const user_tree_storage& s, std::uint32_t n,
                 std::uint32_t r) { return stored_tree<P>(s).parent(n, r); },
    .fan_out = [](const user_tree_storage& s, std::uint32_t n,
                  std::uint32_t r) { return stored_tree<P>(s).fan_out(n, r); },
    .child = [](const user_tree_storage& s, std::uint32_t n, std::uint32_t r,
                std::uint32_t i) { return stored_tree<P>(s).child(n, r, i); },
    .subtree_nodes = [](const user_tree_storage& s, std::uint32_t n,
                        std::uint32_t r) { return stored_tree<P>(s).subtree_nodes(n, r); },
    .subtree_levels = [](const user_tree_storage& s, std::uint32_t n,
                         std::uint32_t r) { return stored_tree<P>(s).subtree_levels(n, r); },
};

/// Returns false if another tree has the number or the name.
bool register_user_tree(std::uint8_t kind, const user_tree_functions* functions) noexcept;

/// The registered functions of `kind`, or null.
const user_tree_functions* find_user_tree(std::uint8_t kind) noexcept;

}  // namespace detail

/// Makes P known under P::kind in the whole process. Call it at start-up on every member, before messages
/// arrive; a member that has not called it answers `unknown_kind`. It may be called from any thread and
/// cannot be undone. Returns false if another tree already has this number or this name; registering the same
/// tree again is allowed.
template <tree_policy P>
bool register_tree() noexcept {
  static_assert(P::kind >= first_user_tree_kind, "kinds below 128 belong to the library");
  static_assert(sizeof(P) <= sizeof(user_tree_storage) && alignof(P) <= alignof(user_tree_storage),
                "a policy has at most 32 bytes: keep a table outside, and a pointer to it inside");
  return detail::register_user_tree(P::kind, &detail::user_tree_functions_of<P>);
}

/// A registered tree, called through its functions.
class user_tree {
 public:
  user_tree() = default;

  /// Returns nothing if `kind` is not registered or refuses the parameters.
  static std::optional<user_tree> make(const tree_spec& spec);

  std::uint32_t parent(std::uint32_t n, std::uint32_t r) const { return functions_->parent(storage_, n, r); }
  std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const {
    return functions_->fan_out(storage_, n, r);
  }
  std::uint32_t child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const {
    return functions_->child(storage_, n, r, i);
  }
  std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const {
    return functions_->subtree_nodes(storage_, n, r);
  }
  std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const {
    return functions_->subtree_levels(storage_, n, r);
  }

 private:
  const user_tree_functions* functions_ = nullptr;
  user_tree_storage storage_;
};

}  // namespace scoll
