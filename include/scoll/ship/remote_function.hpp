#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scoll/detail/borrows.hpp"
#include "transport/wire/signature.hpp"
#include "transport/wire/wire.hpp"

namespace scoll {

/// The argument type of functions that need none, and the result type of functions that return none.
struct nothing {
  friend constexpr bool operator==(const nothing&, const nothing&) = default;
};

namespace detail {

/// The 64-bit FNV-1a hash of a text. It is part of the wire format.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325) noexcept {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

/// Digests that travel with a call, so that different types are an error. They are part of the wire format.
struct types_digest {
  /// The digest of the name and both signatures. It leaves out the versions and the fields of versioned
  /// structs, which may differ.
  std::uint64_t types = 0;
  /// The digest of all versions of the structs; 0 if there are none.
  std::uint32_t versions = 0;
  /// The digest of everything, including the fields of versioned structs; 0 if there are no versioned
  /// structs.
  std::uint32_t fields = 0;

  /// True if the types are compatible. Structs of one version must have the same fields; structs of different
  /// versions are expected to understand each other.
  friend constexpr bool compatible(const types_digest& a, const types_digest& b) noexcept {
    return a.types == b.types && (a.versions != b.versions || a.fields == b.fields);
  }
};

constexpr types_digest digest_of(std::string_view name, std::string_view argument,
                                 std::string_view result) noexcept {
  std::uint64_t types = fnv1a("\n", fnv1a(name, 0x9ae16a3b2f90404f));
  std::uint64_t versions = fnv1a("");
  std::uint64_t fields = types;
  bool versioned = false;
  for (const std::string_view signature : {argument, std::string_view("\n"), result}) {
    fields = fnv1a(signature, fields);
    std::size_t depth = 0;  // the depth of braces, counted from the outermost versioned struct
    bool within = false;
    bool number = false;
    for (const char c : signature) {
      const std::string_view one(&c, 1);
      if (c == '@') versioned = within = number = true;
      if (c == '{') number = false;
      if (number) versions = fnv1a(one, versions);
      if (!within || (c == '@' && depth == 0)) types = fnv1a(one, types);
      if (within && c == '{') ++depth;
      if (within && c == '}') within = --depth != 0;
    }
  }
  if (!versioned) return {types};
  const auto folded = [](std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ hash >> 32U); };
  return {types, folded(versions), folded(fields)};
}

/// A function without its types: what a node compares with the key that a peer sends.
struct function_key {
  std::string_view name;
  std::uint64_t id = 0;
  types_digest types;
  std::string_view argument;  ///< signatures (wire::signature)
  std::string_view result;
};

/// The length limit of a function's name. Two names fit into the text of an error, shortened in the middle if
/// necessary.
inline constexpr std::size_t function_name_limit = 64;

template <class In, class Out>
consteval bool check_function() {
  static_assert(wire::encodable<In>, "the argument cannot be encoded: see docs/wire.md");
  static_assert(wire::encodable<Out>, "the result cannot be encoded: see docs/wire.md");
  static_assert(!borrows<Out>(),
                "a result outlives the message it came in: it must own its contents, not borrow them");
  static_assert(
      alignof(In) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ && alignof(Out) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
      "an argument or result must not need a stricter alignment than operator new gives");
  static_assert(std::default_initializable<In> && std::default_initializable<Out>,
                "an argument or result must be default-constructible, because it is decoded into a T{}");
  return true;
}

}  // namespace detail

/// Names a function that nodes call on each other, with the types of its argument and its result. Define it
/// as a constant in a header that both sides include.
///
/// ```cpp
/// inline constexpr scoll::remote_function<stat_request, stat_reply> stat_file{"remote_file.stat"};
/// ```
///
/// The name, of at most 64 characters, determines the function's number on the wire, the same in every
/// program. Every call also carries a digest of name and types. If two names share a number, or one name
/// stands for different types, the call fails with an error that names both; it never runs the wrong
/// function.
template <class In, class Out = nothing>
class remote_function {
  static_assert(detail::check_function<In, Out>());

 public:
  using argument = In;
  using result = Out;

  /// `name` must be a literal: its characters must outlive the function.
  template <std::size_t Size>
  consteval explicit remote_function(const char (&name)[Size]) noexcept
      : remote_function(checked(name), detail::fnv1a(checked(name))) {}
  /// Sets the number by hand, in case two names ever collide.
  template <std::size_t Size>
  consteval remote_function(const char (&name)[Size], std::uint64_t id) noexcept
      : remote_function(checked(name), id) {}

  constexpr std::string_view name() const noexcept { return key_.name; }
  constexpr std::uint64_t id() const noexcept { return key_.id; }
  constexpr const detail::function_key& key() const noexcept { return key_; }

 private:
  template <std::size_t Size>
  static consteval std::string_view checked(const char (&name)[Size]) noexcept {
    static_assert(Size > 1 && Size - 1 <= detail::function_name_limit,
                  "the name of a function has 1 to 64 characters");
    return {name, Size - 1};
  }
  consteval remote_function(std::string_view name, std::uint64_t id) noexcept
      : key_{name, id, detail::digest_of(name, wire::signature<In>, wire::signature<Out>),
             wire::signature<In>, wire::signature<Out>} {}

  detail::function_key key_;
};

}  // namespace scoll
