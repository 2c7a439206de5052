#pragma once

#include <coroutine>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/when_all.hpp"

namespace scoll {
namespace detail {

/// Counts tasks like `task_latch`. When the first one ends, it finds out which task that was and asks the
/// others to stop.
class task_race final : public task_listener {
 public:
  using find_function = std::size_t (*)(const void* tasks) noexcept;

  /// `find_done(tasks)` returns the index of the one task that has ended.
  task_race(stop_source& losers, find_function find_done, const void* tasks) noexcept
      : task_listener(&one_ended), losers_(&losers), find_done_(find_done), tasks_(tasks) {}
  ~task_race() = default;

  template <class T>
  void start(task<T>& t) noexcept {
    ++running_;
    if (task_access::start(t, *this)) return;
    --running_;
    note_end();
  }
  bool wait(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    return --running_ != 0;
  }
  std::size_t winner() const noexcept { return winner_; }

 private:
  void note_end() noexcept {
    if (std::exchange(decided_, true)) return;
    winner_ = find_done_(tasks_);
    losers_->request_stop();
  }
  static std::coroutine_handle<> one_ended(task_listener& self) noexcept {
    auto& race = static_cast<task_race&>(self);
    race.note_end();
    return --race.running_ == 0 ? race.handle_ : std::noop_coroutine();
  }

  stop_source* losers_;
  find_function find_done_;
  const void* tasks_;
  std::size_t running_ = 1;  // 1 for the coroutine that starts them
  std::size_t winner_ = 0;
  bool decided_ = false;
  std::coroutine_handle<> handle_;
};

template <class... Ts>
std::size_t find_done_in_tuple(const void* tasks) noexcept {
  std::size_t index = 0;
  std::apply([&index](const auto&... each) { (void)((task_access::done(each) || (++index, false)) || ...); },
             *static_cast<const std::tuple<task<Ts>...>*>(tasks));
  return index;
}

template <class T>
std::size_t find_done_in_vector(const void* tasks) noexcept {
  const auto& each = *static_cast<const std::vector<task<T>>*>(tasks);
  std::size_t index = 0;
  while (index < each.size() && !task_access::done(each[index])) ++index;
  return index;
}

}  // namespace detail

/// The result of `when_any`: the index of the task that ended first, and the values of all tasks. The losers'
/// values are included (as a rule `cancelled`, if they report by `result`).
template <class Values>
class any_result {
 public:
  any_result(std::size_t winner, Values&& values) noexcept : index(winner), all(std::move(values)) {}

  std::size_t index;
  Values all;
};

/// See `when_any(stop_source&, task<Ts>...)`.
template <class... Ts>
class [[nodiscard]] when_any_tasks {
 public:
  using values = std::tuple<detail::value_or_monostate<Ts>...>;

  explicit when_any_tasks(stop_source& losers, task<Ts>&&... tasks) noexcept
      : tasks_(std::move(tasks)...), race_(losers, &detail::find_done_in_tuple<Ts...>, &tasks_) {}
  when_any_tasks(const when_any_tasks&) = delete;
  when_any_tasks& operator=(const when_any_tasks&) = delete;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) noexcept {
    std::apply([this](auto&... each) { (race_.start(each), ...); }, tasks_);
    return race_.wait(handle);
  }
  any_result<values> await_resume() {
    return {race_.winner(),
            std::apply([](auto&... each) { return values{detail::take_value(each)...}; }, tasks_)};
  }

 private:
  std::tuple<task<Ts>...> tasks_;
  detail::task_race race_;
};

/// Runs all tasks concurrently, started in order. The first to end wins; then `losers` is asked to stop, so
/// the tasks should have been given its token. It returns only when ALL tasks have ended: it waits even for a
/// loser that ignores its token. If one wins before the others have started, they start all the same, with a
/// token that has fired. If some threw, it throws the exception of the first of these in the order of the
/// arguments.
template <class... Ts>
  requires(sizeof...(Ts) > 0)
