#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "scoll/collective/options.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/coro/assert.hpp"
#include "scoll/coro/ready_node.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/detail/any_group.hpp"

namespace scoll::detail {

struct service_table;

/// Whoever waits for the next item of a gather. `advance` takes items until one is good, and returns false if
/// it needs more of them for that.
class item_waiter {
 public:
  explicit item_waiter(bool (*advance)(item_waiter&) noexcept) noexcept : advance_(advance) {}
  item_waiter(const item_waiter&) = delete;
  item_waiter& operator=(const item_waiter&) = delete;

 protected:
  ~item_waiter() { SCOLL_ASSERT(!waiting_, "a coroutine was destroyed while it was waiting for an item"); }

 private:
  friend class item_gather;

  bool (*advance_)(item_waiter&) noexcept;
  coroutine_node wake_;
  bool waiting_ = false;
};

/// A broadcast whose members stream their replies, for whoever reads them.
class item_reader {
 public:
  /// An item as it came. The bytes stay until the next one is taken.
  struct raw_item {
    std::uint32_t rank = 0;
    std::span<const std::byte> bytes;
  };

  virtual ~item_reader() = default;

  /// The next item, if one has come.
  virtual std::optional<raw_item> take() = 0;
  /// True if the broadcast has ended and all items have been taken.
  virtual bool is_over() const noexcept = 0;
  virtual void wait(item_waiter& who, std::coroutine_handle<> handle) noexcept = 0;
  /// Items of a member are of no use. It has executed then, and nothing more, and further items of it are
  /// dropped.
  virtual void lose(std::uint32_t rank, const error& why) = 0;
  /// Ends the broadcast, if it still runs.
  virtual void end_early() noexcept = 0;
  /// Nobody reads any more.
  virtual void give_up() noexcept = 0;

  // Once it is over:
  virtual const status& how() const noexcept = 0;
  virtual const outcome& account() const noexcept = 0;
};

/// Begins such a broadcast, which refers to nothing of the caller's then.
std::shared_ptr<item_reader> begin_gather(const any_group& to, const service_table& table,
                                          const void* request, const bcast_options& options);

}  // namespace scoll::detail
