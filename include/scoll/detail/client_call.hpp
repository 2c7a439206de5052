#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/byte_buffer.hpp"
#include "scoll/detail/group_call.hpp"
#include "scoll/ids.hpp"
#include "scoll/ship/call_limit.hpp"
#include "scoll/ship/options.hpp"
#include "scoll/ship/remote_function.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/session/exchange.hpp"

namespace scoll {
class node;
}

namespace scoll::detail {

class shipper;
struct group_state;

/// One call on the caller's side. It lives in the awaiter, so that a call costs no allocation.
///
/// ```text
///   made, argument encoded ─► (waits for a slot) ──► requested ─► answered ─────────────────► ended
///            │ refused               │ time, stop        │ time, stop, loss   └► fetching ─►  ▲
///            └───────────────────────┴───────────────────┴────────────────────────────────────┘
/// ```
class client_call final : private transport::exchange,
                          private timer_node,
                          private group_call,
                          public list_hook<call_limit>,
                          public list_hook<client_call> {
 public:
  client_call(node& by, node_id to, const function_key& function, bool notification,
              const ship_options& options) noexcept;
  ~client_call();

  /// Encodes the argument; afterwards the call refers to nothing of the caller's.
  template <class In>
  void encode(const In& argument) noexcept;
  /// Declares that the result always has this many bytes.
  void expect_bytes(std::size_t fixed) noexcept { result_bytes_ = fixed; }

  /// Starts the call. Returns false if it has ended already.
  bool begin(std::coroutine_handle<> waiter) noexcept;
  /// Goes on with the call, because its limit has a free slot for it.
  void proceed() noexcept;
  /// Ends the call, because the node shuts down.
  void close(const error& why) noexcept;

  bool failed() const noexcept { return static_cast<bool>(failure_); }
  const error& failure() const noexcept { return failure_; }
  bool may_have_executed() const noexcept { return may_have_executed_; }
  /// The encoded result, once the call has ended without an error.
  std::span<const std::byte> result() const noexcept;

 private:
  friend class scoll::call_limit;

  /// State that only calls with a large argument or result need.
  struct large_part {
    byte_buffer argument;
    transport::memory_region region;
    byte_buffer result;
    stop_source stop;
    bool fetching = false;
  };

  static void on_answer(transport::exchange& self, transport::reply_event& event) noexcept;
  static void on_time(timer_node& self) noexcept;
  static void on_stop(void* self) noexcept;
  static void on_revoke(group_call& self, const error& why) noexcept;

  std::span<std::byte> room_in_message() noexcept;
  std::span<std::byte> room_for(std::size_t size) noexcept;
  void seal(std::size_t size) noexcept;
  status expose(transport::message& m) noexcept;
  std::uint32_t reply_capacity() const noexcept;
  error why_not_through_group() const noexcept;
  status send() noexcept;
  void heard(transport::reply_event& event) noexcept;
  error answered(transport::reply_event& event) noexcept;
  error other_types(transport::reply_event& event) noexcept;
  error fetch(std::span<const std::byte> descriptor) noexcept;
  task<void> pull(transport::region_descriptor from);
  error refusal(const error& said) const noexcept;
  void stop_with(const error& why) noexcept;
  void conclude() noexcept;
  void end() noexcept;

  shipper& shipper_;
  gate_pass in_node_;  // while it is under way
  node_id to_;
  const function_key& function_;
  ship_options options_;
  std::shared_ptr<group_state> within_;
  transport::message* message_ = nullptr;  // holds the argument, until it is handed over
  transport::buffer_ref buffer_;           // for an argument that does not fit into the message
  transport::buffer_view answer_;
  std::unique_ptr<large_part> large_;
  std::size_t result_bytes_ = wire::unbounded;
  error failure_;
  time_point expires_ = never;
  stop_callback stop_;
  coroutine_node wake_;
  bool notification_;
  bool begun_ = false;
  bool placed_ = false;  // true while it holds a slot of its limit
  bool ended_ = false;
  bool may_have_executed_ = false;
};

static_assert(std::is_base_of_v<transport::exchange, client_call>,
              "a shipped call and a hop of a tree are one primitive");

template <class In>
void client_call::encode(const In& argument) noexcept {
  if (failure_) return;
  std::span<std::byte> room = room_in_message();
  wire::writer first(room);
  if (wire::encode(first, argument)) return seal(first.needed());
  if (first.needed() > room.size()) room = room_for(first.needed());
  if (failure_) return;
  wire::writer again(room);
  if (wire::encode(again, argument)) return seal(again.needed());
  failure_ = again.error();
}

}  // namespace scoll::detail
