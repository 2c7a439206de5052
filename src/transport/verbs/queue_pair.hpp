#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "transport/io/buffer.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/verbs/device_pair.hpp"
#include "transport/verbs/introduction.hpp"
#include "transport/verbs/opened_device.hpp"
#include "transport/verbs/slot_credit.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

/// Tags of the lists of a device that a queue pair for messages may be in.
struct touched_list {};
struct slab_waiters {};

/// Is told what happens to a queue pair, in steps of the executor.
class queue_pair_events {
 public:
  virtual void on_made(const status& outcome) noexcept = 0;
  virtual void on_connected(const status& outcome) noexcept = 0;
  /// A SEND has arrived, which may be empty. `owner` keeps its bytes.
  virtual void on_arrival(const buffer_ref& owner, std::span<const std::byte> bytes) noexcept = 0;
  /// There may be room for more to send, or all that was sent has been acknowledged.
  virtual void on_room() noexcept = 0;
  /// The queue pair is of no more use. Called at most once.
  virtual void on_failed(const error& reason) noexcept = 0;

 protected:
  ~queue_pair_events() = default;
};

/// A reliable connection for messages, with the accounts of what it may send and what may arrive. It outlives
/// the object that is told of its events, until the device has let go of its memory.
///
/// Of several sends only the last one that is posted together is signalled. Its completion says that all
/// before it are complete.
class queue_pair final : public device_pair, public list_hook<touched_list>, public list_hook<slab_waiters> {
 public:
  /// Begins to make one; `on_made` follows. `open` is kept until it is gone.
  queue_pair(device& owner, queue_pair_events& events, gate_pass open) noexcept;

  void set_events(queue_pair_events& events) noexcept { events_ = &events; }
  /// What the peer has to know of it. Valid once it has been made.
  introduction introduce(std::uint32_t link) const;
  /// Begins to connect to the peer's queue pair; `on_connected` follows. The peer promises at least
  /// `least_slots`, and at most `most_slots`.
  void connect(const introduction& peer) noexcept;
  /// Ends everything, without further calls. It goes by itself.
  void release() noexcept;
  /// Breaks it, as a failure would.
  void fail(const error& reason) noexcept override;
  bool failed() const noexcept { return failed_; }

  /// One more slab can be pushed.
  bool can_send() const noexcept;
  /// Adds `size` bytes of a slab to what is posted next. The slab returns to its pool by itself.
  void push(slab& from, std::size_t size) noexcept;
  /// Posts what was pushed.
  void post() noexcept;
  /// Sends an empty message.
  void greet() noexcept;
  /// All that was posted has been acknowledged.
  bool idle() const noexcept { return first_ == next_; }
  std::uint64_t acknowledged_bytes() const noexcept { return acknowledged_bytes_; }

  // For the device:
  queue_pair* for_messages() noexcept override { return this; }
  std::uint32_t window() const noexcept { return receiving_.window(); }
  void wake() noexcept {
    if (events_ != nullptr) events_->on_room();
  }
  void on_posted_done(const completion& done) noexcept override;
  void on_received(const buffer_ref& owner, std::span<const std::byte> bytes,
                   std::uint32_t immediate) noexcept;
  void on_receive_failed(const completion& done) noexcept;
  /// What has arrived can be promised again.
  void renew() noexcept;
  bool has_news() const noexcept { return receiving_.worth_telling(); }
  /// Tells the peer of promises that nothing else has carried.
  void tell_news() noexcept;
  /// Gives back what is promised to it if it has sent nothing since the last call.
  void give_back_if_idle() noexcept;
  bool has_surplus() const noexcept { return is_connected() && sending_.left() > least_slots; }

 private:
  struct sent {
    slab* from = nullptr;
    std::uint32_t bytes = 0;
  };
  static constexpr std::uint32_t ring_size = 256;
  static_assert(ring_size >= sends_per_pair + news_per_pair);

  void on_pair_made(const status& outcome) noexcept override { events_->on_made(outcome); }
  void on_pair_connected(const status& outcome) noexcept override { events_->on_connected(outcome); }
  void on_destroyed() noexcept override;
  std::uint32_t under_way() const noexcept { return next_ - first_; }
  void append(slab* from, std::size_t size, std::uint32_t immediate) noexcept;
  void send_empty(std::uint32_t given_back) noexcept;
  void drop_unposted(std::size_t posted) noexcept;
  void settle_until(std::uint32_t end) noexcept;
  std::uint32_t next_news(std::uint32_t given_back) noexcept;

  queue_pair_events* events_;
  bool failed_ = false;
  bool sent_lately_ = false;
  sending_credit sending_;
  receiving_credit receiving_;
  std::uint32_t first_ = 0;  // of the sends under way
  std::uint32_t next_ = 0;
  std::array<sent, ring_size> ring_{};
  std::array<send_request, most_posted> batch_{};
  std::size_t batched_ = 0;
  std::uint64_t acknowledged_bytes_ = 0;
};

}  // namespace scoll::transport::verbs
