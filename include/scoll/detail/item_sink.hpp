#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/event.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/waiter.hpp"
#include "transport/io/buffer.hpp"

namespace scoll::transport {
class endpoint;
}

namespace scoll::detail {

class operation;

/// The items that one member puts into its reply and that have not left yet: at most one part of a reply. A
/// `put` that finds no room waits until the part has left.
class item_sink {
 public:
  using encode_function = result<std::size_t> (*)(const void* item, std::span<std::byte> into) noexcept;
  using reason_function = error (*)(const operation& of) noexcept;

  /// `co_await` of one `put`. The item must stay until the await has ended.
  class [[nodiscard]] put_awaiter : protected waiter {
   public:
    put_awaiter(item_sink& into, const void* item, encode_function encode) noexcept
        : waiter(into.over_), sink_(&into), item_(item), encode_(encode) {}
    bool await_ready() noexcept { return stopped_before() || sink_->offer(*this); }
    void await_suspend(std::coroutine_handle<> handle) noexcept { wait_in(sink_->waiting_, handle); }
    status await_resume() const noexcept { return code_ == errc::ok ? outcome_ : status(sink_->why_over()); }

   private:
    friend class item_sink;

    item_sink* sink_;
    const void* item_;
    encode_function encode_;
    status outcome_;
  };

  /// `progress` is set with each item, and `over` ends all waits, for the reason that `why` gives.
  item_sink(transport::endpoint& wire, event& progress, stop_token over, const operation& of,
            reason_function why) noexcept
      : wire_(wire), progress_(progress), over_(over), of_(of), why_(why) {}

  /// True if nothing has been put since `take`.
  bool empty() const noexcept { return count_ == 0; }
  /// True if a `put` waits.
  bool is_full() const noexcept { return !waiting_.empty(); }
  /// Takes what has been put since the last call, as a run of items of a member. `last`: nothing follows. The
  /// bytes are valid as long as the sink if they have no owner.
  transport::buffer_view take(std::uint32_t relative, bool last) noexcept;
  /// Lets those put that have waited, as far as there is room again.
  void refill() noexcept;
  /// Takes nothing more.
  void close() noexcept;

 private:
  error why_over() const noexcept { return why_(of_); }
  bool offer(put_awaiter& by) noexcept;
  bool try_take(put_awaiter& by) noexcept;

  transport::endpoint& wire_;
  event& progress_;
  stop_token over_;
  const operation& of_;
  reason_function why_;
  wait_list waiting_;
  transport::buffer_ref buffer_;
  std::array<std::byte, 32> head_alone_{};  // a last run without items
  std::size_t used_ = 0;
  std::uint64_t first_ = 0;
  std::uint32_t count_ = 0;
  bool closed_ = false;
};

}  // namespace scoll::detail
