#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "transport/wire/wire.hpp"

namespace scoll {

/// A type that merges another value of its type into itself. It must be a commutative monoid, because replies
/// arrive in any order.
template <class T>
concept mergeable = requires(T& into, const T& from) {
  { into.merge(from) } noexcept -> std::same_as<void>;
};

/// The reply of a service that reports nothing except that it has executed.
struct no_reply {
  void merge(const no_reply&) noexcept {}
  friend bool operator==(const no_reply&, const no_reply&) = default;
};

/// Ready-made monoids for the members of replies. Each is a plain aggregate and is encoded as its members.
template <class T>
struct sum {
  T value{};
  void merge(const sum& from) noexcept { value = static_cast<T>(value + from.value); }
  friend bool operator==(const sum&, const sum&) = default;
};

template <class T>
struct minimum {
  T value = std::numeric_limits<T>::max();
  void merge(const minimum& from) noexcept { value = std::min(value, from.value); }
  friend bool operator==(const minimum&, const minimum&) = default;
};

template <class T>
struct maximum {
  T value = std::numeric_limits<T>::lowest();
  void merge(const maximum& from) noexcept { value = std::max(value, from.value); }
  friend bool operator==(const maximum&, const maximum&) = default;
};

struct all_of {
  bool value = true;
  void merge(const all_of& from) noexcept { value = value && from.value; }
  friend bool operator==(const all_of&, const all_of&) = default;
};

struct any_of {
  bool value = false;
  void merge(const any_of& from) noexcept { value = value || from.value; }
  friend bool operator==(const any_of&, const any_of&) = default;
};

/// The K greatest elements by `T`'s order, greatest first. Duplicates are kept.
template <std::totally_ordered T, std::size_t K>
struct top_k {
  std::vector<T> values;

  void insert(T value) {
    const auto at = std::upper_bound(values.begin(), values.end(), value, std::greater<>{});
    if (static_cast<std::size_t>(at - values.begin()) >= K) return;
    values.insert(at, std::move(value));
    if (values.size() > K) values.pop_back();
  }
  void merge(const top_k& from) noexcept {
    for (const T& value : from.values) insert(value);
  }
  friend bool operator==(const top_k&, const top_k&) = default;
};

/// A sorted set without duplicates.
template <std::totally_ordered T>
struct set_union {
  std::vector<T> values;

  void insert(T value) {
    const auto at = std::lower_bound(values.begin(), values.end(), value);
    if (at == values.end() || *at != value) values.insert(at, std::move(value));
  }
  void merge(const set_union& from) noexcept {
    for (const T& value : from.values) insert(value);
  }
  friend bool operator==(const set_union&, const set_union&) = default;
};

/// The elements of each member, kept apart and ordered by rank, so that the root can split them whatever
/// order the replies came in. Each part says whether it had to be cut.
template <class T>
struct concatenation {
  struct part {
    std::uint32_t rank = 0;
    bool cut = false;  ///< the member had more elements than fit
    T value{};
    friend bool operator==(const part&, const part&) = default;
  };
  std::vector<part> parts;

  void merge(const concatenation& from) noexcept {
    std::vector<part> both;
    both.reserve(parts.size() + from.parts.size());
    std::merge(std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()),
               from.parts.begin(), from.parts.end(), std::back_inserter(both),
               [](const part& a, const part& b) { return a.rank < b.rank; });
    parts = std::move(both);
  }
  friend bool operator==(const concatenation&, const concatenation&) = default;
};

/// Counts how many members gave which status number. Entries are sorted by number and name the lowest rank
/// that gave it. The size depends on the count of different numbers, not of members.
struct status_map {
  struct entry {
    std::int32_t status = 0;
    std::uint32_t count = 0;
    std::uint32_t lowest_rank = 0;
    friend bool operator==(const entry&, const entry&) = default;
  };
  std::vector<entry> entries;

  void add(const entry& e) {
    const auto at = std::lower_bound(entries.begin(), entries.end(), e.status,
                                     [](const entry& x, std::int32_t s) { return x.status < s; });
    if (at == entries.end() || at->status != e.status) {
      entries.insert(at, e);
      return;
    }
    at->count += e.count;
    at->lowest_rank = std::min(at->lowest_rank, e.lowest_rank);
  }
  void merge(const status_map& from) noexcept {
    for (const entry& e : from.entries) add(e);
  }
  friend bool operator==(const status_map&, const status_map&) = default;
};

namespace detail {

template <class T>
inline constexpr bool all_members_mergeable = false;

template <class... M>
inline constexpr bool all_members_mergeable<wire::detail::type_list<M...>> = (mergeable<M> && ...);

template <class T>
concept memberwise_mergeable =
    std::is_aggregate_v<T> && !mergeable<T> && all_members_mergeable<wire::detail::member_types<T>>;

/// Merges aggregates whose members can all be merged:
/// `struct reply { sum<std::uint64_t> bytes; maximum<std::uint32_t> age; }`.
template <memberwise_mergeable T>
void merge_members(T& into, const T& from) noexcept {
  wire::detail::visit_members(into, [&](auto&... to) {
    wire::detail::visit_members(from, [&](const auto&... source) { (to.merge(source), ...); });
  });
}

}  // namespace detail
}  // namespace scoll
