#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "transport/wire/member_count.hpp"

namespace scoll::wire::detail {

/// Calls `use` with references to all members of a plain struct, in order of declaration. C++20 cannot bind a
/// pack, so each number of members has its own line.
template <class T, class F>
constexpr decltype(auto) visit_members(T& value, F&& use) {
  constexpr std::size_t count = member_count<std::remove_const_t<T>>;
  if constexpr (count == 0) {
    return std::forward<F>(use)();
  } else if constexpr (count == 1) {
    auto& [a] = value;
    return std::forward<F>(use)(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = value;
    return std::forward<F>(use)(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = value;
    return std::forward<F>(use)(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = value;
    return std::forward<F>(use)(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = value;
    return std::forward<F>(use)(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = value;
    return std::forward<F>(use)(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (count == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (count == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (count == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (count == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else if constexpr (count == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  } else if constexpr (count == 17) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
  } else if constexpr (count == 18) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
  } else if constexpr (count == 19) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
  } else if constexpr (count == 20) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
  } else if constexpr (count == 21) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u);
  } else if constexpr (count == 22) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v);
  } else if constexpr (count == 23) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w);
  } else if constexpr (count == 24) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x] = value;
    return std::forward<F>(use)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x);
  }
}

template <class... M>
struct type_list {};

struct list_types {
  template <class... M>
  constexpr type_list<M...> operator()(M&... /*members*/) const {
    return {};
  }
};

/// The types of the members; const stays.
template <class T>
using member_types = decltype(visit_members(std::declval<T&>(), list_types{}));

}  // namespace scoll::wire::detail
