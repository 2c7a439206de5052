#include "transport/io/file_workers.hpp"

#include <system_error>

#include "transport/io/file_calls.hpp"

namespace scoll::transport {

int file_workers::submit(detail::io_slot& s) noexcept {
  s.where = detail::io_slot::place::elsewhere;
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(s);
    ++waiting_count_;
    if (const int failed = ensure_thread(); failed != 0) {
      s.unlink();
      --waiting_count_;
      return failed;
    }
  }
  wake_.notify_one();
  return 0;
}

/// Starts one more thread if none is free. If that fails, the existing threads do the work.
int file_workers::ensure_thread() noexcept {
  if (waiting_count_ <= idle_ || threads_.size() == most_threads) return 0;
  try {
    threads_.reserve(most_threads);
    threads_.emplace_back([this] { work(); });
    return 0;
  } catch (const std::system_error& no_thread) {
    return threads_.empty() ? no_thread.code().value() : 0;
  }
}

void file_workers::work() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    --waiting_count_;
    detail::io_slot& s = waiting_.pop_front();
    lock.unlock();
    s.result = call_file(s);
    lock.lock();
    const bool first = done_.empty();
    done_.push_back(s);
    if (!first) continue;
    lock.unlock();
    home_.post(*this);
    lock.lock();
  }
}

void file_workers::arrived(posted_node& node) noexcept {
  auto& self = static_cast<file_workers&>(node);
  intrusive_list<detail::io_slot> done;
  {
    const std::scoped_lock lock(self.mutex_);
    done.splice(self.done_);
  }
  while (!done.empty()) self.returned_(self.owner_, done.pop_front());
}

void file_workers::join() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

}  // namespace scoll::transport
