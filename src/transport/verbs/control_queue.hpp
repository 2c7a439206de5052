#pragma once

#include "scoll/coro/intrusive_list.hpp"

namespace scoll::transport::verbs {

/// Work that may block. It belongs to the object that waits, which must stay until `on_done`.
class control_job : public list_hook<control_job> {
 public:
  /// Does the work, on a thread of its own: it may use only what nobody else uses meanwhile.
  virtual void perform() noexcept = 0;
  /// The work is done; called on the executor.
  virtual void on_done() noexcept = 0;

 protected:
  ~control_job() = default;
};

/// Performs jobs one after the other.
class control_queue {
 public:
  virtual void submit(control_job& job) noexcept = 0;
  /// Blocks until a job that was submitted has been performed, which happens at once, before those that wait.
  /// Its `on_done` comes in a later step, as ever.
  virtual void finish(control_job& job) noexcept = 0;

 protected:
  ~control_queue() = default;
};

}  // namespace scoll::transport::verbs
