#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

/// One call on the side that serves it. Its memory, with argument and task, comes from the frame pool as one
/// block.
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

  /// Constructs the argument from bytes, into which it may point afterwards.
  virtual status decode(std::span<const std::byte> bytes) noexcept = 0;
  virtual void destroy() noexcept = 0;

  void admit(transport::request_view& request, const ship_head& head, ship_peer& from,
             std::size_t large) noexcept;
  /// Its turn comes in a later step.
  void run_later() noexcept;
  /// Fetches the argument first, which was checked to be within bounds.
  task<void> pull(transport::region_descriptor argument);

  void on_caller_cancelled() noexcept;
  void on_caller_lost() noexcept;
  /// Nobody waits any more, or should: the stop token fires.
  void abort() noexcept;
  /// Answers in the handler's place, which has not returned.
  void answer_early(const error& why) noexcept;

  std::string_view name() const noexcept;
  bool running() const noexcept { return began_ && !returned_; }
  node_id caller() const noexcept { return caller_; }
  /// What the argument points into.
  void keep(transport::buffer_view bytes) noexcept { argument_bytes_ = std::move(bytes); }
  std::span<const std::byte> kept() const noexcept { return argument_bytes_.bytes; }

 protected:
  virtual ~server_call();

  /// Calls the handler, which keeps its result here.
  virtual hook_call call_handler(call_context& call) noexcept = 0;
  /// Writes the result; one that does not fit says how large it is.
  virtual result<std::size_t> encode(std::span<std::byte> into) noexcept = 0;
  virtual std::size_t result_size() const noexcept = 0;

 private:
  friend class scoll::call_context;

  static void on_turn(ready_node& self) noexcept;
  static void on_time(timer_node& self) noexcept;
  static std::coroutine_handle<> on_returned(task_listener& self) noexcept;

  void acknowledge() noexcept;
  void run() noexcept;
  /// True if it has returned.
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
  hook_call work_;                                    // of the handler
  transport::buffer_view argument_bytes_;             // if the argument points into them
  byte_buffer large_;                                 // a large argument, later a large result
  std::size_t large_held_ = 0;                        // of the shipper's memory for such
  std::unique_ptr<transport::memory_region> region_;  // of a large result
  stop_source stop_;
  time_point expires_ = never;
  node_id caller_ = 0;
  std::uint64_t caller_incarnation_ = 0;
  std::uint32_t reply_capacity_ = 0;
  bool notification_ = false;
  bool gone_ = false;  // the caller waits no longer
  bool began_ = false;
  bool returned_ = false;
  bool pulling_ = false;
  bool holding_ = false;  // a large result, until it has been fetched
};

}  // namespace scoll::detail
