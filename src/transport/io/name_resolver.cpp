#include "transport/io/name_resolver.hpp"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace scoll::transport {

/// What the resolver and its threads use. Each of them keeps it alive, because a thread may be the last.
///
/// From the moment when a wait has its answer until it is called back, its owner cannot end; and a post to
/// the executor is under way only during that time. So a thread never touches an executor that is gone.
struct name_resolver::shared final : posted_node {
  shared(executor& home, resolve_function resolve)
      : posted_node(&deliver), home_(home), resolve_(std::move(resolve)) {}
  ~shared() = default;

  status begin(name_wait& wait, std::string host, const std::shared_ptr<shared>& self);
  bool cancel(name_wait& wait) noexcept;
  void close() noexcept;

 private:
  struct job {
    std::string host;
    intrusive_list<name_wait, name_wait> waits;
    bool running = false;
  };
  using job_list = std::list<job>;

  static void deliver(posted_node& node) noexcept;
  int ensure_thread(const std::shared_ptr<shared>& self);
  void work() noexcept;
  void finish(job& done, const result<address_list>& answer) noexcept;
  job_list::iterator next_job() noexcept { return std::ranges::find(jobs_, false, &job::running); }

  executor& home_;
  const resolve_function resolve_;
  std::vector<std::thread> threads_;  // used by the executor's thread only

  std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  job_list jobs_;
  intrusive_list<name_wait, name_wait> answered_;
  std::size_t idle_ = 0;
  bool closing_ = false;
};

status name_resolver::shared::begin(name_wait& wait, std::string host, const std::shared_ptr<shared>& self) {
  {
    const std::scoped_lock lock(mutex_);
    wait.has_answer_ = false;
    auto same = std::ranges::find(jobs_, host, &job::host);
    if (same != jobs_.end()) {
      same->waits.push_back(wait);
      return {};
    }
    jobs_.emplace_back();
    jobs_.back().host = std::move(host);
    if (const int failed = ensure_thread(self); failed != 0) {
      jobs_.pop_back();
      return error::system(failed, "no thread to resolve a name");
    }
    jobs_.back().waits.push_back(wait);
  }
  wake_.notify_one();
  return {};
}

/// Starts one more thread if none is free. If that fails, the existing threads do the work.
int name_resolver::shared::ensure_thread(const std::shared_ptr<shared>& self) {
  const auto waiting = static_cast<std::size_t>(std::ranges::count(jobs_, false, &job::running));
  if (waiting <= idle_ || threads_.size() == most_threads) return 0;
  try {
    threads_.reserve(most_threads);
    threads_.emplace_back([self] { self->work(); });
    return 0;
  } catch (const std::system_error& no_thread) {
    return threads_.empty() ? no_thread.code().value() : 0;
  }
}

bool name_resolver::shared::cancel(name_wait& wait) noexcept {
  const std::scoped_lock lock(mutex_);
  if (wait.has_answer_) return false;
  wait.unlink();
  std::erase_if(jobs_, [](const job& j) { return !j.running && j.waits.empty(); });
  return true;
}

void name_resolver::shared::work() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return closing_ || next_job() != jobs_.end(); });
    --idle_;
    if (closing_) return;
    const auto mine = next_job();
    mine->running = true;
    lock.unlock();
    const result<address_list> answer = resolve_(mine->host);
    lock.lock();
    finish(*mine, answer);
    jobs_.erase(mine);
  }
}

/// Hands the answer to all that still wait for it. The lock is held.
void name_resolver::shared::finish(job& done, const result<address_list>& answer) noexcept {
  const bool first = answered_.empty();
  while (!done.waits.empty()) {
    name_wait& wait = done.waits.pop_front();
    if (answer) {
      wait.addresses_ = *answer;
    } else {
      wait.addresses_.clear();
      wait.no_address_ = answer.error();
    }
    wait.has_answer_ = true;
    answered_.push_back(wait);
  }
  if (first && !answered_.empty()) home_.post(*this);
}

void name_resolver::shared::deliver(posted_node& node) noexcept {
  auto& self = static_cast<shared&>(node);
  intrusive_list<name_wait, name_wait> answered;
  {
    const std::scoped_lock lock(self.mutex_);
    answered.splice(self.answered_);
  }
  while (!answered.empty()) {
    name_wait& wait = answered.pop_front();
    wait.answered_(wait);
  }
}

/// Waits for idle threads, which end at once, and lets those go that are looking something up.
void name_resolver::shared::close() noexcept {
  bool all_idle = false;
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    all_idle = jobs_.empty();
  }
  wake_.notify_all();
  for (std::thread& t : threads_) all_idle ? t.join() : t.detach();
  threads_.clear();
}

name_resolver::name_resolver(executor& home, resolve_function resolve)
    : shared_(std::make_shared<shared>(home, std::move(resolve))) {}

name_resolver::~name_resolver() {
  shared_->close();
}

status name_resolver::begin(name_wait& wait, std::string host) {
  return shared_->begin(wait, std::move(host), shared_);
}

bool name_resolver::cancel(name_wait& wait) noexcept {
  return shared_->cancel(wait);
}

}  // namespace scoll::transport
