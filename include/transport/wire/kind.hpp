#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "transport/wire/borrowed.hpp"
#include "transport/wire/customize.hpp"
#include "transport/wire/varint.hpp"
#include "transport/wire/versioned.hpp"

namespace scoll::wire::detail {

/// The form a type has on the wire.
enum class kind : std::uint8_t {
  none,
  boolean,
  integer,
  enumeration,
  floating,
  duration,
  varint,
  string,
  vector,
  optional,
  array,
  tuple,
  borrowed_string,
  borrowed_bytes,
  versioned,
  described,
  plain_struct,
};

template <class T>
inline constexpr kind library_kind = kind::none;
template <>
inline constexpr kind library_kind<varint> = kind::varint;
template <>
inline constexpr kind library_kind<borrowed_string> = kind::borrowed_string;
template <>
inline constexpr kind library_kind<borrowed_bytes> = kind::borrowed_bytes;
template <class Rep, class Period>
inline constexpr kind library_kind<std::chrono::duration<Rep, Period>> = kind::duration;
template <class Traits, class Allocator>
inline constexpr kind library_kind<std::basic_string<char, Traits, Allocator>> = kind::string;
template <class T, class Allocator>
inline constexpr kind library_kind<std::vector<T, Allocator>> = kind::vector;
template <class T>
inline constexpr kind library_kind<std::optional<T>> = kind::optional;
template <class T, std::size_t N>
inline constexpr kind library_kind<std::array<T, N>> = kind::array;
template <class First, class Second>
inline constexpr kind library_kind<std::pair<First, Second>> = kind::tuple;
template <class... T>
inline constexpr kind library_kind<std::tuple<T...>> = kind::tuple;

template <class T, class... Choices>
concept one_of = (std::same_as<T, Choices> || ...);

/// Character types whose width or meaning differs between platforms, or which are better sent as
/// `std::string`.
template <class T>
concept wide_character = one_of<T, wchar_t, char8_t, char16_t, char32_t>;

template <class T>
consteval kind kind_of() {
  if constexpr (library_kind<T> != kind::none) {
    return library_kind<T>;
  } else if constexpr (std::same_as<T, bool>) {
    return kind::boolean;
  } else if constexpr (std::integral<T>) {
    return wide_character<T> ? kind::none : kind::integer;
  } else if constexpr (std::is_enum_v<T>) {
    return kind::enumeration;
  } else if constexpr (one_of<T, float, double>) {
    return kind::floating;
  } else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
    if constexpr (has_wire_version<T>) return kind::versioned;
    if constexpr (described<T>) return kind::described;
    if constexpr (std::is_aggregate_v<T> && !std::is_union_v<T>) return kind::plain_struct;
  }
  return kind::none;
}

template <class T>
inline constexpr kind kind_v = kind_of<T>();

/// A struct whose members follow each other: a plain one, or a versioned one without its own description.
template <class T>
concept member_wise = kind_v<T> == kind::plain_struct || (kind_v<T> == kind::versioned && !described<T>);

}  // namespace scoll::wire::detail
