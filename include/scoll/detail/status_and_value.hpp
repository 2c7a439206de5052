#pragma once

#include <optional>
#include <utility>

#include "scoll/coro/error.hpp"
#include "scoll/coro/result.hpp"

namespace scoll::detail {

/// A status, and a value that may be there although the status is an error.
template <class T>
class status_and_value {
 public:
  /// True if the status is no error.
  bool ok() const noexcept { return status_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const scoll::status& status() const noexcept { return status_; }
  /// The reason why this is not `ok()`; empty if it is.
  const scoll::error& error() const noexcept { return status_.error(); }

  /// True if there is a value, complete or not: test `ok()` where only a complete one counts.
  bool has_value() const noexcept { return value_.has_value(); }
  /// The value. If there is none, `value` throws `failure` with `error()`. The operators require
  /// `has_value()`.
  T& value() & { return checked(*this); }
  const T& value() const& { return checked(*this); }
  T&& value() && { return std::move(checked(*this)); }
  T& operator*() & noexcept { return get(*this); }
  const T& operator*() const& noexcept { return get(*this); }
  T&& operator*() && noexcept { return std::move(get(*this)); }
  T* operator->() noexcept { return &get(*this); }
  const T* operator->() const noexcept { return &get(*this); }

  /// States that success or failure makes no difference to the caller.
  void ignore() const noexcept {}

 protected:
  status_and_value(scoll::status s, std::optional<T> value) : status_(s), value_(std::move(value)) {}

 private:
  template <class Self>
  static auto& get(Self& self) noexcept {
    if (!self.value_) [[unlikely]]
      no_value(self.error());
    return *self.value_;
  }
  template <class Self>
  static auto& checked(Self& self) {
    if (!self.value_) throw failure(self.error());
    return *self.value_;
  }

  scoll::status status_;
  std::optional<T> value_;
};

}  // namespace scoll::detail
