#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>

#include "scoll/collective/item_part.hpp"
#include "scoll/collective/operation/child.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/detail/item_sink.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

class item_gather;
class operation;

/// The items of an operation whose members stream their replies: those of its children and its own, on their
/// way to the parent, or at the root to the reader. A member whose last item has been passed on is merged, and
/// is spoken of no more. Each child may send a few parts; a part that has been passed on allows one more. So
/// whoever reads slowly holds back all the others, and each node keeps a few parts for each child.
class reply_stream {
 public:
  explicit reply_stream(operation& op);
  ~reply_stream();
  reply_stream(const reply_stream&) = delete;
  reply_stream& operator=(const reply_stream&) = delete;

  /// The parts that a node keeps beside those of its children: its own.
  static constexpr std::size_t own_parts = 2;
  /// The bytes that are kept for so many children that may send so many parts each.
  static std::size_t bytes_for(std::size_t children, std::size_t window) noexcept;
  /// The most parts, at least one and at most four, that each child may send if `room` bytes are left.
  static std::uint32_t widest_window(std::size_t children, std::size_t room) noexcept;

  /// Lets each child send so many parts.
  void allow(std::uint32_t window) noexcept { window_ = window; }
  /// Prepares for a child, before it is asked.
  void expect(operation_child& c);
  item_sink& sink() noexcept { return sink_; }
  /// At the root, before the start: hands all items to `reader`.
  void deliver_to(item_gather& reader) noexcept;

  /// A part with items has come from a child. A child whose part is wrong is lost.
  void hear(operation_child& c, const collective_reply_head& head, transport::reply_event& event);
  /// This node's `execute` has returned without an error.
  void own_returned() noexcept { own_ = own_stream::returned; }
  /// Passes on what may leave now.
  void pass_on();
  /// True if all has been passed on, once the own part and the children are settled.
  bool drained() const noexcept { return queue_.empty() && own_ != own_stream::returned; }
  /// Gives up what has not been passed on: these members have executed, and nothing more.
  void close();
  /// The reader needs a part no more that came from this child, or from this node.
  void taken(std::uint32_t child) noexcept;

 private:
  enum class own_stream : std::uint8_t { open, returned, ended };

  static error why_over(const operation& op) noexcept;
  status read(operation_child& c, const collective_reply_head& head, item_part& into);
  status take_over(operation_child& c, std::span<const std::byte> bytes, item_part& into);
  bool may_leave() const noexcept;
  void queue_own();
  void release(const item_part& part) noexcept;
  void send_some();
  std::size_t count_that_fit() const noexcept;
  bool join(std::size_t parts);
  void deliver(item_part part);

  operation& op_;
  item_sink sink_;
  item_gather* reader_ = nullptr;
  std::deque<item_part> queue_;
  /// The number of items that have come of each member that is not at its end, by relative rank.
  std::map<std::uint32_t, std::uint64_t> items_of_;
  std::uint32_t window_ = 1;
  std::uint32_t own_queued_ = 0;  ///< own parts that have not been passed on, or not been read at the root
  own_stream own_ = own_stream::open;
};

}  // namespace scoll::detail
