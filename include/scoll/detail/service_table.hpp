#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string_view>

#include "scoll/collective/service.hpp"
#include "scoll/detail/hook_call.hpp"

namespace scoll::detail {

/// An `arrival` without its type.
struct raw_arrival {
  std::uint32_t child;
  std::uint32_t rank;
  const void* value;
  bool clean;
  error reason;
};

/// A hook of a service; `Args` are its arguments after the service. It is empty if the service has no such
/// hook.
template <class... Args>
struct hook {
  hook_call (*call)(void* service, Args... args) noexcept = nullptr;
  bool suspends = false;  // the hook is a task, which may have to be awaited

  /// True if the hook is a plain function, so that it has returned with an outcome when the call returns.
  constexpr bool plain() const noexcept { return call != nullptr && !suspends; }
  hook_call operator()(void* service, Args... args) const noexcept { return call(service, args...); }
};

/// A service as the engine sees it: functions over bytes and aligned storage.
struct service_table {
  service_id id;
  std::uint16_t version;
  std::string_view name;
  std::uint32_t reply_capacity;  // the most bytes of any merged reply
  // That of a subtree with so many nodes, for a decoded request. Null if it is always the same.
  std::size_t (*capacity_for)(const void* request, std::uint32_t nodes) noexcept;
  nanoseconds processing_bound;
  std::size_t request_size;
  std::size_t reply_size;
  bool short_execute;         // `execute` takes less time than sending a message
  bool streams;               // members reply with items: there are no values, so no functions for them
  std::uint32_t bulk_window;  // slots for bulk data without a place; 0: there must be a place

  status (*decode_request)(void* at, std::span<const std::byte> bytes) noexcept;  // constructs at `at` if ok
  result<std::size_t> (*encode_request)(const void* request, std::span<std::byte> into) noexcept;
  void (*destroy_request)(void* request) noexcept;
  status (*decode_reply)(void* at, std::span<const std::byte> bytes) noexcept;
  result<std::size_t> (*encode_reply)(const void* reply, std::span<std::byte> into) noexcept;
  void (*destroy_reply)(void* reply) noexcept;
  void (*merge)(void* into, const void* from) noexcept;

  hook<void* /*request*/, bcast_context&> prepare;
  hook<const bulk_chunk&, bcast_context&> on_bulk;
  // Null if the service has no such hook.
  void (*bulk_failed)(void* service, const error& why, bcast_context& c) noexcept;
  // Constructs the reply if it succeeds; if the service streams, it is given the `item_sink` instead.
  hook<void* /*request*/, void* /*reply*/, bcast_context&> execute;
  hook<const raw_arrival&, bcast_context&> on_reply;
  hook<void* /*reply*/, bcast_context&> finish;
  void (*replied)(void* service, bcast_context& c) noexcept;  // null if the service has no such hook
  hook<std::uint64_t /*id*/, std::optional<membership_ptr>*> members;
};

/// Decodes a value that takes all of `bytes`.
template <class T>
status decode_into(T& value, std::span<const std::byte> bytes) noexcept {
  try {
    wire::reader in(bytes);
    wire::decode(in, value);
    if (in.ok()) in.finish();
    return in.ok() ? status() : in.error();
  } catch (const std::bad_alloc&) {
    return error(errc::busy, "no memory to decode into");
  }
}

template <class T>
status decode_at(void* at, std::span<const std::byte> bytes) noexcept {
  auto* value = new (at) T{};
  status decoded = decode_into(*value, bytes);
  if (!decoded) value->~T();
  return decoded;
}

template <class T>
result<std::size_t> encode_from(const void* value, std::span<std::byte> into) noexcept {
  return wire::encode_to(into, *static_cast<const T*>(value));
}

template <class T>
void destroy_at(void* value) noexcept {
  static_cast<T*>(value)->~T();
}

template <class S>
void merge_replies(void* into, const void* from) noexcept {
  using reply = reply_t<S>;
  auto& to = *static_cast<reply*>(into);
  const auto& source = *static_cast<const reply*>(from);
  if constexpr (names_merge<S>) {
    S::merge(to, source);
  } else if constexpr (mergeable<reply>) {
    to.merge(source);
  } else {
    merge_members(to, source);
  }
}

template <class S>
struct thunks {
  using request = request_t<S>;
  using reply = reply_t<S>;

  static S& service(void* s) noexcept { return *static_cast<S*>(s); }
  static request& asked(void* r) noexcept { return *static_cast<request*>(r); }
  static arrival<reply> typed(const raw_arrival& a) noexcept {
    return {a.child, a.rank, static_cast<const reply*>(a.value), a.clean, a.reason};
  }

