#include "scoll/coro/worker_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/timer.hpp"

namespace scoll {
namespace detail {

/// Suspends until every function has returned, or until a point in time.
class pool_drain final : private posted_node, private timer_node {
 public:
  pool_drain(pool_state& pool, nanoseconds limit) noexcept
      : posted_node(&arrived), timer_node(&expired), pool_(pool), limit_(limit) {}
  ~pool_drain() = default;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) noexcept;
  void await_resume() const noexcept {}

  /// Called by a worker.
  void post() noexcept { home_->post(*this); }

 private:
  static void arrived(posted_node& self) noexcept {
    auto& drain = static_cast<pool_drain&>(self);
    drain.home_->disarm(drain);
    drain.home_->schedule(drain.node_);
  }
  static void expired(timer_node& self) noexcept;

  pool_state& pool_;
  nanoseconds limit_;
  executor* home_ = nullptr;
  coroutine_node node_;
};

/// The state that the pool, its threads and its awaiters share; a detached thread keeps it alive. A result is
/// posted to its waiter under the mutex, so that exactly one of worker, token and shutdown decides how a job
/// ends.
class pool_state {
 public:
  explicit pool_state(const worker_pool_options& options)
      : queue_limit_(options.queued), running_(options.threads) {}

  std::size_t queue_limit() const noexcept { return queue_limit_; }

  errc submit(pool_waiter& waiter) noexcept {
    const std::scoped_lock lock(mutex_);
    if (closing_) return errc::closed;
    if (queued_ == queue_limit_) return errc::busy;
    waiter.job_->waiter = &waiter;
    queue_.push_back(*waiter.job_);
    ++queued_;
    wake_.notify_one();
    return errc::ok;
  }

  /// Returns true if the job had not begun and now never will. Otherwise it tells the function.
  bool cancel(pool_waiter& waiter) noexcept {
    const std::scoped_lock lock(mutex_);
    if (!waiter.job_) return false;
    waiter.job_->flag.request();
    if (!waiter.job_->linked()) return false;
    waiter.job_->unlink();
    --queued_;
    return true;
  }

  /// Runs one thread.
  void work(std::size_t index) noexcept {
    std::unique_lock lock(mutex_);
    while (pool_job* const job = next(lock)) {
      running_[index] = job;
      lock.unlock();
      job->execute();
      lock.lock();
      running_[index] = nullptr;
      if (job->waiter == nullptr) {
        lock.unlock();
        delete job;
        return;
      }
      job->waiter->home_->post(*job->waiter);
      if (--busy_ == 0 && drain_ != nullptr) std::exchange(drain_, nullptr)->post();
    }
  }

  /// Lets no more functions begin, and asks the running ones to stop.
  void close() noexcept {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    while (!queue_.empty()) refuse(*queue_.pop_front().waiter);
    queued_ = 0;
    for (pool_job* const job : running_) {
      if (job != nullptr) job->flag.request();
    }
    wake_.notify_all();
  }

  /// Leaves the running jobs to their threads. Returns their names, by index of the thread, with null for
  /// idle threads.
  std::vector<const char*> abandon() {
    std::vector<const char*> names(running_.size(), nullptr);
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (running_[i] == nullptr || running_[i]->waiter == nullptr) continue;
      names[i] = running_[i]->name;
      pool_waiter& waiter = *std::exchange(running_[i]->waiter, nullptr);
      (void)waiter.job_.release();
      refuse(waiter);
    }
    return names;
  }

  /// Returns false if no function runs.
  bool expect_drain(pool_drain& drain) noexcept {
    const std::scoped_lock lock(mutex_);
    if (busy_ == 0) return false;
    drain_ = &drain;
    return true;
  }
  /// Returns false if the end of the last function has been posted.
  bool forget_drain() noexcept {
    const std::scoped_lock lock(mutex_);
    return std::exchange(drain_, nullptr) != nullptr;
  }

