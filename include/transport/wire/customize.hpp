#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

/// How a type customises its encoding. A plain struct says nothing and is encoded member by member.

namespace scoll::wire {

namespace detail {

/// A type with the shape of every archive, to test whether a type describes itself.
struct any_archive {
  static constexpr bool decoding = false;
  template <class... Fields>
  constexpr void operator()(Fields&&... /*fields*/) const noexcept {}
  constexpr std::uint16_t version() const noexcept { return 0; }
};

template <class T, class Archive = any_archive>
concept has_member_describe = requires(T& value, Archive& archive) { value.describe(archive); };

template <class T, class Archive = any_archive>
concept has_free_describe = requires(T& value, Archive& archive) { scoll_describe(archive, value); };

}  // namespace detail

/// A type with one description for both directions: a public member `template <class Archive> constexpr void
/// describe(Archive& archive) { archive(a, b, c); }`, or a function `scoll_describe(Archive&, T&)` in its
/// namespace. The description may look at `Archive::decoding` and `archive.version()`. It must not change
/// anything by itself, because it also runs on const objects when encoding. If it names different fields
/// depending on values, the type must state its smallest size: `static constexpr std::size_t wire_min_size =
/// n;`
template <class T>
concept described = detail::has_member_describe<T> || detail::has_free_describe<T>;

template <class T>
concept has_wire_min_size = requires {
  { T::wire_min_size } -> std::convertible_to<std::size_t>;
};

/// An enum or struct with a function `bool wire_valid(const T&)` in its namespace. A decoded value that the
/// function refuses is malformed. Encoding does not call it.
template <class T>
concept validated = requires(const T& value) {
  { wire_valid(value) } -> std::same_as<bool>;
};

namespace detail {

template <class Archive, class T>
constexpr void describe_with(Archive& archive, T& value) {
  if constexpr (has_member_describe<T, Archive>) {
    value.describe(archive);
  } else {
    scoll_describe(archive, value);
  }
}

}  // namespace detail
}  // namespace scoll::wire
