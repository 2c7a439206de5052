#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <string_view>

#include "scoll/collective/bulk_data.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/collective/trace.hpp"
#include "scoll/coro/ready_node.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/any_group.hpp"
#include "scoll/ids.hpp"

namespace scoll::detail {

class item_gather;
struct rest_of_broadcast;
struct service_table;

/// One broadcast of this node, from its construction to its result, whatever its service.
class broadcast {
 public:
  /// Encodes the request; afterwards the broadcast refers to nothing of the caller's.
  broadcast(any_group to, const service_table& table, const void* request, const bcast_options& options);
  broadcast(const broadcast&) = delete;
  broadcast& operator=(const broadcast&) = delete;
  ~broadcast();

  /// Says before the start for which other node it is made.
  void ask_for(node_id caller, std::string_view name) noexcept;
  /// False if the broadcast was refused before anything was sent.
  bool made() const noexcept { return begun_.op != nullptr; }
  /// False if the broadcast was refused, or if its deadline has passed by now. In the second case it is
  /// refused from then on.
  bool ready() noexcept;
  void start(std::coroutine_handle<> waiter);
  /// `co_await` starts it and waits for its end, or for its refusal.
  class awaiter {
   public:
    explicit awaiter(broadcast& of) noexcept : of_(&of) {}
    bool await_ready() const noexcept { return !of_->ready(); }
    void await_suspend(std::coroutine_handle<> waiter) const { of_->start(waiter); }
    void await_resume() const noexcept {}

   private:
    broadcast* of_;
  };
  [[nodiscard]] awaiter ended() noexcept { return awaiter(*this); }
  /// Hands the items to `reader`, which must outlive the end of the broadcast. Call it before the start, for
  /// a service that streams.
  void deliver_to(item_gather& reader) noexcept;
  /// Ends it, because nobody wants it any more.
  void end_early() noexcept;

  // These members may be called once the broadcast has ended or was refused.
  status result_status() const;
  /// The merged reply, which the caller may move from; null if there is none.
  void* value() const noexcept;
  outcome take_outcome();
  /// What becomes of it after its result has been given out; null if its result is given at its end.
  std::shared_ptr<rest_of_broadcast> rest() const;
  /// Its course; null if it is not traced.
  std::shared_ptr<const collective_trace> trace() const;
  /// Its bulk data, as `bcast_result::bulk` says.
  std::optional<bulk_report> bulk() const;

 private:
  task<void> start_when_released(std::coroutine_handle<> waiter);

  any_group group_;
  begun begun_;
  bcast_options options_;
  bool started_ = false;
  coroutine_node refused_;  // wakes the waiter of a broadcast that was held and then refused
};

}  // namespace scoll::detail