 private:
  pool_job* next(std::unique_lock<std::mutex>& lock) noexcept {
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return nullptr;
    --queued_;
    ++busy_;
    return &queue_.pop_front();
  }
  static void refuse(pool_waiter& waiter) noexcept {
    waiter.code_ = errc::closed;
    waiter.home_->post(waiter);
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  intrusive_list<pool_job> queue_;
  std::size_t queued_ = 0;
  std::size_t queue_limit_;
  std::vector<pool_job*> running_;  // one for each thread
  std::size_t busy_ = 0;
  bool closing_ = false;
  pool_drain* drain_ = nullptr;
};

bool pool_drain::await_suspend(std::coroutine_handle<> handle) noexcept {
  node_.set(handle);
  home_ = &executor::current();
  if (!pool_.expect_drain(*this)) return false;
  home_->arm(*this, saturating_add(home_->now(), limit_));
  return true;
}

void pool_drain::expired(timer_node& self) noexcept {
  auto& drain = static_cast<pool_drain&>(self);
  if (drain.pool_.forget_drain()) drain.home_->schedule(drain.node_);
}

pool_waiter::pool_waiter(std::shared_ptr<pool_state> pool, std::unique_ptr<pool_job> job,
                         stop_token token) noexcept
    : posted_node(&arrived),
      job_(std::move(job)),
      pool_(std::move(pool)),
      token_(token),
      stop_(&stopped, this) {}

bool pool_waiter::await_ready() noexcept {
  if (token_.stop_requested()) code_ = errc::cancelled;
  return code_ != errc::ok;
}

bool pool_waiter::await_suspend(std::coroutine_handle<> handle) noexcept {
  node_.set(handle);
  home_ = &executor::current();
  // From here on other threads may write the code. It is written here only if they do not know this waiter.
  if (const errc refused = pool_->submit(*this); refused != errc::ok) {
    code_ = refused;
    return false;
  }
  stop_.connect(token_);
  return true;
}

error pool_waiter::refusal() const noexcept {
  if (code_ != errc::busy) return code_;
  return make_error(errc::busy, "the queue of the worker pool is full: node.worker_queue is {}",
                    pool_->queue_limit());
}

void pool_waiter::stopped(void* self) noexcept {
  auto& waiter = *static_cast<pool_waiter*>(self);
  if (!waiter.pool_->cancel(waiter)) return;
  waiter.code_ = errc::cancelled;
  waiter.home_->schedule(waiter.node_);
}

void pool_waiter::arrived(posted_node& self) noexcept {
  auto& waiter = static_cast<pool_waiter&>(self);
  waiter.stop_.disconnect();
  waiter.home_->schedule(waiter.node_);
}

}  // namespace detail

worker_pool::worker_pool(worker_pool_options options) {
  options.threads = std::max<std::size_t>(options.threads, 1);
  options.queued = std::max<std::size_t>(options.queued, 1);
  state_ = std::make_shared<detail::pool_state>(options);
  threads_.reserve(options.threads);
  try {
    for (std::size_t i = 0; i < options.threads; ++i) {
      threads_.emplace_back([state = state_, i] { state->work(i); });
    }
  } catch (...) {
    state_->close();
    throw;
  }
}

worker_pool::~worker_pool() {
  state_->close();
  abandon();
}

std::vector<const char*> worker_pool::abandon() {
  if (threads_.empty()) return {};
  std::vector<const char*> names = state_->abandon();
  // A thread without a function is about to end; a thread with a function may never end.
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (names[i] != nullptr) threads_[i].detach();
  }
  threads_.clear();
  std::erase(names, nullptr);
  return names;
}

task<std::vector<const char*>> worker_pool::shutdown(nanoseconds limit) {
  state_->close();
  detail::pool_drain drain(*state_, limit);
  co_await drain;
  co_return abandon();
}

}  // namespace scoll
