#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/rank_set.hpp"
#include "scoll/coro/time.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

class operation;

/// An answer, or a part of one: its head, and the account and the values as they have come.
struct reply_piece {
  collective_reply_head head;
  transport::buffer_view payload;
};

/// The parts of a child's answer that come before the last one.
struct child_parts {
  reply_piece piece;     ///< the part that waits until it is merged; the child sends none until then
  bool waiting = false;  ///< there is one
  bool begun = false;    ///< a part has been taken
  /// The members at and below the child that no part has settled, by relative rank. Set by the first part.
  std::vector<rank_range> unsettled;
};

/// A child of this node in one operation, and the exchange with it.
struct operation_child final : transport::exchange {
  enum class stage : std::uint8_t { idle, pending, arrived, settled };

  operation_child() noexcept : exchange(&on_reply) {}
  static void on_reply(transport::exchange& self, transport::reply_event& event) noexcept;

  /// The exchange has ended without an answer; `sent` says whether the request had left this node.
  void lose(const error& why, bool sent) noexcept {
    reason = why;
    reached = sent;
    refused = false;
    lost = true;
    at = stage::arrived;
  }

  bool has_part() const noexcept { return parts != nullptr && parts->waiting; }
  /// True if a part, the last answer or a loss is to be entered into the account.
  bool has_news() const noexcept { return at == stage::arrived || has_part(); }
  /// The piece that is entered next.
  reply_piece& next_piece() noexcept { return has_part() ? parts->piece : answer; }
  /// True if a part has settled some members of the subtree.
  bool has_settled_some() const noexcept { return parts != nullptr && parts->begun; }

  operation* owner = nullptr;
  std::uint32_t relative = 0;
  std::uint32_t nodes = 0;
  std::uint32_t levels = 0;
  stage at = stage::idle;
  bool clean = false;    ///< all of its subtree that no part has settled executed and is merged
  bool lost = false;     ///< its exchange ended without an answer of its own
  bool refused = false;  ///< it refused the request before any hook
  bool reached = false;  ///< the request may have reached it
  bool loaded = false;   ///< the creation of the group rode along with the request
  time_point due{};
  error reason;
  reply_piece answer;
  std::unique_ptr<child_parts> parts;  ///< null if the child may send none
};
static_assert(std::is_base_of_v<transport::exchange, operation_child>,
              "a hop and a shipped call are one primitive");

/// The children of one operation. The table keeps its memory for the next operation, unless it is large.
class child_table {
 public:
  static constexpr std::size_t most_kept = 4096;

  /// Makes room for `count` children; the caller may fill all of it.
  std::span<operation_child> make_room(std::size_t count) {
    if (count > capacity_) {
      capacity_ = std::max(count, std::min(2 * capacity_, most_kept));
      children_ = std::make_unique<operation_child[]>(capacity_);
    }
    return {children_.get(), count};
  }
  /// Puts the first `count` children into use.
  void use(std::size_t count) noexcept { count_ = count; }
  void clear() noexcept {
    for (operation_child& c : all()) {
      c.answer = {};
      c.parts.reset();
    }
    count_ = unsettled = 0;
    if (capacity_ <= most_kept) return;
    children_.reset();
    capacity_ = 0;
  }

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  std::span<operation_child> all() noexcept { return {children_.get(), count_}; }
  std::span<const operation_child> all() const noexcept { return {children_.get(), count_}; }
  std::uint32_t index_of(const operation_child& c) const noexcept {
    return static_cast<std::uint32_t>(&c - children_.get());
  }

  std::size_t unsettled = 0;  ///< children whose answer is not in the account yet

 private:
  std::unique_ptr<operation_child[]> children_;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
};

}  // namespace scoll::detail
