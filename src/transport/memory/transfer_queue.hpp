#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "scoll/coro/completion.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/buffer.hpp"
#include "transport/memory/given_right.hpp"
#include "transport/memory/memory_head.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/memory/region_descriptor.hpp"
#include "transport/memory/right_reader.hpp"
#include "transport/session/exchange.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/lent_memory.hpp"

namespace scoll::transport {

class endpoint;
class memory_service;
class session;
class transfer;
class transfer_queue;

/// The transfers between this node and one peer.
struct transfer_peer {
  session* to = nullptr;
  std::uint32_t in_flight = 0;     // segments under way
  intrusive_list<transfer> ready;  // transfers with a segment to send, in turn
};

/// One segment under way. Segments are pooled. Without remote access it is one exchange. Otherwise
///
/// ```text
///   get: ordered ──right──► reading ──completed──► released, by a cancel, and ordered anew if something is left
///   put: granting ──granted──► ordered ──answered──► ending its right ──ended──► over
/// ```
/// If a right ends too early, because its link has broken, the segment begins anew. A segment whose transfer was
/// abandoned goes on alone until hardware has let go of the slab that it uses.
class transfer_segment final : public exchange,
                               public list_hook<transfer_segment>,
                               private right_holder,
                               private read_waiter {
 public:
  transfer_segment() noexcept : exchange(&heard) {}

 private:
  friend class transfer_queue;
  static void heard(exchange& e, reply_event& event) noexcept;
  void on_right(const memory_right& what) noexcept override;
  void on_right_ended() noexcept override;
  void on_read(const status& outcome) noexcept override;

  transfer_queue* queue_ = nullptr;
  transfer* owner_ = nullptr;  // null: it was abandoned
  transfer_peer* peer_ = nullptr;
  std::uint64_t offset_ = 0;  // where the segment begins in the local memory
  std::uint32_t size_ = 0;
  unsigned attempts_ = 0;           // without progress
  right_reader* reader_ = nullptr;  // of a get
  std::uint32_t reading_ = 0;       // its bytes
  bool recalled_ = false;           // before the right was there
  given_right* right_ = nullptr;    // of a put
  bool by_right_ = false;           // it has, or had, one
  bool answered_ = false;           // nothing is expected but the end of its right
  bool again_ = false;              // it is to be sent again
  status outcome_;                  // of the exchange, while something else is waited for
};

/// How a transfer is cut. 0 stands for the endpoint's option.
struct transfer_shape {
  std::uint32_t window = 0;
  std::uint32_t segment = 0;  // bytes
};

/// One get or put under way. It lives in the coroutine that awaits it.
class transfer final : public list_hook<> {
 public:
  /// `head` names region, operation and the offset of the first byte. `local` is written by a get and read by
  /// a put.
  transfer(const memory_head& head, std::span<std::byte> local) noexcept : head_(head) { local_.add(local); }
  transfer(const memory_head& head, std::span<const std::span<std::byte>> local) : head_(head) {
    for (const auto& piece : local) local_.add(piece);
  }
  ~transfer() { SCOLL_ASSERT(segments_.empty(), "a transfer was abandoned by its owner"); }

  /// Gives the payloads of a put checksums. A get asks for them in its head.
  void check_payloads() noexcept { checked_ = true; }

  bool finished() const noexcept { return ended_.is_set(); }
  auto wait(stop_token stop) noexcept { return ended_.wait(stop); }
  status outcome() const noexcept { return failure_; }
  /// True if bytes of the region were written by a put, or may have been.
  bool may_have_written() const noexcept { return may_have_written_; }

 private:
  friend class transfer_queue;

  bool get() const noexcept { return is_get(head_.operation); }
  bool all_sent() const noexcept { return next_ == local_.size() && begun_; }
  bool wants_turn() const noexcept { return !finished() && !all_sent() && in_flight_ < window_; }

