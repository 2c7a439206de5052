#pragma once

#include <chrono>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>

#include "scoll/collective/service.hpp"
#include "scoll/coro/caught.hpp"

namespace scoll::detail {

/// An untyped `arrival`.
struct raw_arrival {
  std::uint32_t child;
  std::uint32_t rank;
  const void* value;
  bool clean;
  error reason;
};

/// A service as the engine sees it: functions over bytes and aligned storage. Null where the service has no
/// such hook; of the pairs (`x`, `x_now`) at most one is set, the latter for hooks that are plain functions.
struct service_table {
  service_id id;
  std::uint16_t version;
  std::string_view name;
  std::uint32_t reply_capacity;
  nanoseconds processing_bound;
  std::size_t request_size;
  std::size_t reply_size;
  bool short_execute;  // execute takes less than a message does

  status (*decode_request)(void* at, std::span<const std::byte> bytes) noexcept;  // constructs at `at` if ok
  result<std::size_t> (*encode_request)(const void* request, std::span<std::byte> into) noexcept;
  void (*destroy_request)(void* request) noexcept;
  status (*decode_reply)(void* at, std::span<const std::byte> bytes) noexcept;
  result<std::size_t> (*encode_reply)(const void* reply, std::span<std::byte> into) noexcept;
  void (*destroy_reply)(void* reply) noexcept;
  void (*merge)(void* into, const void* from) noexcept;

