#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/byte_buffer.hpp"
#include "scoll/detail/hook_call.hpp"
#include "scoll/detail/ship_head.hpp"
#include "scoll/ship/context.hpp"
#include "scoll/ship/remote_function.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::transport {
class request_view;
}

namespace scoll::detail {

class shipper;
struct ship_peer;
struct served_function;

/// One call on the side that serves it. Its memory, including argument and task, is one block from the frame
/// pool.
///
/// ```text
///   admitted ─► (pulls its argument) ─► handler runs ─► answered ──────────────────► retired
///       │ caller gone     │ fails            │             └► holds a large result ─► ▲
///       └─────────────────┴──────────────────┼────────────────────────────────────────┘
///                                            └ time, cancel, loss: the stop token fires, it runs on
/// ```
class server_call : public transport::incoming,
                    public list_hook<server_call>,
                    private ready_node,
                    private timer_node,
                    private task_listener {
 public:
  server_call(shipper& by, served_function& of) noexcept;
  server_call(const server_call&) = delete;
  server_call& operator=(const server_call&) = delete;

  /// Constructs the argument from bytes. It may point into them afterwards.
  virtual status decode(std::span<const std::byte> bytes) noexcept = 0;
  virtual void destroy() noexcept = 0;

  void admit(transport::request_view& request, const ship_head& head, ship_peer& from,
             std::size_t large) noexcept;
  /// Starts the handler in a later step.
  void run_later() noexcept;
  /// Fetches a large argument first. The caller has checked that its size is within bounds.
  task<void> pull(transport::region_descriptor argument);

  void on_caller_cancelled() noexcept;
  void on_caller_lost() noexcept;
  /// Fires the stop token, because the result is not wanted any more or the node shuts down.
  void abort() noexcept;
  /// Answers instead of a handler that has not returned.
  void answer_early(const error& why) noexcept;

  std::string_view name() const noexcept;
  bool running() const noexcept { return began_ && !returned_; }
  /// True from the return of the handler until its large result has been fetched.
  bool holding() const noexcept { return holding_; }
  /// When the handler began; meaningful once it has.
  time_point begun_at() const noexcept { return begun_at_; }
  node_id caller() const noexcept { return caller_; }
  /// Keeps the bytes that the argument points into.
  void keep(transport::buffer_view bytes) noexcept { argument_bytes_ = std::move(bytes); }
  std::span<const std::byte> kept() const noexcept { return argument_bytes_.bytes; }

 protected:
  virtual ~server_call();

  /// Calls the handler and keeps its result in this object.
  virtual hook_call call_handler(call_context& call) noexcept = 0;
  /// Writes the result. If it does not fit, the return value says how large it is.
  virtual result<std::size_t> encode(std::span<std::byte> into) noexcept = 0;
  virtual std::size_t result_size() const noexcept = 0;

 private:
  friend class scoll::call_context;

  static void on_turn(ready_node& self) noexcept;
  static void on_time(timer_node& self) noexcept;
  static std::coroutine_handle<> on_returned(task_listener& self) noexcept;

  void acknowledge() noexcept;
  void run() noexcept;
  /// Starts the handler. Returns true if it has returned already.
  bool start() noexcept;
  void returned() noexcept;
  void give_up_before_start(const error& why) noexcept;
  error answer_value(std::size_t most) noexcept;
  error answer_large() noexcept;
  void answer_error(const error& why) noexcept;
  void retire() noexcept;

  shipper& shipper_;
  served_function& function_;
  gate_pass in_function_;
  gate_pass in_node_;
  ship_peer* peer_ = nullptr;
  call_context call_;
  hook_call work_;                                    // the handler's call
  transport::buffer_view argument_bytes_;             // set if the argument points into them
  byte_buffer large_;                                 // a large argument, later a large result
  std::size_t large_held_ = 0;                        // its share of the shipper's memory for large data
  std::unique_ptr<transport::memory_region> region_;  // exposes a large result
  stop_source stop_;
  time_point expires_ = never;
  time_point begun_at_{};
  node_id caller_ = 0;
  std::string caller_name_;
  std::uint64_t caller_incarnation_ = 0;
  std::uint32_t reply_capacity_ = 0;
  bool notification_ = false;
  bool gone_ = false;  // the caller does not wait any more
  bool began_ = false;
  bool returned_ = false;
  bool pulling_ = false;
  bool holding_ = false;  // holds a large result until it has been fetched
};

}  // namespace scoll::detail
