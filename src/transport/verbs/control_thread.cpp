#include "transport/verbs/control_thread.hpp"

#include <system_error>

namespace scoll::transport::verbs {

control_thread::~control_thread() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

/// If the system gives no thread, the caller does the work: slow, but right.
bool control_thread::start() noexcept {
  try {
    thread_ = std::thread([this] { work(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void control_thread::submit(control_job& job) noexcept {
  const bool threaded = thread_.joinable() || start();
  if (!threaded) {
    job.perform();
    return put_done(job);
  }
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(job);
  }
  wake_.notify_one();
}

void control_thread::work() noexcept {
  while (control_job* const job = take()) {
    job->perform();
    put_done(*job);
  }
}

/// Waits for the next job. Null if there will be none.
control_job* control_thread::take() noexcept {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
  performing_ = waiting_.empty() ? nullptr : &waiting_.pop_front();
  return performing_;
}

void control_thread::put_done(control_job& job) noexcept {
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = done_.empty();
    done_.push_back(job);
    if (performing_ == &job) performing_ = nullptr;
  }
  performed_.notify_all();
  if (first) home_.post(*this);
}

/// The caller does what the thread has not begun.
void control_thread::finish(control_job& job) noexcept {
  if (take_back(job)) {
    job.perform();
    return put_done(job);
  }
  std::unique_lock lock(mutex_);
  performed_.wait(lock, [&] { return performing_ != &job; });
}

bool control_thread::take_back(control_job& job) noexcept {
  const std::scoped_lock lock(mutex_);
  for (control_job* each = waiting_.first(); each != nullptr; each = waiting_.next(*each)) {
    if (each != &job) continue;
    job.unlink();
    return true;
  }
  return false;
}

void control_thread::arrived(posted_node& node) noexcept {
  auto& self = static_cast<control_thread&>(node);
  intrusive_list<control_job, control_job> done;
  {
    const std::scoped_lock lock(self.mutex_);
    done.splice(self.done_);
  }
  while (!done.empty()) done.pop_front().on_done();
}

}  // namespace scoll::transport::verbs