  task<status> (*prepare)(void* service, void* request, bcast_context& c);
  status (*prepare_now)(void* service, void* request, bcast_context& c) noexcept;
  task<status> (*execute)(void* service, void* request, void* reply,
                          bcast_context& c);  // constructs `reply` if ok
  status (*execute_now)(void* service, void* request, void* reply, bcast_context& c) noexcept;
  task<status> (*on_reply)(void* service, const raw_arrival& a, bcast_context& c);
  status (*on_reply_now)(void* service, const raw_arrival& a, bcast_context& c) noexcept;
  task<status> (*finish)(void* service, void* reply, bcast_context& c);
  status (*finish_now)(void* service, void* reply, bcast_context& c) noexcept;
  void (*replied)(void* service, bcast_context& c) noexcept;
};

template <class T>
status decode_at(void* at, std::span<const std::byte> bytes) noexcept {
  try {
    auto* value = new (at) T{};
    wire::reader in(bytes);
    wire::decode(in, *value);
    if (in.ok()) in.finish();
    if (in.ok()) return {};
    value->~T();
    return in.error();
  } catch (const std::bad_alloc&) {
    return error(errc::busy, "no memory to decode into");
  }
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

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

/// Turns what `execute` returned into a status, putting the reply, if there is one, in place.
template <class S, class R>
status place_reply(void* at, R&& returned) {
  using reply = reply_t<S>;
  using returned_type = std::remove_cvref_t<R>;
  if constexpr (std::same_as<returned_type, result<reply>>) {
    if (!returned) return returned.error();
    new (at) reply(std::move(*returned));
    return {};
  } else if constexpr (std::same_as<returned_type, reply>) {
    new (at) reply(std::forward<R>(returned));
    return {};
  } else {
    if (returned) new (at) reply{};
    return returned;
  }
}

template <class S>
struct thunks {
  using request = request_t<S>;
  using reply = reply_t<S>;

  static S& service(void* s) noexcept { return *static_cast<S*>(s); }
  static request& asked(void* r) noexcept { return *static_cast<request*>(r); }

  static task<status> prepare(void* s, void* r, bcast_context& c) {
    status outcome;
    try {
      outcome = co_await service(s).prepare(asked(r), c);
    } catch (...) {
      outcome = caught("prepare threw");
    }
    co_return outcome;
  }
  static status prepare_now(void* s, void* r, bcast_context& c) noexcept {
    try {
      if constexpr (std::is_void_v<decltype(service(s).prepare(asked(r), c))>) {
        service(s).prepare(asked(r), c);
        return {};
      } else {
        return service(s).prepare(asked(r), c);
      }
    } catch (...) {
      return caught("prepare threw");
    }
  }
  static task<status> execute(void* s, void* r, void* at, bcast_context& c) {
    status outcome;
    try {
      auto returned = co_await service(s).execute(asked(r), c);
      outcome = place_reply<S>(at, std::move(returned));
    } catch (...) {
      outcome = caught("execute threw");
    }
    co_return outcome;
  }
  static status execute_now(void* s, void* r, void* at, bcast_context& c) noexcept {
    try {
      if constexpr (std::is_void_v<decltype(service(s).execute(asked(r), c))>) {
        service(s).execute(asked(r), c);
        return place_reply<S>(at, status{});
      } else {
        return place_reply<S>(at, service(s).execute(asked(r), c));
      }
    } catch (...) {
      return caught("execute threw");
    }
  }
  static arrival<reply> typed(const raw_arrival& a) noexcept {
    return {a.child, a.rank, static_cast<const reply*>(a.value), a.clean, a.reason};
  }
  static task<status> on_reply(void* s, const raw_arrival& a, bcast_context& c) {
    const arrival<reply> typed_arrival = typed(a);
    status outcome;
    try {
      co_await service(s).on_reply(typed_arrival, c);
    } catch (...) {
      outcome = caught("on_reply threw");
    }
    co_return outcome;
  }
  static status on_reply_now(void* s, const raw_arrival& a, bcast_context& c) noexcept {
    try {
      service(s).on_reply(typed(a), c);
      return {};
    } catch (...) {
      return caught("on_reply threw");
    }
  }
  static task<status> finish(void* s, void* r, bcast_context& c) {
    status outcome;
    try {
      outcome = co_await service(s).finish(*static_cast<reply*>(r), c);
    } catch (...) {
      outcome = caught("finish threw");
    }
    co_return outcome;
  }
  static status finish_now(void* s, void* r, bcast_context& c) noexcept {
    try {
      if constexpr (std::is_void_v<decltype(service(s).finish(*static_cast<reply*>(r), c))>) {
        service(s).finish(*static_cast<reply*>(r), c);
        return {};
      } else {
        return service(s).finish(*static_cast<reply*>(r), c);
      }
    } catch (...) {
      return caught("finish threw");
    }
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

template <class S>
consteval service_table make_service_table() {
  using request = request_t<S>;
  using reply = reply_t<S>;
  service_table t{};
  t.id = S::id;
  t.version = version_of<S>;
  t.name = name_of<S>;
  t.reply_capacity = static_cast<std::uint32_t>(reply_capacity_of<S>);
  t.processing_bound = processing_bound_of<S>();
  t.request_size = sizeof(request);
  t.reply_size = sizeof(reply);
  t.short_execute = short_execute_of<S>;
  t.decode_request = &decode_at<request>;
  t.encode_request = &encode_from<request>;
  t.destroy_request = &destroy_at<request>;
  t.decode_reply = &decode_at<reply>;
  t.encode_reply = &encode_from<reply>;
  t.destroy_reply = &destroy_at<reply>;
  t.merge = &merge_replies<S>;
  using hooks = thunks<S>;
  if constexpr (names_prepare<S>) {
    if constexpr (is_task<decltype(std::declval<S&>().prepare(std::declval<request&>(),
                                                              std::declval<bcast_context&>()))>) {
      t.prepare = &hooks::prepare;
    } else {
      t.prepare_now = &hooks::prepare_now;
    }
  }
  if constexpr (is_task<decltype(std::declval<S&>().execute(std::declval<request&>(),
                                                            std::declval<bcast_context&>()))>) {
    t.execute = &hooks::execute;
  } else {
    t.execute_now = &hooks::execute_now;
  }
  if constexpr (names_on_reply<S>) {
    if constexpr (is_task<decltype(std::declval<S&>().on_reply(std::declval<const arrival<reply>&>(),
                                                               std::declval<bcast_context&>()))>) {
      t.on_reply = &hooks::on_reply;
    } else {
      t.on_reply_now = &hooks::on_reply_now;
    }
  }
  if constexpr (names_finish<S>) {
    if constexpr (is_task<decltype(std::declval<S&>().finish(std::declval<reply&>(),
                                                             std::declval<bcast_context&>()))>) {
      t.finish = &hooks::finish;
    } else {
      t.finish_now = &hooks::finish_now;
    }
  }
  if constexpr (names_replied<S>) t.replied = &hooks::replied;
  return t;
}

template <collective_service S>
inline constexpr service_table table_of = make_service_table<S>();

}  // namespace scoll::detail
