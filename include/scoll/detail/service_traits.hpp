#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "scoll/collective/aggregate.hpp"
#include "scoll/collective/context.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/parts.hpp"
#include "scoll/collective/size_limits.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/borrows.hpp"
#include "scoll/ids.hpp"
#include "transport/wire/wire.hpp"

// The traits of a class as a collective service: which hooks it has, in which form, and what is wrong with
// it.
namespace scoll {
namespace detail {

template <class S>
struct reply_of {
  using type = no_reply;
};
template <class S>
  requires requires { typename S::reply; }
struct reply_of<S> {
  using type = typename S::reply;
};

// These classes test whether S has a member of a given name, whatever its form: a second member of that name
// makes the name ambiguous.
struct prepare_name {
  int prepare;
};
struct on_bulk_name {
  int on_bulk;
};
struct bulk_failed_name {
  int bulk_failed;
};
struct execute_name {
  int execute;
};
struct merge_name {
  int merge;
};
struct on_reply_name {
  int on_reply;
};
struct finish_name {
  int finish;
};
struct replied_name {
  int replied;
};
struct members_name {
  int members;
};
template <class S, class Name>
struct both : S, Name {};

template <class S>
concept names_prepare = !requires { &both<S, prepare_name>::prepare; };
template <class S>
concept names_on_bulk = !requires { &both<S, on_bulk_name>::on_bulk; };
template <class S>
concept names_bulk_failed = !requires { &both<S, bulk_failed_name>::bulk_failed; };
template <class S>
concept names_execute = !requires { &both<S, execute_name>::execute; };
template <class S>
concept names_merge = !requires { &both<S, merge_name>::merge; };
template <class S>
concept names_on_reply = !requires { &both<S, on_reply_name>::on_reply; };
template <class S>
concept names_finish = !requires { &both<S, finish_name>::finish; };
template <class S>
concept names_replied = !requires { &both<S, replied_name>::replied; };

template <class S>
concept names_members = !requires { &both<S, members_name>::members; };

template <class T, class... Allowed>
concept any_of_types = (std::same_as<T, Allowed> || ...);

template <class S>
using request_t = typename S::request;
template <class S>
using reply_t = typename reply_of<S>::type;

template <class R>
struct item_of {};
template <class T>
struct item_of<parts<T>> {
  using type = T;
};
/// A service whose members reply with streams of items.
template <class S>
concept streams = requires { typename item_of<reply_t<S>>::type; };
template <streams S>
using item_t = typename item_of<reply_t<S>>::type;

template <class S>
concept good_streaming_execute =
    requires(S& s, request_t<S>& r, bcast_context& c, part_sink<item_t<S>>& out) {
      { s.execute(r, c, out) } -> std::same_as<task<status>>;
    };
template <class S>
concept good_execute = requires(S& s, request_t<S>& r, bcast_context& c) {
  requires any_of_types<decltype(s.execute(r, c)), task<result<reply_t<S>>>, result<reply_t<S>>, reply_t<S>>;
} || (std::same_as<reply_t<S>, no_reply> && requires(S& s, request_t<S>& r, bcast_context& c) {
                         requires any_of_types<decltype(s.execute(r, c)), task<status>, status, void>;
                       });
template <class S>
concept good_prepare = requires(S& s, request_t<S>& r, bcast_context& c) {
  requires any_of_types<decltype(s.prepare(r, c)), task<status>, status, void>;
};
template <class S>
concept good_on_bulk = requires(S& s, const bulk_chunk& chunk, bcast_context& c) {
  requires any_of_types<decltype(s.on_bulk(chunk, c)), task<status>, status, void>;
};
template <class S>
concept good_bulk_failed = requires(S& s, const error& why, bcast_context& c) {
  { s.bulk_failed(why, c) } noexcept -> std::same_as<void>;
};
template <class S>
concept good_merge = requires(reply_t<S>& into, const reply_t<S>& from) {
  { S::merge(into, from) } noexcept -> std::same_as<void>;
};
template <class S>
concept good_on_reply = requires(S& s, const arrival<reply_t<S>>& a, bcast_context& c) {
  requires any_of_types<decltype(s.on_reply(a, c)), task<void>, void>;
};
template <class S>
concept good_finish = requires(S& s, reply_t<S>& r, bcast_context& c) {
  requires any_of_types<decltype(s.finish(r, c)), task<status>, status, void>;
};
template <class S>
concept good_replied = requires(S& s, bcast_context& c) {
  { s.replied(c) } noexcept -> std::same_as<void>;
};

template <class S>
concept good_members = requires(S& s, std::uint64_t id) {
  requires any_of_types<decltype(s.members(id)), task<result<membership_ptr>>, result<membership_ptr>>;
};

template <class S>
inline constexpr std::uint16_t version_of = 0;
template <class S>
  requires requires { S::version; }
inline constexpr std::uint16_t version_of<S> = S::version;

template <class S>
inline constexpr std::string_view name_of = {};
template <class S>
  requires requires { S::name; }
inline constexpr std::string_view name_of<S> = S::name;

template <class R>
consteval std::size_t natural_capacity() {
  if constexpr (wire::has_fixed_size<R>) {
    return wire::fixed_size<R>;
  } else {
    return default_reply_capacity;
  }
}
template <class S>
concept names_reply_capacity = requires { S::reply_capacity; };
/// A service that gives the capacity of each subtree.
template <class S>
concept capacity_hook = requires(const request_t<S>& r) {
  { S::reply_capacity(r, std::uint32_t{1}) } -> std::same_as<std::size_t>;
};
template <class S>
concept constant_capacity =
    requires { requires std::convertible_to<decltype(S::reply_capacity), std::size_t>; };

/// The most bytes of any merged reply of a service.
template <class S>
inline constexpr std::size_t reply_capacity_of = natural_capacity<reply_t<S>>();
template <constant_capacity S>
inline constexpr std::size_t reply_capacity_of<S> = S::reply_capacity;
template <capacity_hook S>
inline constexpr std::size_t reply_capacity_of<S> = max_reply_bytes;

template <class S>
inline constexpr bool short_execute_of = false;
template <class S>
  requires requires { S::short_execute; }
inline constexpr bool short_execute_of<S> = S::short_execute;

template <class S>
inline constexpr std::uint32_t bulk_window_of = 0;
template <class S>
  requires requires { S::bulk_window; }
inline constexpr std::uint32_t bulk_window_of<S> = S::bulk_window;
template <class S>
concept executes_plainly = requires(S& s, request_t<S>& r, bcast_context& c) {
  requires !any_of_types<decltype(s.execute(r, c)), task<result<reply_t<S>>>, task<status>>;
};

/// Reports what is wrong with the replies of a service.
template <class S>
consteval void check_replies() {
  static_assert(wire::encodable<reply_t<S>>, "the reply cannot be encoded: see docs/wire.md");
  static_assert(!borrows<reply_t<S>>(),
                "a reply outlives the message it came in: it must own its contents, not borrow them");
  static_assert(alignof(reply_t<S>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "a reply must not need a stricter alignment than operator new gives");
  static_assert(!names_execute<S> || good_execute<S>,
                "execute must be: task<result<reply>> (or result<reply>, or reply) execute(const request&, "
                "scoll::bcast_context&)");
  static_assert(!short_execute_of<S> || !good_execute<S> || executes_plainly<S>,
                "short_execute is for a service whose execute is a plain function, not a task");
  static_assert(!names_merge<S> || good_merge<S>,
                "merge must be: static void merge(reply& into, const reply& from) noexcept");
  static_assert(
      names_merge<S> || mergeable<reply_t<S>> || memberwise_mergeable<reply_t<S>>,
      "replies need merge: static void merge(reply&, const reply&) noexcept, or members that all merge");
  static_assert(
      !names_on_reply<S> || good_on_reply<S>,
      "on_reply must be: task<void> (or void) on_reply(const scoll::arrival<reply>&, scoll::bcast_context&)");
  static_assert(!names_finish<S> || good_finish<S>,
                "finish must be: task<status> (or status, or void) finish(reply&, scoll::bcast_context&)");
  static_assert(!names_reply_capacity<S> || capacity_hook<S> || constant_capacity<S>,
                "reply_capacity must be a number, or: static std::size_t reply_capacity(const request&, "
                "std::uint32_t nodes)");
  static_assert(reply_capacity_of<S> <= max_reply_bytes, "reply_capacity exceeds scoll::max_reply_bytes");
}

/// Reports what is wrong with the items that a service streams.
template <streams S>
consteval void check_items() {
  static_assert(wire::encodable<item_t<S>>, "the items of the reply cannot be encoded: see docs/wire.md");
  static_assert(!borrows<item_t<S>>(),
                "an item outlives the message it came in: it must own its contents, not borrow them");
  static_assert(!names_execute<S> || good_streaming_execute<S>,
                "execute of a service that streams its reply must be: task<status> execute(const request&, "
                "scoll::bcast_context&, scoll::part_sink<item>&)");
  static_assert(!names_merge<S> && !names_on_reply<S> && !names_finish<S> && !short_execute_of<S> &&
                    !names_reply_capacity<S>,
                "a service that streams its reply has no merge, on_reply, finish, short_execute or "
                "reply_capacity: its items are not merged");
}

/// Reports what is wrong with a service, with one sentence per rule.
template <class S>
consteval bool check_service() {
  static_assert(std::is_class_v<S> && !std::is_final_v<S>,
                "a collective service must be a class that is not final");
  static_assert(
      requires { requires std::same_as<std::remove_cv_t<decltype(S::id)>, service_id>; },
      "a collective service must have: static constexpr scoll::service_id id{...}");
  static_assert(requires { typename S::request; }, "a collective service must have a nested type: request");
  static_assert(wire::encodable<request_t<S>>, "the request cannot be encoded: see docs/wire.md");
  static_assert(alignof(request_t<S>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "a request must not need a stricter alignment than operator new gives");
  static_assert(names_execute<S>,
                "a collective service must have a hook: execute(const request&, scoll::bcast_context&)");
  static_assert(
      !names_prepare<S> || good_prepare<S>,
      "prepare must be: task<status> (or status, or void) prepare(request&, scoll::bcast_context&)");
  static_assert(!names_on_bulk<S> || good_on_bulk<S>,
                "on_bulk must be: task<status> (or status, or void) on_bulk(const scoll::bulk_chunk&, "
                "scoll::bcast_context&)");
  static_assert(bulk_window_of<S> == 0 || (names_on_bulk<S> && bulk_window_of<S> <= 64),
                "bulk_window is the number of pieces, at most 64, that pass through a service with on_bulk");
  static_assert(!names_bulk_failed<S> || good_bulk_failed<S>,
                "bulk_failed must be: void bulk_failed(const scoll::error&, scoll::bcast_context&) noexcept");
  static_assert(!names_replied<S> || good_replied<S>,
                "replied must be: void replied(scoll::bcast_context&) noexcept");
  static_assert(!names_members<S> || good_members<S>,
                "members must be: task<result<membership_ptr>> (or result<membership_ptr>) "
                "members(std::uint64_t id)");
  if constexpr (streams<S>) {
    check_items<S>();
  } else {
    check_replies<S>();
  }
  return true;
}

}  // namespace detail

}  // namespace scoll
