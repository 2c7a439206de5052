#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../transport/wire/signature.hpp"
#include "../transport/wire/wire.hpp"
#include "detail/borrows.hpp"

namespace scoll {

/// The argument of functions that need none, and the result of those that give none.
struct nothing {
  friend constexpr bool operator==(const nothing&, const nothing&) = default;
};

namespace detail {

/// FNV-1a, 64 bits. Part of the wire format.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325) noexcept {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

/// A function without its types: what a node compares with what a peer says.
struct function_key {
  std::string_view name;
  std::uint64_t id = 0;
  std::uint64_t types = 0;    ///< digest of the name and both signatures, by another start than the id's
  std::string_view argument;  ///< signatures (wire::signature)
  std::string_view result;
};

template <class In, class Out>
consteval bool check_function() {
  static_assert(wire::encodable<In>, "the argument cannot be encoded: see docs/wire.md");
  static_assert(wire::encodable<Out>, "the result cannot be encoded: see docs/wire.md");
  static_assert(!borrows<Out>(),
                "a result outlives the message it came in: it must own what it holds, not borrow it");
  static_assert(
      alignof(In) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ && alignof(Out) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
      "arguments and results are stored with the alignment of operator new at most");
  static_assert(std::default_initializable<In> && std::default_initializable<Out>,
                "arguments and results are decoded into a T{}");
  return true;
}

}  // namespace detail

/// Names a function that nodes call on each other, with the types of its argument and its result (`F1`): a
/// constant in a header that both sides include.
///
/// ```
/// inline constexpr scoll::function<stat_request, stat_reply> stat_file{"remote_file.stat"};
/// ```
///
/// The name makes its number on the wire, the same in every program. Beside it every call carries a digest of
/// name and types, so that two names of one number, or one name with two meanings, are an error that names
/// both, and never a call of the wrong function.
template <class In, class Out = nothing>
class function {
  static_assert(detail::check_function<In, Out>());

 public:
  using argument = In;
  using result = Out;

  /// A literal: its characters must stay.
  template <std::size_t Size>
  consteval explicit function(const char (&name)[Size]) noexcept
      : function({name, Size - 1}, detail::fnv1a({name, Size - 1})) {}
  /// With a number of one's own, should two names ever collide.
  template <std::size_t Size>
  consteval function(const char (&name)[Size], std::uint64_t id) noexcept : function({name, Size - 1}, id) {}

  constexpr std::string_view name() const noexcept { return key_.name; }
  constexpr std::uint64_t id() const noexcept { return key_.id; }
  constexpr const detail::function_key& key() const noexcept { return key_; }

 private:
  consteval function(std::string_view name, std::uint64_t id) noexcept
      : key_{name, id, 0, wire::signature<In>, wire::signature<Out>} {
    constexpr std::uint64_t start = 0x9ae16a3b2f90404f;
    constexpr std::string_view between = "\n";
    using detail::fnv1a;
    key_.types = fnv1a(key_.result, fnv1a(between, fnv1a(key_.argument, fnv1a(between, fnv1a(name, start)))));
  }

  detail::function_key key_;
};

}  // namespace scoll
