#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "transport/wire/encodable.hpp"
#include "transport/wire/limits.hpp"

namespace scoll::wire {

/// The sizes in bytes that the type alone determines for its encodings.
struct layout {
  std::size_t min = 0;
  std::size_t max = unbounded;
  bool fixed = false;  ///< always `min` bytes, all of which the decoder needs
};

namespace detail {

constexpr std::size_t saturating_add(std::size_t a, std::size_t b) {
  return a > unbounded - b ? unbounded : a + b;
}
constexpr std::size_t saturating_multiply(std::size_t a, std::size_t b) {
  return b != 0 && a > unbounded / b ? unbounded : a * b;
}

/// The layout of two values, one after the other.
constexpr layout operator+(const layout& a, const layout& b) {
  return {saturating_add(a.min, b.min), saturating_add(a.max, b.max), a.fixed && b.fixed};
}

constexpr layout exactly(std::size_t size) {
  return {size, size, true};
}

template <class T>
consteval layout make_layout();

/// The archive that adds up the fields that a description names.
class measurer {
 public:
  static constexpr bool decoding = false;

  template <class... Fields>
  constexpr void operator()(const Fields&... /*fields*/) noexcept {
    sum_ = (sum_ + ... + make_layout<Fields>());
  }
  constexpr std::uint16_t version() noexcept {
    asked_version_ = true;
    return 0;
  }
  /// The result is never `fixed`: a description may differ between archives, and fixed sizes are not checked
  /// field by field.
  constexpr layout sum() const noexcept {
    return asked_version_ ? layout{} : layout{sum_.min, sum_.max, false};
  }

 private:
  layout sum_ = exactly(0);
  bool asked_version_ = false;
};

/// An object that is never constructed. A description that only hands out references can be followed on it at
/// compile time, whatever its type; a description that looks at values cannot, and so has no measure. All
/// compilers agree on which is which.
template <class T>
struct unmade {
  T value;
};

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <class T>
extern unmade<T> unmade_object;

/// Names the fields of a T to the archive.
template <class T, class Archive>
constexpr void follow_description(Archive& archive) {
  describe_with(archive, unmade_object<T>.value);
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

template <class T>
consteval layout measure_description() {
  measurer archive;
  follow_description<T>(archive);
  return archive.sum();
}

template <class T>
concept measurable = requires { typename std::integral_constant<std::size_t, measure_description<T>().min>; };

template <class T>
consteval layout described_layout() {
  if constexpr (has_wire_min_size<T>) {
    return {std::size_t{T::wire_min_size}, unbounded, false};
  } else if constexpr (measurable<T>) {
    return measure_description<T>();
  }
  return {};
}

template <class... M>
consteval layout layout_of_all(type_list<M...> /*types*/) {
  return (exactly(0) + ... + make_layout<M>());
}
template <class... M>
consteval layout layout_of_elements(const std::tuple<M...>* /*types*/) {
  return (exactly(0) + ... + make_layout<M>());
}
template <class First, class Second>
consteval layout layout_of_elements(const std::pair<First, Second>* /*types*/) {
  return make_layout<First>() + make_layout<Second>();
}

template <class Array>
consteval layout array_layout() {
  constexpr layout element = make_layout<typename Array::value_type>();
  constexpr std::size_t count = std::tuple_size_v<Array>;
  return {saturating_multiply(element.min, count), saturating_multiply(element.max, count), element.fixed};
}

template <class T>
consteval layout versioned_layout() {
  if constexpr (described<T>) {
    return {versioned_header_size, unbounded, false};
  } else {
    constexpr layout members = layout_of_all(member_types<T>{});
    return {versioned_header_size, saturating_add(versioned_header_size, members.max), false};
  }
}

template <class T>
consteval layout make_layout() {
  constexpr kind form = kind_v<T>;
  if constexpr (why_refused<T>() != refusal::none) {
    return {};
  } else if constexpr (form == kind::boolean) {
    return exactly(1);
  } else if constexpr (form == kind::integer || form == kind::floating || form == kind::enumeration) {
    return exactly(sizeof(T));
  } else if constexpr (form == kind::duration) {
    return exactly(sizeof(std::int64_t));
  } else if constexpr (form == kind::varint) {
    return {1, max_varint_size, false};
  } else if constexpr (form == kind::optional) {
    return {1, saturating_add(1, make_layout<typename T::value_type>().max), false};
  } else if constexpr (form == kind::array) {
    return array_layout<T>();
  } else if constexpr (form == kind::tuple) {
    return layout_of_elements(static_cast<const T*>(nullptr));
  } else if constexpr (form == kind::versioned) {
    return versioned_layout<T>();
  } else if constexpr (form == kind::described) {
    return described_layout<T>();
  } else if constexpr (form == kind::plain_struct) {
    return layout_of_all(member_types<T>{});
  } else {
    return {length_size, unbounded, false};
  }
}

}  // namespace detail

template <class T>
inline constexpr layout layout_of = detail::make_layout<T>();

/// A type whose values all have the same encoded size: integers, enums, floats, durations, and arrays, tuples
/// and plain structs of these. Optionals, self-describing types and types with a version are not among them.
template <class T>
concept has_fixed_size = layout_of<T>.fixed;

template <has_fixed_size T>
inline constexpr std::size_t fixed_size = layout_of<T>.min;

/// The smallest encoded size, in bytes. 0 for a description that cannot be followed at compile time and
/// states no `wire_min_size`.
template <class T>
inline constexpr std::size_t min_wire_size = layout_of<T>.min;

/// The largest encoded size, in bytes, for types that have such a bound.
template <class T>
  requires(layout_of<T>.max != unbounded)
inline constexpr std::size_t max_encoded_size = layout_of<T>.max;

}  // namespace scoll::wire