  memory_head head_;
  lent_memory local_;
  std::uint64_t next_ = 0;  // the rest, not yet sent, begins here
  bool begun_ = false;      // an empty transfer sends one request too
  bool may_have_written_ = false;
  std::uint32_t window_ = 0;
  std::uint32_t segment_ = 0;
  bool checked_ = false;  // the payloads of a put have checksums
  bool abandoned_ = false;
  std::uint32_t in_flight_ = 0;
  transfer_peer* peer_ = nullptr;
  intrusive_list<transfer_segment, transfer_segment> segments_;
  error failure_;
  completion<> ended_;
};

/// Checks what can be known about a transfer before it starts. The peer checks all of it again.
status check_transfer(endpoint& at, const region_descriptor& d, memory_order_kind operation,
                      std::uint64_t offset, std::uint64_t length) noexcept;

/// The requesting side of one-sided operations. It cuts transfers into segments and keeps at most a window of
/// them under way per peer, so that the class's queue never fills. Transfers to one peer take turns.
class transfer_queue final {
 public:
  transfer_queue(memory_service& service, endpoint& owner, buffer_pool& buffers) noexcept
      : service_(service), endpoint_(owner), buffers_(buffers) {}
  transfer_queue(const transfer_queue&) = delete;
  transfer_queue& operator=(const transfer_queue&) = delete;

  void start(transfer& t, session& to, transfer_shape shape) noexcept;
  /// Ends a transfer early. Nothing touches its memory any more, and it has finished, unless hardware uses the
  /// memory itself; then `fenced` waits for that.
  void abandon(transfer& t, const error& reason) noexcept;
  /// Waits until an abandoned transfer has finished. After a time the links of its segments are cut.
  task<void> fenced(transfer& t);
  /// Goes on with an exchange and the posted reads by its right, which nobody awaits any more. The right is
  /// released when hardware has let go of the slab.
  void adopt(exchange& order, right_reader& reader, session& to) noexcept;
  /// True if transfers with that peer are under way.
  bool refers_to(node_id peer) const noexcept;
  /// Forgets a peer with which no transfers are under way.
  void forget(node_id peer) noexcept { peers_.erase(peer); }
  /// Continues, because there are buffers again.
  void resume() noexcept;
  /// The sessions have ended: ends the transfers that still wait for their turn too.
  void close(const error& reason) noexcept;

 private:
  friend class transfer_segment;
  static constexpr std::size_t step = 16;

  void pump(transfer_peer& peer) noexcept;
  bool send_segment(transfer& t) noexcept;
  void begin(transfer_segment& segment, transfer& t, std::uint32_t size) noexcept;
  void send_get(transfer_segment& segment) noexcept;
  void send(transfer_segment& segment, message& m, memory_head head, const memory_right* right) noexcept;
  void heard(transfer_segment& segment, reply_event& event) noexcept;
  status deliver(transfer& t, const transfer_segment& segment, reply_event& event) noexcept;
  void conclude(transfer_segment& segment, const status& outcome) noexcept;
  void settle(transfer& t) noexcept;
  void stop(transfer& t, const error& reason) noexcept;
  transfer_segment& acquire();
  void release(transfer_segment& segment) noexcept;

  // transfer_remote.cpp: with remote access
  void heard_part(transfer_segment& segment, reply_event& event) noexcept;
  void ended_while_reading(transfer_segment& segment, const reply_event& event) noexcept;
  void has_read(transfer_segment& segment, const status& outcome) noexcept;
  void order_again(transfer_segment& segment) noexcept;
  bool give_right(transfer_segment& segment, transfer& t, const lent_range& local) noexcept;
  void granted(transfer_segment& segment, const memory_right& what) noexcept;
  void put_answered(transfer_segment& segment, reply_event& event) noexcept;
  bool drop_right(transfer_segment& segment) noexcept;
  void right_ended(transfer_segment& segment) noexcept;
  void put_over(transfer_segment& segment) noexcept;
  void put_again(transfer_segment& segment) noexcept;
  void leave(transfer_segment& segment) noexcept;
  void orphan(transfer_segment& segment) noexcept;

  memory_service& service_;
  endpoint& endpoint_;
  buffer_pool& buffers_;
  std::map<node_id, transfer_peer> peers_;
  std::vector<std::unique_ptr<transfer_segment[]>> blocks_;
  intrusive_list<transfer_segment, transfer_segment> free_;
  intrusive_list<transfer_segment, transfer_segment> orphans_;
};

}  // namespace scoll::transport
