#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/timer.hpp"
#include "transport/session/frame_assembler.hpp"
#include "transport/session/link.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_remote.hpp"
#include "transport/sim/small_queue.hpp"

namespace scoll::testing {

/// One end of a wire. The bytes that this end writes wait in its peer's queue until they are due.
class sim_link final : public transport::link, public list_hook<> {
 public:
  sim_link(sim_rail& owner, std::uint32_t remote) noexcept;

  static void join(sim_link& a, sim_link& b) noexcept {
    a.peer_ = &b;
    b.peer_ = &a;
    a.pair_ = b.pair_ = ++a.network().last_pair_;
  }

  bool writable() const noexcept override { return !drained_.scheduled() && !blocked_; }
  std::size_t batch_bytes() const noexcept override {
    return guard_ == nullptr ? most_batch_bytes : most_batch_bytes - transport::link_guard::overhead;
  }
  /// The number of the connection stands for the port, which tells connections of one host apart.
  std::string peer_name() const override {
    return sim_network::address_of(remote_) + ":" + std::to_string(pair_);
  }
  bool can_seal() const noexcept override { return rail_.can_guard(); }
  void write(std::span<const transport::frame_parts> frames) noexcept override;
  std::optional<std::uint64_t> acknowledged_bytes() const noexcept override { return acknowledged_; }
  void close() noexcept override;
  void sever() noexcept override;
  void drop_landing() noexcept override { assembler_.forget_room(); }
  void expect_bulk() noexcept override;
  transport::remote_access* remote() noexcept override { return access_; }
  /// The hardware that reads memory over this link has failed, or was told to.
  void fail(const error& reason) noexcept;

  /// The bytes of the first write arrive a second time, on another connection.
  void repeat_first_write() noexcept { repeats_ = true; }
  /// Bytes whose sender is gone are due now. More than the network has buffers for is lost.
  void receive_from_nobody(std::span<const std::byte> bytes) noexcept;

  std::uint32_t host() const noexcept { return rail_.host_; }
  bool between(std::uint32_t a, std::uint32_t b) const noexcept {
    return (host() == a && remote_ == b) || (host() == b && remote_ == a);
  }
  bool of(const sim_rail& rail) const noexcept { return &rail_ == &rail; }
  bool connected() const noexcept { return peer_ != nullptr; }

  /// Tells both ends that the connection is gone.
  void break_both(const error& reason) noexcept;
  /// Tells this end that the connection is gone. The other end does not know.
  void half_open(const error& reason) noexcept;
  /// Nothing arrives any more, either way, and neither end is told.
  void lose_all() noexcept;
  /// This end belongs to a life that has crashed. The other end notices it as `how` says.
  void bury(sim_crash how) noexcept;
  void break_buried() noexcept { finish({errc::connection_lost, "the host has crashed"}); }
  /// Call this when the host is no longer frozen.
  void wake() noexcept;

 private:
  static constexpr std::size_t most_batch_bytes = 65536;

  struct chunk {
    transport::buffer_ref bytes;
    std::size_t size;
    nanoseconds begins;  // when the first byte arrives
    nanoseconds due;     // when the last one has arrived
    bool taken = false;  // the host has taken it in by `due`
  };
  struct ending {
    nanoseconds at;
    error reason;
  };
  /// What has become of a link while it hands frames over.
  struct passage {
    bool alive = true;
    bool cut = false;
  };
  /// Waits until something is due, and then until the host takes it.
  class delivery final : public timer_node, public sim_waiter {
   public:
    explicit delivery(sim_link& owner) noexcept : timer_node(&fire), sim_waiter(&run), owner_(owner) {}
    ~delivery() = default;

    bool pending() const noexcept { return armed() || linked(); }
    void cancel() noexcept {
      if (armed()) owner_.world().disarm(*this);
      unlink();
    }

   private:
    static void fire(timer_node& node) noexcept { static_cast<delivery&>(node).owner_.arrive(); }
    static void run(sim_waiter& waiter) noexcept { static_cast<delivery&>(waiter).owner_.arrive(); }
    sim_link& owner_;
  };

  sim_network& network() const noexcept { return rail_.network_; }
  sim_world& world() const noexcept { return rail_.network_.world_; }
  sim_executor& home() const noexcept { return rail_.home_; }
  const sim_path& outward() const noexcept { return network().way(host(), remote_); }
  const sim_path& inward() const noexcept { return network().way(remote_, host()); }

  // sending
  void put_out(std::span<const transport::frame_parts> frames) noexcept;
  void transmit(std::span<const transport::frame_parts> frames) noexcept;
  void send_piece(std::span<const std::byte> bytes, nanoseconds begins, nanoseconds due) noexcept;
  std::span<const std::byte> put(chunk& into, std::span<const std::byte> bytes, nanoseconds due) noexcept;
  chunk* tail(nanoseconds begins, nanoseconds due) noexcept;
  void on_drained() noexcept;
  void unblock() noexcept;

  // the end of a connection
  void reset(const error& reason) noexcept;
  void deafen() noexcept;
  void drop_queue() noexcept;
  void end_after(nanoseconds d, const error& reason) noexcept;
  void end_after_queue(const error& reason) noexcept;
  void finish(error reason) noexcept;
  void die() noexcept;

  // receiving
  void arrive() noexcept;
  void take_in(chunk& c) noexcept;
  void deliver() noexcept;
  bool last_before_cut() noexcept;
  void corrupt(std::span<std::byte> bytes) noexcept;
  status feed(const transport::buffer_ref& from, std::span<const std::byte> bytes, passage& now) noexcept;
  bool hand_over(transport::frame_view& frame, passage& now) noexcept;

  // sim_link_guard.cpp: what a guard does to bytes
  bool seals() const noexcept { return guard_ != nullptr && guard_->sealing() && can_seal(); }
  bool opens() const noexcept { return guard_ != nullptr && guard_->opening() && can_seal(); }
  std::span<const std::byte> sealed(std::span<const transport::frame_parts> frames) noexcept;
  std::span<const std::byte> forged(std::span<const transport::frame_parts> frames) noexcept;
  status open_sealed(std::span<const std::byte> bytes, passage& now) noexcept;
  void note_unbound(const transport::frame_view& frame) noexcept;

  sim_rail& rail_;
  gate_pass open_;
  std::uint32_t remote_;
  transport::frame_assembler assembler_;
  sim_link* peer_ = nullptr;
  std::uint32_t pair_ = 0;
  sim_remote* access_ = nullptr;
  small_queue<chunk> queue_;
  std::size_t queued_bytes_ = 0;
  bool blocked_ = false;
  bool silent_ = false;
  bool repeats_ = false;
  bool loses_all_ = false;
  bool heard_ = false;              // somebody has recorded how it begins
  std::uint64_t taken_ = 0;         // bytes that this end has taken
  std::uint64_t acknowledged_ = 0;  // those that the other end has taken, as far as this one has been told
  delivery timer_;
  member_node<&sim_link::on_drained> drained_{*this};
  std::unique_ptr<ending> ending_;
  passage* passage_ = nullptr;
};

}  // namespace scoll::testing
