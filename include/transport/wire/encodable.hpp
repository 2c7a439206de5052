#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <ratio>
#include <string_view>
#include <type_traits>

#include "transport/wire/kind.hpp"
#include "transport/wire/members.hpp"

namespace scoll::wire {
namespace detail {

/// Why a type has no form on the wire. It looks at the type itself and not at its members.
enum class refusal : std::uint8_t {
  none,
  const_value,
  pointer,
  wide_character,
  long_double,
  c_array,
  view,
  open_enumeration,
  short_duration,
  version_zero,
  base_class,
  too_many_members,
  reference_member,
  unknown_type,
};

/// An enum whose size the compiler chose. Another compiler may choose another size, and not every value of
/// the underlying type is a value of the enum.
template <class T>
concept open_enumeration = std::is_enum_v<T> && !requires { T{0}; };

template <class T>
inline constexpr bool is_span = false;
template <class T, std::size_t Extent>
inline constexpr bool is_span<std::span<T, Extent>> = true;

template <class T>
consteval refusal refused_struct() {
  if constexpr (has_base<T>) {
    return refusal::base_class;
  } else if constexpr (member_count<T> > max_members) {
    return refusal::too_many_members;
  } else if constexpr (has_c_array<T>) {
    return refusal::c_array;
  } else if constexpr (member_count<T> == 0 && !std::is_empty_v<T>) {
    return refusal::reference_member;
  }
  return refusal::none;
}

template <class T>
consteval refusal refused_version() {
  if constexpr (T::wire_version == 0) {
    return refusal::version_zero;
  } else if constexpr (member_wise<T> && !(std::is_aggregate_v<T> && std::is_class_v<T>)) {
    return refusal::unknown_type;
  } else if constexpr (member_wise<T>) {
    return refused_struct<T>();
  }
  return refusal::none;
}

template <class T>
consteval refusal refused_without_form() {
  if (std::is_pointer_v<T> || std::is_member_pointer_v<T>) return refusal::pointer;
  if (wide_character<T>) return refusal::wide_character;
  if (std::same_as<T, long double>) return refusal::long_double;
  if (std::is_array_v<T>) return refusal::c_array;
  if (std::same_as<T, std::string_view> || is_span<T>) return refusal::view;
  return refusal::unknown_type;
}

template <class T>
consteval refusal why_refused() {
  constexpr kind form = kind_v<T>;
  if constexpr (std::is_const_v<T>) {
    return refusal::const_value;
  } else if constexpr (form == kind::none) {
    return refused_without_form<T>();
  } else if constexpr (form == kind::plain_struct) {
    return refused_struct<T>();
  } else if constexpr (form == kind::versioned) {
    return refused_version<T>();
  } else if constexpr (open_enumeration<T>) {
    return refusal::open_enumeration;
  } else if constexpr (form == kind::duration) {
    return std::same_as<typename T::rep, std::int64_t> ? refusal::none : refusal::short_duration;
  }
  return refusal::none;
}

/// Stops the compilation with the reason. It is called for every type met on the way, so the reason names the
/// innermost culprit, and the compiler's trace names the struct that contains it.
template <class T>
consteval void require_form() {
  constexpr refusal reason = why_refused<T>();
  static_assert(reason != refusal::const_value, "scoll::wire: a const member cannot be decoded");
  static_assert(reason != refusal::pointer,
                "scoll::wire: a pointer means nothing on another node: send what it points to");
  static_assert(reason != refusal::wide_character,
                "scoll::wire: wide characters have no form on the wire: send UTF-8 in a std::string");
  static_assert(reason != refusal::long_double,
                "scoll::wire: long double differs between platforms: send a double");
  static_assert(reason != refusal::c_array, "scoll::wire: a C array: use std::array");
  static_assert(
      reason != refusal::view,
      "scoll::wire: a view owns nothing: use std::string or std::vector, or say wire::borrowed_string or "
      "wire::borrowed_bytes where it may point into the message");
  static_assert(reason != refusal::open_enumeration,
                "scoll::wire: an enum without a stated size: write enum name : std::uint8_t");
  static_assert(reason != refusal::short_duration,
                "scoll::wire: a duration must count in std::int64_t, as std::chrono::nanoseconds does");
  static_assert(reason != refusal::version_zero, "scoll::wire: wire_version starts at 1");
  static_assert(reason != refusal::base_class,
                "scoll::wire: a struct with a base class: make the base a member, or write describe()");
  static_assert(
      reason != refusal::too_many_members,
      "scoll::wire: a struct with more than 24 members or with a C array: nest structs, use std::array, or "
      "write describe()");
  static_assert(reason != refusal::reference_member,
                "scoll::wire: a struct with a reference, or with a member that nothing can initialise");
  static_assert(
      reason != refusal::unknown_type,
      "scoll::wire: no form on the wire for this type: make it a plain struct, or write describe()");
}

template <class T, class... Around>
consteval bool has_form();

template <class... Around, class... M>
consteval bool all_have_form(type_list<M...> /*types*/) {
  return (has_form<M, Around...>() && ...);
}
template <class... Around, class... M>
consteval bool elements_have_form(const std::tuple<M...>* /*types*/) {
  return (has_form<M, Around...>() && ...);
}
template <class... Around, class First, class Second>
consteval bool elements_have_form(const std::pair<First, Second>* /*types*/) {
  return has_form<First, Around...>() && has_form<Second, Around...>();
}

/// Checks everything a type is made of. `Around` ends the recursion of a struct that holds a vector of
/// itself.
template <class T, class... Around>
consteval bool has_form() {
  constexpr kind form = kind_v<T>;
  if constexpr (one_of<T, Around...>) {
    return true;
  } else if constexpr (why_refused<T>() != refusal::none) {
    return false;
  } else if constexpr (form == kind::enumeration) {
    return has_form<std::underlying_type_t<T>>();
  } else if constexpr (form == kind::vector || form == kind::optional || form == kind::array) {
    return has_form<typename T::value_type, Around...>();
  } else if constexpr (form == kind::tuple) {
    return elements_have_form<Around...>(static_cast<const T*>(nullptr));
  } else if constexpr (member_wise<T>) {
    return all_have_form<T, Around...>(member_types<T>{});
  }
  return true;
}

}  // namespace detail

/// The types that `encode` and `decode` take. Types named in a type's own `describe()` are only checked where
/// it is used.
template <class T>
concept encodable = detail::has_form<T>();

}  // namespace scoll::wire
