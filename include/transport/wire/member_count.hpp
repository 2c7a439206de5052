#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

/// Finds how many members a plain struct has: the compiler can initialise the struct from n placeholders, but
/// not from n + 1. None of this ever runs; the conversions have bodies only because compilers warn about
/// conversions without.

namespace scoll::wire::detail {

/// Structs with more members must be nested, or describe themselves.
inline constexpr std::size_t max_members = 24;

/// Converts to every type but `Owner`, so that it stands for a member and never for a copy of the struct. The
/// operator is const so that a member with a greedy constructor (`std::optional`) prefers that constructor
/// instead of finding the two ambiguous.
template <class Owner>
struct any_member {
  template <class U>
    requires(!std::same_as<U, Owner>)
  operator U() const noexcept {
    __builtin_unreachable();
  }
};

/// Converts to the base classes of `Owner` only.
template <class Owner>
struct any_base {
  template <class U>
    requires(std::is_base_of_v<U, Owner> && !std::same_as<U, Owner>)
  operator U() const noexcept {
    __builtin_unreachable();
  }
};

template <class T, std::size_t>
using any_member_at = any_member<T>;

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...> /*placeholders*/) {
  return requires { T{any_member_at<T, I>{}...}; };
}

template <class T, std::size_t... Before, std::size_t... After>
constexpr bool takes_braced_pair(std::index_sequence<Before...> /*before*/,
                                 std::index_sequence<After...> /*after*/) {
  return requires {
    T{any_member_at<T, Before>{}..., {any_member<T>{}, any_member<T>{}}, any_member_at<T, After>{}...};
  };
}

/// The counts that a struct can be initialised from are one range that ends at its number of members. The
/// range starts above zero if a leading member has no default. `max_members + 1` stands for more than that; a
/// struct that cannot be initialised at all (reference members) has 0.
template <class T, std::size_t N = 0, bool Found = false>
consteval std::size_t count_members() {
  constexpr bool fits = takes<T>(std::make_index_sequence<N>{});
  if constexpr (Found && !fits) {
    return N - 1;
  } else if constexpr (N > max_members) {
    return fits ? N : 0;
  } else {
    return count_members<T, N + 1, fits>();
  }
}

template <class T>
inline constexpr std::size_t member_count = count_members<T>();

template <class T>
inline constexpr bool has_base = requires { T{any_base<T>{}}; };

/// A C array takes one placeholder per element, so it would be counted as several members. Given a braced
/// pair instead, it leaves fewer places behind it than any other member would.
template <class T, std::size_t I>
constexpr bool is_c_array_at() {
  using before = std::make_index_sequence<I>;
  using after = std::make_index_sequence<member_count<T> - I - 1>;
  return takes_braced_pair<T>(before{}, std::index_sequence<>{}) && !takes_braced_pair<T>(before{}, after{});
}

template <class T, std::size_t... I>
constexpr bool any_c_array(std::index_sequence<I...> /*members*/) {
  return (is_c_array_at<T, I>() || ...);
}

template <class T>
inline constexpr bool has_c_array = any_c_array<T>(std::make_index_sequence<member_count<T>>{});

}  // namespace scoll::wire::detail
