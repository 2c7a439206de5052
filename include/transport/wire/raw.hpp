#pragma once

#include <array>
#include <bit>
#include <type_traits>

#include "transport/wire/customize.hpp"
#include "transport/wire/layout.hpp"

namespace scoll::wire {
namespace detail {

template <class T>
consteval bool is_raw();

template <class... M>
consteval bool all_raw(type_list<M...> /*types*/) {
  return (is_raw<M>() && ...);
}

template <class T>
consteval bool is_raw() {
  constexpr kind form = kind_v<T>;
  if constexpr (!encodable<T> || !std::is_trivially_copyable_v<T> || validated<T>) {
    return false;
  } else if constexpr (form == kind::integer || form == kind::floating || form == kind::duration) {
    return true;
  } else if constexpr (form == kind::enumeration) {
    return !std::same_as<std::underlying_type_t<T>, bool>;
  } else if constexpr (form == kind::array) {
    return is_raw<typename T::value_type>() && layout_of<T>.min == sizeof(T);
  } else if constexpr (form == kind::plain_struct) {
    return all_raw(member_types<T>{}) && layout_of<T>.min == sizeof(T);
  }
  return false;
}

}  // namespace detail

/// True if the encoding is the object's own bytes: the host is little-endian, the type has no padding
/// (members are in order of declaration, so equal sizes prove it), and no value needs a check. Such values,
/// and vectors of them, are copied as a block.
template <class T>
concept raw_copyable = std::endian::native == std::endian::little && detail::is_raw<T>();

}  // namespace scoll::wire
