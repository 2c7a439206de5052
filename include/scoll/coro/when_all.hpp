#pragma once

#include <coroutine>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "scoll/coro/task.hpp"

namespace scoll {
namespace detail {

template <class T>
using value_or_monostate = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T>
value_or_monostate<T> take_value(task<T>& t) {
  if constexpr (std::is_void_v<T>) {
    task_access::take(t);
    return {};
  } else {
    return task_access::take(t);
  }
}

/// Counts the tasks that have started and not ended, and resumes a coroutine after the last.
class task_latch final : public task_listener {
 public:
  task_latch() noexcept : task_listener(&one_ended) {}
  ~task_latch() = default;

  template <class T>
  void start(task<T>& t) noexcept {
    ++running_;
    if (!task_access::start(t, *this)) --running_;
  }
  /// Call it after the last `start`. Returns true if `handle` must be suspended; it will be resumed then.
  bool wait(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    return --running_ != 0;
  }

 private:
  static std::coroutine_handle<> one_ended(task_listener& self) noexcept {
    auto& latch = static_cast<task_latch&>(self);
    return --latch.running_ == 0 ? latch.handle_ : std::noop_coroutine();
  }

  std::size_t running_ = 1;  // 1 for the coroutine that starts them
  std::coroutine_handle<> handle_;
};

}  // namespace detail

/// See `when_all(task<Ts>...)`.
template <class... Ts>
class [[nodiscard]] when_all_tasks {
 public:
  using values = std::tuple<detail::value_or_monostate<Ts>...>;

  explicit when_all_tasks(task<Ts>&&... tasks) noexcept : tasks_(std::move(tasks)...) {}
  when_all_tasks(const when_all_tasks&) = delete;
  when_all_tasks& operator=(const when_all_tasks&) = delete;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) noexcept {
    std::apply([this](auto&... each) { (latch_.start(each), ...); }, tasks_);
    return latch_.wait(handle);
  }
  values await_resume() {
    return std::apply([](auto&... each) { return values{detail::take_value(each)...}; }, tasks_);
  }

 private:
  std::tuple<task<Ts>...> tasks_;
  detail::task_latch latch_;
};

/// Runs all tasks concurrently, started in order, and gives their values as a tuple (`std::monostate` for
/// void). It returns when every task has ended. If some threw, it throws the exception of the first of these
/// in the order of the arguments. It allocates nothing.
template <class... Ts>
when_all_tasks<Ts...> when_all(task<Ts>... tasks) noexcept {
  return when_all_tasks<Ts...>(std::move(tasks)...);
}

/// See `when_all(std::vector<task<T>>)`. `Tasks` is a vector, or a span of tasks that live elsewhere.
template <class T, class Tasks>
class [[nodiscard]] when_all_range {
 public:
  explicit when_all_range(Tasks&& tasks) noexcept : tasks_(std::move(tasks)) {}
  when_all_range(const when_all_range&) = delete;
  when_all_range& operator=(const when_all_range&) = delete;

  bool await_ready() const noexcept { return tasks_.empty(); }
  bool await_suspend(std::coroutine_handle<> handle) noexcept {
    for (task<T>& each : tasks_) latch_.start(each);
    return latch_.wait(handle);
  }
  auto await_resume() {
    if constexpr (std::is_void_v<T>) {
      for (task<T>& each : tasks_) detail::task_access::take(each);
    } else {
      std::vector<T> values;
      values.reserve(tasks_.size());
      for (task<T>& each : tasks_) values.push_back(detail::task_access::take(each));
      return values;
    }
  }

 private:
  Tasks tasks_;
  detail::task_latch latch_;
};

/// Like `when_all(task<Ts>...)`, for any number of tasks of one type. It gives a vector of values in the
/// order of the tasks, or nothing for void. With no tasks it completes at once.
template <class T>
when_all_range<T, std::vector<task<T>>> when_all(std::vector<task<T>> tasks) noexcept {
  return when_all_range<T, std::vector<task<T>>>(std::move(tasks));
}

/// Like `when_all(std::vector<task<T>>)`, for tasks that stay where they are, at least until it has returned.
/// Void tasks allocate nothing.
template <class T>
when_all_range<T, std::span<task<T>>> when_all(std::span<task<T>> tasks) noexcept {
  return when_all_range<T, std::span<task<T>>>(std::move(tasks));
}

}  // namespace scoll
