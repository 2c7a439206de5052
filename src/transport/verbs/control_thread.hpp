#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

/// One thread for calls that block: making, connecting and destroying queue pairs, and registering memory. It
/// starts with the first job. Jobs that are done go back to the executor in order.
class control_thread final : public control_queue, private posted_node {
 public:
  explicit control_thread(executor& home) noexcept : posted_node(&arrived), home_(home) {}
  /// No job may be under way.
  ~control_thread();
  control_thread(const control_thread&) = delete;
  control_thread& operator=(const control_thread&) = delete;

  void submit(control_job& job) noexcept override;
  void finish(control_job& job) noexcept override;

 private:
  static void arrived(posted_node& node) noexcept;
  bool start() noexcept;
  void work() noexcept;
  control_job* take() noexcept;
  bool take_back(control_job& job) noexcept;
  void put_done(control_job& job) noexcept;

  executor& home_;
  std::thread thread_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::condition_variable performed_;
  control_job* performing_ = nullptr;
  intrusive_list<control_job, control_job> waiting_;
  intrusive_list<control_job, control_job> done_;
  bool closing_ = false;
};

}  // namespace scoll::transport::verbs
