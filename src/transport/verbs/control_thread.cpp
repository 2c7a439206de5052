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
  if (!threaded) job.perform();
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = !threaded && done_.empty();
    (threaded ? waiting_ : done_).push_back(job);
  }
  if (first) return home_.post(*this);
  wake_.notify_one();
}

void control_thread::work() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    control_job& job = waiting_.pop_front();
    lock.unlock();
    job.perform();
    lock.lock();
    const bool first = done_.empty();
    done_.push_back(job);
    if (!first) continue;
    lock.unlock();
    home_.post(*this);
    lock.lock();
  }
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
