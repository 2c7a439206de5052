#pragma once

/// Trees as data: in a message header, in a configuration, in a plan.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "scoll/tree/knomial.hpp"
#include "scoll/tree/tree.hpp"

namespace scoll {

/// Kind numbers from here on belong to users (`register_tree`).
inline constexpr std::uint8_t first_user_tree_kind = 128;

/// The tree that a root chose: a kind number and its parameters. Every named tree converts to it, so that an
/// option of this type is set with `{.tree = scoll::knomial{8}}`. It may hold anything that came from the
/// network: `check_tree` and `any_tree::resolve` tell whether it is a tree. It is trivially copyable.
struct tree_spec {
  std::uint8_t kind = knomial::kind;
  tree_params params = {8, 0, 0};

  /// The default tree: k-nomial with radix 8.
  constexpr tree_spec() noexcept = default;
  constexpr tree_spec(std::uint8_t tree_kind, const tree_params& tree_parameters) noexcept
      : kind(tree_kind), params(tree_parameters) {}
  template <named_tree P>
  constexpr tree_spec(const P& policy) noexcept : kind(P::kind), params(policy.params()) {}

  friend constexpr bool operator==(const tree_spec&, const tree_spec&) = default;
};

/// The size of an encoded `tree_spec` in bytes: the kind, then three little-endian 32-bit parameters.
inline constexpr std::size_t tree_spec_bytes = 13;

constexpr void encode_tree(const tree_spec& spec, std::span<std::byte, tree_spec_bytes> out) noexcept {
  out[0] = std::byte{spec.kind};
  for (std::size_t i = 0; i < 12; ++i) out[1 + i] = static_cast<std::byte>(spec.params[i / 4] >> (i % 4 * 8));
}

/// Decodes any bytes; the result still has to be checked.
constexpr tree_spec decode_tree(std::span<const std::byte, tree_spec_bytes> in) noexcept {
  tree_spec spec(std::to_integer<std::uint8_t>(in[0]), {});
  for (std::size_t i = 0; i < 12; ++i)
    spec.params[i / 4] |= std::to_integer<std::uint32_t>(in[1 + i]) << (i % 4 * 8);
  return spec;
}

/// The reason why a `tree_spec` is not a tree.
enum class tree_fault : std::uint8_t {
  none,
  unknown_kind,      // no built-in or registered tree has this kind number
  bad_parameters,    // the tree of this kind refuses them
  no_members,        // n = 0
  too_many_members,  // for a tree that needs a table
};

/// Describes a fault in one sentence for a person. The text is static.
const char* describe(tree_fault fault) noexcept;

/// Checks that `spec` is a tree for n members, and returns the fault if it is not. It builds nothing. May be
/// called from any thread.
tree_fault check_tree(const tree_spec& spec, std::uint32_t n);

/// Writes "knomial:8", "flat", "greedy:7,1,2": the name, and the parameters up to the last that is not zero.
/// An unregistered kind is written as its number.
std::string to_string(const tree_spec& spec);

/// Reads the form that `to_string` writes. Returns nothing if the name is unknown or the parameters do not
/// make a tree.
std::optional<tree_spec> parse_tree(std::string_view text);

}  // namespace scoll
