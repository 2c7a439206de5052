#pragma once

#include "scoll/coro/assert.hpp"

namespace scoll {

class stop_source;

namespace detail {

/// A link in a stop source's list. Callbacks may remove themselves or others while the source runs the list.
class stop_callback_base {
 public:
  using function = void (*)(stop_callback_base&) noexcept;
  stop_callback_base(const stop_callback_base&) = delete;
  stop_callback_base& operator=(const stop_callback_base&) = delete;

 protected:
  explicit stop_callback_base(function run) noexcept : run_(run) {}
  ~stop_callback_base() { unlink(); }
  inline void link(stop_source* source) noexcept;
  inline void unlink() noexcept;

 private:
  friend class scoll::stop_source;
  function run_;
  stop_source* source_ = nullptr;
  stop_callback_base* next_ = nullptr;
  stop_callback_base* previous_ = nullptr;
};

}  // namespace detail

/// A view of a `stop_source`: one pointer, copyable. It must not outlive its source. An empty token never
/// fires.
class stop_token {
 public:
  constexpr stop_token() noexcept = default;
  inline bool stop_requested() const noexcept;
  constexpr bool stop_possible() const noexcept { return source_ != nullptr; }

 private:
  friend class stop_source;
  friend class stop_callback;
  constexpr explicit stop_token(stop_source* source) noexcept : source_(source) {}
  stop_source* source_ = nullptr;
};

/// Asks the listeners of its tokens to stop. It is single-threaded and intrusive: unlike `std::stop_source`
/// it does not allocate. It must outlive its tokens and their callbacks. A request is final.
class stop_source {
 public:
  stop_source() noexcept = default;
  ~stop_source() { SCOLL_ASSERT(first_ == nullptr, "a stop source was destroyed before its callbacks"); }
  stop_source(const stop_source&) = delete;
  stop_source& operator=(const stop_source&) = delete;

  stop_token token() noexcept { return stop_token(this); }
  bool stop_requested() const noexcept { return requested_; }

  /// Runs every callback, in order of registration, before it returns. Returns true for the first request
  /// only.
  bool request_stop() noexcept {
    if (requested_) return false;
    requested_ = true;
    while (first_ != nullptr) {
      detail::stop_callback_base& callback = *first_;
      remove(callback);
      callback.run_(callback);
    }
    return true;
  }

 private:
  friend class detail::stop_callback_base;

  void add(detail::stop_callback_base& callback) noexcept {
    callback.source_ = this;
    callback.next_ = nullptr;
    callback.previous_ = last_;
    (last_ ? last_->next_ : first_) = &callback;
    last_ = &callback;
  }
  void remove(detail::stop_callback_base& callback) noexcept {
    (callback.previous_ ? callback.previous_->next_ : first_) = callback.next_;
    (callback.next_ ? callback.next_->previous_ : last_) = callback.previous_;
    callback.source_ = nullptr;
  }

  detail::stop_callback_base* first_ = nullptr;
  detail::stop_callback_base* last_ = nullptr;
  bool requested_ = false;
};

inline bool stop_token::stop_requested() const noexcept {
  return source_ != nullptr && source_->stop_requested();
}

inline void detail::stop_callback_base::link(stop_source* source) noexcept {
  source->add(*this);
}
inline void detail::stop_callback_base::unlink() noexcept {
  if (source_ != nullptr) source_->remove(*this);
}

/// A function and its object, which the token's source calls when it is asked to stop. If it was asked
/// before, `connect` calls the function at once. Destruction and `disconnect` unregister the callback.
class stop_callback : private detail::stop_callback_base {
 public:
  using function = void (*)(void* object) noexcept;

  stop_callback(function run, void* object) noexcept
      : stop_callback_base(&invoke), run_(run), object_(object) {}
  stop_callback(stop_token token, function run, void* object) noexcept : stop_callback(run, object) {
    connect(token);
  }
  ~stop_callback() = default;

  void connect(stop_token token) noexcept {
    if (!token.stop_possible()) return;
    if (token.stop_requested()) {
      run_(object_);
      return;
    }
    link(token.source_);
  }
  void disconnect() noexcept { unlink(); }

 private:
  static void invoke(stop_callback_base& self) noexcept {
    auto& callback = static_cast<stop_callback&>(self);
    callback.run_(callback.object_);
  }

  function run_;
  void* object_;
};

}  // namespace scoll