  static hook_call prepare(void* s, void* r, bcast_context& c) noexcept {
    return hook_call::of("prepare threw", nullptr, [&] { return service(s).prepare(asked(r), c); });
  }
  static hook_call on_bulk(void* s, const bulk_chunk& chunk, bcast_context& c) noexcept {
    return hook_call::of("on_bulk threw", nullptr, [&] { return service(s).on_bulk(chunk, c); });
  }
  static void bulk_failed(void* s, const error& why, bcast_context& c) noexcept {
    service(s).bulk_failed(why, c);
  }
  static hook_call execute(void* s, void* r, void* at, bcast_context& c) noexcept {
    return hook_call::of<keep_value<reply, in_storage<reply>>>(
        "execute threw", at, [&] { return service(s).execute(asked(r), c); });
  }
  /// A hook that throws leaves as much room as there can be.
  static std::size_t capacity_for(const void* r, std::uint32_t nodes) noexcept {
    try {
      return std::min(S::reply_capacity(*static_cast<const request*>(r), nodes), max_reply_bytes);
    } catch (...) {
      return max_reply_bytes;
    }
  }
  static hook_call put_items(void* s, void* r, void* into, bcast_context& c) noexcept {
    return hook_call::of("execute threw", nullptr,
                         [&] { return put_into(service(s), asked(r), c, *static_cast<item_sink*>(into)); });
  }
  /// Keeps the sink alive while the hook runs.
  static task<status> put_into(S& by, request& r, bcast_context& c, item_sink& into) {
    part_sink<item_t<S>> out(into);
    status ended = co_await by.execute(r, c, out);
    co_return ended;
  }
  static hook_call on_reply(void* s, const raw_arrival& a, bcast_context& c) noexcept {
    return hook_call::of("on_reply threw", nullptr, [&] {
      if constexpr (is_task<decltype(service(s).on_reply(typed(a), c))>) {
        return tell(service(s), typed(a), c);
      } else {
        service(s).on_reply(typed(a), c);
      }
    });
  }
  /// Keeps the arrival alive while the hook runs.
  static task<void> tell(S& to, arrival<reply> a, bcast_context& c) { co_await to.on_reply(a, c); }
  static hook_call finish(void* s, void* r, bcast_context& c) noexcept {
    return hook_call::of("finish threw", nullptr,
                         [&] { return service(s).finish(*static_cast<reply*>(r), c); });
  }
  static hook_call members(void* s, std::uint64_t id, std::optional<membership_ptr>* into) noexcept {
    return hook_call::of<keep_value<membership_ptr, in_optional<membership_ptr>>>(
        "members threw", into, [&] { return service(s).members(id); });
  }
  static void replied(void* s, bcast_context& c) noexcept { service(s).replied(c); }
};

template <class S>
consteval nanoseconds processing_bound_of() {
  if constexpr (requires { S::processing_bound; }) {
    return S::processing_bound;
  } else {
    return std::chrono::seconds(10);
  }
}

/// Enters what is done with the replies of a service.
template <class S>
consteval void enter_replies(service_table& t) {
  using reply = reply_t<S>;
  using hooks = thunks<S>;
  t.reply_capacity = static_cast<std::uint32_t>(reply_capacity_of<S>);
  if constexpr (capacity_hook<S>) t.capacity_for = &hooks::capacity_for;
  t.reply_size = sizeof(reply);
  t.decode_reply = &decode_at<reply>;
  t.encode_reply = &encode_from<reply>;
  t.destroy_reply = &destroy_at<reply>;
  t.merge = &merge_replies<S>;
  t.execute = {&hooks::execute, !executes_plainly<S>};
  if constexpr (names_on_reply<S>) {
    t.on_reply = {&hooks::on_reply,
                  is_task<decltype(std::declval<S&>().on_reply(std::declval<const arrival<reply>&>(),
                                                               std::declval<bcast_context&>()))>};
  }
  if constexpr (names_finish<S>) {
    t.finish = {
        &hooks::finish,
        is_task<decltype(std::declval<S&>().finish(std::declval<reply&>(), std::declval<bcast_context&>()))>};
  }
}

template <class S>
consteval service_table make_service_table() {
  using request = request_t<S>;
  service_table t{};
  t.id = S::id;
  t.version = version_of<S>;
  t.name = name_of<S>;
  t.processing_bound = processing_bound_of<S>();
  t.request_size = sizeof(request);
  t.short_execute = short_execute_of<S>;
  t.bulk_window = bulk_window_of<S>;
  t.decode_request = &decode_at<request>;
  t.encode_request = &encode_from<request>;
  t.destroy_request = &destroy_at<request>;
  using hooks = thunks<S>;
  if constexpr (streams<S>) {
    t.streams = true;
    t.execute = {&hooks::put_items, true};
  } else {
    enter_replies<S>(t);
  }
  if constexpr (names_prepare<S>) {
    t.prepare = {&hooks::prepare, is_task<decltype(std::declval<S&>().prepare(
                                      std::declval<request&>(), std::declval<bcast_context&>()))>};
  }
  if constexpr (names_on_bulk<S>) {
    t.on_bulk = {&hooks::on_bulk, is_task<decltype(std::declval<S&>().on_bulk(
                                      std::declval<const bulk_chunk&>(), std::declval<bcast_context&>()))>};
  }
  if constexpr (names_bulk_failed<S>) t.bulk_failed = &hooks::bulk_failed;
  if constexpr (names_replied<S>) t.replied = &hooks::replied;
  if constexpr (names_members<S>) {
    t.members = {&hooks::members, is_task<decltype(std::declval<S&>().members(std::uint64_t{}))>};
  }
  return t;
}

template <collective_service S>
inline constexpr service_table table_of = make_service_table<S>();

}  // namespace scoll::detail
