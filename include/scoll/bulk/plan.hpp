#pragma once

/// Plans for bulk data: the routes that the pieces of one large object take through a group.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace scoll {

/// The kinds of plans, from simple to complex. Each has the number that stands for it in messages.
enum class bulk_plan_kind : std::uint8_t {
  whole = 0,      ///< down the tree of the request, and a member passes data on when it has all of it
  chain = 1,      ///< piece by piece along a chain
  kary = 2,       ///< piece by piece down a complete tree; radix 2 gives the binary tree
  knomial = 3,    ///< piece by piece down a k-nomial tree; radix 2 gives the binomial tree
  circulant = 4,  ///< piece by piece on a circulant graph: a tree of its own for each piece
};

/// The plan that a root chose: a kind, and a radix for the kinds that have one (otherwise 0). It may hold
/// anything that came from the network: `check_bulk_plan` tells whether it is a plan. It is trivially
/// copyable, and its functions may be called from any thread.
class bulk_plan {
 public:
  /// Makes the plan `whole()`.
  constexpr bulk_plan() noexcept = default;

  static constexpr bulk_plan whole() noexcept { return {bulk_plan_kind::whole, 0}; }
  static constexpr bulk_plan chain() noexcept { return {bulk_plan_kind::chain, 0}; }
  static constexpr bulk_plan binary() noexcept { return kary(2); }
  /// `radix` is 2 to 255, like that of `knomial`.
  static constexpr bulk_plan kary(std::uint8_t radix) noexcept { return {bulk_plan_kind::kary, radix}; }
  static constexpr bulk_plan knomial(std::uint8_t radix) noexcept { return {bulk_plan_kind::knomial, radix}; }
  static constexpr bulk_plan circulant() noexcept { return {bulk_plan_kind::circulant, 0}; }

  /// Makes a plan of any two bytes of a message. The result still has to be checked.
  static constexpr bulk_plan unchecked(std::uint8_t kind, std::uint8_t radix) noexcept {
    return {static_cast<bulk_plan_kind>(kind), radix};
  }

  constexpr bulk_plan_kind kind() const noexcept { return kind_; }
  constexpr std::uint8_t radix() const noexcept { return radix_; }
  /// True if members can let the pieces pass through a few slots: each member gets all of them in order, from
  /// one other, and passes each on when it has come.
  constexpr bool can_pass() const noexcept {
    return kind_ != bulk_plan_kind::whole && kind_ != bulk_plan_kind::circulant;
  }

  friend constexpr bool operator==(const bulk_plan&, const bulk_plan&) = default;

 private:
  constexpr bulk_plan(bulk_plan_kind kind, std::uint8_t radix) noexcept : kind_(kind), radix_(radix) {}

  bulk_plan_kind kind_ = bulk_plan_kind::whole;
  std::uint8_t radix_ = 0;
};

/// The size of an encoded `bulk_plan` in bytes: the kind, then the radix.
inline constexpr std::size_t bulk_plan_bytes = 2;

constexpr void encode_bulk_plan(const bulk_plan& plan, std::span<std::byte, bulk_plan_bytes> out) noexcept {
  out[0] = static_cast<std::byte>(plan.kind());
  out[1] = std::byte{plan.radix()};
}

/// Decodes any bytes; the result still has to be checked.
constexpr bulk_plan decode_bulk_plan(std::span<const std::byte, bulk_plan_bytes> in) noexcept {
  return bulk_plan::unchecked(std::to_integer<std::uint8_t>(in[0]), std::to_integer<std::uint8_t>(in[1]));
}

/// The reason why a `bulk_plan` is not a plan.
enum class bulk_plan_fault : std::uint8_t {
  none,
  unknown_kind,  ///< no plan has this number
  bad_radix,     ///< below 2, or not 0 though the kind has no radix
};

/// Checks that `plan` is a plan, and returns the fault if it is not. A plan serves any number of members.
constexpr bulk_plan_fault check_bulk_plan(const bulk_plan& plan) noexcept {
  switch (plan.kind()) {
    case bulk_plan_kind::kary:
    case bulk_plan_kind::knomial:
      return plan.radix() >= 2 ? bulk_plan_fault::none : bulk_plan_fault::bad_radix;
    case bulk_plan_kind::whole:
    case bulk_plan_kind::chain:
    case bulk_plan_kind::circulant:
      return plan.radix() == 0 ? bulk_plan_fault::none : bulk_plan_fault::bad_radix;
  }
  return bulk_plan_fault::unknown_kind;
}

/// Describes a fault in one sentence for a person. The text is static.
const char* describe(bulk_plan_fault fault) noexcept;

/// Writes "whole", "kary:2": the name, and the radix if it is not zero. An unknown kind is written as its
/// number.
std::string to_string(const bulk_plan& plan);

/// Reads the form that `to_string` writes. Returns nothing if the text does not name a plan.
std::optional<bulk_plan> parse_bulk_plan(std::string_view text);

}  // namespace scoll
