#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error.hpp"

namespace scoll {

template <class T>
class result;

namespace detail {

/// Ends the process with a message that names the error that the result holds instead of a value.
[[noreturn]] void no_value(const error& instead) noexcept;

template <class U>
inline constexpr bool is_result_or_error = std::same_as<U, error> || std::same_as<U, errc>;
template <class U>
inline constexpr bool is_result_or_error<result<U>> = true;

}  // namespace detail

/// Either a `T` or an `error`, because expected failures are values. `value()` throws `failure` if there is
/// no value. `operator*` and `operator->` require a value, and `error()` requires that there is none;
/// otherwise the process ends with a message that names what the result holds instead.
template <class T>
class [[nodiscard]] result {
 public:
  using value_type = T;

  template <class U = T>
    requires(std::constructible_from<T, U &&> && !detail::is_result_or_error<std::remove_cvref_t<U>>)
  constexpr explicit(!std::is_convertible_v<U&&, T>) result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  constexpr result(scoll::error e) noexcept : state_(std::in_place_index<1>, e) {}
  constexpr result(errc code) noexcept : state_(std::in_place_index<1>, scoll::error(code)) {}

  constexpr bool has_value() const noexcept { return state_.index() == 0; }
  constexpr explicit operator bool() const noexcept { return has_value(); }

  constexpr T& operator*() & noexcept { return get(); }
  constexpr const T& operator*() const& noexcept { return get(); }
  constexpr T&& operator*() && noexcept { return std::move(get()); }
  constexpr T* operator->() noexcept { return &get(); }
  constexpr const T* operator->() const noexcept { return &get(); }

  constexpr const scoll::error& error() const noexcept {
    SCOLL_ASSERT(state_.index() == 1, "error() of a result that holds a value");
    return *std::get_if<1>(&state_);
  }

  constexpr T& value() & {
    if (!has_value()) throw failure(error());
    return get();
  }
  constexpr const T& value() const& {
    if (!has_value()) throw failure(error());
    return get();
  }
  constexpr T&& value() && {
    if (!has_value()) throw failure(error());
    return std::move(get());
  }
  template <class U>
  constexpr T value_or(U&& other) const& {
    return has_value() ? get() : static_cast<T>(std::forward<U>(other));
  }

  /// States that success or failure makes no difference to the caller.
  constexpr void ignore() const noexcept {}

 private:
  constexpr T& get() noexcept {
    if (T* const held = std::get_if<0>(&state_)) [[likely]]
      return *held;
    detail::no_value(*std::get_if<1>(&state_));
  }
  constexpr const T& get() const noexcept {
    if (const T* const held = std::get_if<0>(&state_)) [[likely]]
      return *held;
    detail::no_value(*std::get_if<1>(&state_));
  }

  std::variant<T, scoll::error> state_;
};

/// Either success without a value, or an `error`.
template <>
class [[nodiscard]] result<void> {
 public:
  using value_type = void;

  constexpr result() noexcept = default;
  constexpr result(scoll::error e) noexcept : error_(e) {}
  constexpr result(errc code) noexcept : error_(code) {}

  constexpr bool has_value() const noexcept { return !error_; }
  constexpr explicit operator bool() const noexcept { return has_value(); }
  /// The error; empty after a success.
  constexpr const scoll::error& error() const noexcept { return error_; }
  constexpr void value() const {
    if (error_) throw failure(error_);
  }
  /// States that success or failure makes no difference to the caller.
  constexpr void ignore() const noexcept {}

 private:
  scoll::error error_;
};

using status = result<void>;

namespace detail {

template <class T>
struct as_result {
  using type = result<T>;
};
template <class T>
struct as_result<result<T>> {
  using type = result<T>;
};

}  // namespace detail

/// `result<T>`, or `T` itself if it is a result already: the result of an operation that can fail for reasons
/// of its own.
template <class T>
using as_result_t = typename detail::as_result<T>::type;

}  // namespace scoll