when_any_tasks<Ts...> when_any(stop_source& losers, task<Ts>... tasks) noexcept {
  return when_any_tasks<Ts...>(losers, std::move(tasks)...);
}

/// See `when_any(stop_source&, std::vector<task<T>>)`.
template <class T>
class [[nodiscard]] when_any_vector {
 public:
  using values = std::vector<detail::value_or_monostate<T>>;

  when_any_vector(stop_source& losers, std::vector<task<T>>&& tasks) noexcept
      : tasks_(std::move(tasks)), race_(losers, &detail::find_done_in_vector<T>, &tasks_) {
    SCOLL_ASSERT(!tasks_.empty(), "when_any needs at least one task");
  }
  when_any_vector(const when_any_vector&) = delete;
  when_any_vector& operator=(const when_any_vector&) = delete;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) noexcept {
    for (task<T>& each : tasks_) race_.start(each);
    return race_.wait(handle);
  }
  any_result<values> await_resume() {
    values all;
    all.reserve(tasks_.size());
    for (task<T>& each : tasks_) all.push_back(detail::take_value(each));
    return {race_.winner(), std::move(all)};
  }

 private:
  std::vector<task<T>> tasks_;
  detail::task_race race_;
};

/// Like `when_any(stop_source&, task<Ts>...)`, for one or more tasks of one type.
template <class T>
when_any_vector<T> when_any(stop_source& losers, std::vector<task<T>> tasks) noexcept {
  return when_any_vector<T>(losers, std::move(tasks));
}

namespace detail {

/// The stop source and the factories of a race. They are made before its tasks and destroyed after them.
template <class... Factories>
class race_setup {
 public:
  race_setup(stop_token parent, const Factories&... make) noexcept
      : parent_(&parent_stopped, this), make_(make...) {
    parent_.connect(parent);
  }

 protected:
  stop_source& losers() noexcept { return losers_; }
  template <std::size_t Index>
  auto make() {
    return std::get<Index>(make_)(losers_.token());
  }

 private:
  static void parent_stopped(void* self) noexcept { static_cast<race_setup*>(self)->losers_.request_stop(); }

  stop_source losers_;
  stop_callback parent_;
  std::tuple<Factories...> make_;
};

template <class Factory>
using made_by = typename std::invoke_result_t<Factory&, stop_token>::value_type;

}  // namespace detail

/// See `when_any(stop_token, Factories...)`.
template <class... Factories>
class [[nodiscard]] when_any_made : private detail::race_setup<Factories...>,
                                    public when_any_tasks<detail::made_by<Factories>...> {
  using setup = detail::race_setup<Factories...>;
  using race = when_any_tasks<detail::made_by<Factories>...>;

 public:
  explicit when_any_made(stop_token parent, const Factories&... make)
      : when_any_made(std::index_sequence_for<Factories...>(), parent, make...) {}

 private:
  template <std::size_t... Indices>
  when_any_made(std::index_sequence<Indices...>, stop_token parent, const Factories&... make)
      : setup(parent, make...), race(setup::losers(), setup::template make<Indices>()...) {}
};

/// Like `when_any(stop_source&, task<Ts>...)`, with a stop source of its own that passes on a stop of
/// `parent`; `make(stop_token)` returns each task. The factories live until all tasks have ended, so that a
/// lambda that is itself a coroutine may capture. They must be trivially copyable, because GCC 12 destroys
/// other temporaries beside a `co_await` twice: capture references.
template <class... Factories>
  requires(sizeof...(Factories) > 0 && (std::is_invocable_v<Factories&, stop_token> && ...))
when_any_made<Factories...> when_any(stop_token parent, Factories... make) {
  static_assert((detail::safe_beside_co_await<Factories> && ...), "capture references, not objects");
  return when_any_made<Factories...>(parent, make...);
}

}  // namespace scoll
