#pragma once

#include <tuple>
#include <utility>

#include "transport/wire/wire.hpp"

namespace scoll::detail {

template <class T, class... Around>
consteval bool borrows();

template <class... Around, class... M>
consteval bool any_borrows(wire::detail::type_list<M...> /*types*/) {
  return (borrows<M, Around...>() || ...);
}
template <class... Around, class... M>
consteval bool any_borrows(const std::tuple<M...>* /*types*/) {
  return (borrows<M, Around...>() || ...);
}
template <class... Around, class First, class Second>
consteval bool any_borrows(const std::pair<First, Second>* /*types*/) {
  return borrows<First, Around...>() || borrows<Second, Around...>();
}

/// True if a decoded `T` points into the message it came in. The check does not see what a type names in its
/// own `describe()`. `Around` ends the recursion of a struct that holds a vector of itself.
template <class T, class... Around>
consteval bool borrows() {
  using wire::detail::kind;
  constexpr kind form = wire::detail::kind_v<T>;
  if constexpr (wire::detail::one_of<T, Around...>) {
    return false;
  } else if constexpr (form == kind::borrowed_string || form == kind::borrowed_bytes) {
    return true;
  } else if constexpr (form == kind::vector || form == kind::optional || form == kind::array) {
    return borrows<typename T::value_type, Around...>();
  } else if constexpr (form == kind::tuple) {
    return any_borrows<Around...>(static_cast<const T*>(nullptr));
  } else if constexpr (wire::detail::member_wise<T>) {
    return any_borrows<T, Around...>(wire::detail::member_types<T>{});
  }
  return false;
}

}  // namespace scoll::detail
