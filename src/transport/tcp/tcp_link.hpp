#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "scoll/coro/member_node.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/session/frame_assembler.hpp"
#include "transport/session/lent_memory.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace scoll::transport {

inline constexpr std::size_t tcp_batch_bytes = 65536;
// Under a guard lent memory leaves in longer batches, because each system call and each wake-up of the peer costs
// as much as sealing 16 KiB.
inline constexpr std::size_t tcp_sealed_bytes = 2 * tcp_batch_bytes;

/// One connection. It lives until its receive, its send and its close have completed, even if its owner has
/// let go of it.
///
/// ```text
///          close()                          peer closes, or limit
///   open ───────────► lingering ───────────────────────────────────► ending ──► gone
///    │                (sends the rest, half-closes, reads and drops)   ▲
///    └── breaks: the owner is told ────────────────────────────────────┘
/// ```
/// A link on which large frames follow one another receives as one that expects bulk, until no more come: the rest
/// of such a frame is received where the frame is collected.
///
/// Frames are copied into a batch that the ring sends. One with a large payload is sent at once instead, from where its
/// parts lie, and only what the socket does not take is copied. Lent memory is sent from its place and received into
/// its place, by system calls that do not wait, each when the socket is ready. So the kernel never keeps
/// memory that may be recalled (docs/decisions/0009).
///
/// Under a guard all frames of a batch are sealed together. Lent memory is sealed behind them and sent at once, a
/// batch at a time, until the socket is full. What arrives is opened record by record, large payloads into their
/// place.
///
/// It lingers because closing a socket with unread bytes resets the connection. The peer would then lose what
/// it has not read yet: a goodbye, or the reason for a refusal.
class tcp_rail::tcp_link final : public link {
 public:
  tcp_link(tcp_rail& owner, unique_fd fd, std::string peer) noexcept;

  bool writable() const noexcept override;
  std::size_t batch_bytes() const noexcept override {
    return guard_ == nullptr ? tcp_batch_bytes : tcp_batch_bytes - link_guard::overhead;
  }
  std::string peer_name() const override { return peer_; }
  bool can_seal() const noexcept override { return true; }
  void write(std::span<const frame_parts> frames) noexcept override;
  void flush() noexcept override { rail_.reactor_.flush(send_); }
  void drop_landing() noexcept override { assembler_.forget_room(); }
  void expect_bulk() noexcept override;
  void keep_unsent_short() noexcept override;
  std::optional<std::uint64_t> acknowledged_bytes() const noexcept override;
  void close() noexcept override;
  void sever() noexcept override;

 private:
  /// The memory that is being sent from. When it is recalled, the rest of its frame is copied, because the
  /// peer waits for that many bytes.
  class source final : public borrower {
   public:
    explicit source(tcp_link& owner) noexcept : borrower(&recalled), owner_(owner) {}
    ~source() = default;

   private:
    static void recalled(borrower& self) noexcept { static_cast<source&>(self).owner_.rescue(); }
    tcp_link& owner_;
  };

  class pending_io final : public io_completion {
   public:
    using handler = void (tcp_link::*)(const event&) noexcept;
    pending_io(tcp_link& owner, handler h) noexcept : io_completion(&complete), owner_(owner), handler_(h) {}
    ~pending_io() = default;

   private:
    static void complete(io_completion& self, const event& e) noexcept {
      auto& op = static_cast<pending_io&>(self);
      (op.owner_.*op.handler_)(e);
    }
    tcp_link& owner_;
    handler handler_;
  };

  void no_batch() noexcept;
  void write_in_place(std::span<const frame_parts> frames) noexcept;
  void send_rest(std::span<const iovec> parts, std::size_t sent) noexcept;
  std::size_t append(std::size_t at, std::span<const std::byte> bytes) noexcept;
  void on_sent(const io_completion::event& e) noexcept;
  void on_received(const io_completion::event& e) noexcept;
  void feed(const buffer_ref& buffer, std::span<const std::byte> bytes) noexcept;
  void receive_when_readable() noexcept;
  void receive_in_buffers() noexcept;
  bool note_large_frames() noexcept;
  bool deliver(frame_view& frame) noexcept;
  void receive_ended(std::int32_t outcome) noexcept;

  // tcp_link_bulk.cpp: sending from lent memory
  void push() noexcept;
  std::size_t unsent_pieces(std::span<iovec> pieces) noexcept;
  bool all_sent_after(std::size_t sent) noexcept;
  void rescue() noexcept;
  void forget_lent() noexcept;
  void on_sendable(const io_completion::event& e) noexcept;
  void send_failed(int reason) noexcept;
  void on_written_out() noexcept;

  // tcp_link_bulk.cpp: receiving payloads into their place
  void on_readable(const io_completion::event& e) noexcept;
  void read_some() noexcept;
  std::size_t room_pieces(std::span<iovec> pieces, std::size_t& count) noexcept;
  bool is_collecting() noexcept { return !sealed_in() && !assembler_.rest_of_large().empty(); }
  void take(const buffer_ref& behind, std::size_t straight, std::size_t ahead) noexcept;

  // tcp_link_guard.cpp
  bool sealed_in() const noexcept { return guard_ != nullptr && guard_->opening(); }
  void write_sealed(std::span<const frame_parts> frames) noexcept;
  bool begin_batch(buffer_pool& from) noexcept;
  bool seal(std::span<const std::byte> plain) noexcept;
  bool seal_lent(std::size_t at_most) noexcept;
  bool fill_batch() noexcept;
  void send_lent() noexcept;
  void seal_more() noexcept;
  void open_sealed(std::span<const std::byte> sealed) noexcept;
  result<std::size_t> open_in_place(const lent_range& room) noexcept;

  void break_link(const error& reason) noexcept;
  void tell_owner() noexcept;
  void half_close() noexcept;
  void lingered() noexcept;
  void end() noexcept;
  void finish_if_done() noexcept;
  void on_file_closed(const io_completion::event& e) noexcept;

  tcp_rail& rail_;
  gate_pass open_;
  unique_fd fd_;
  // in what would be a gap behind the descriptor: an idle client costs no more than it must
  bool written_ : 1 = false;  // something has been written
  bool pushing_ : 1 = false;  // the batch ends with lent memory
  bool bulk_ : 1 = false;     // bulk is expected
  bool polling_ : 1 = false;  // the link receives when bytes are there
  bool polled_ : 1 = false;   // and it is waiting for that
  bool broken_ : 1 = false;
  bool ending_ : 1 = false;
  std::uint8_t large_ =
      0;  // receives in a row that left a large frame incomplete; polling, how many more may not
  std::string peer_;
  frame_assembler assembler_;
  pending_io receive_;
  pending_io send_;
  pending_io close_;
  member_node<&tcp_link::tell_owner> told_{*this};
  member_node<&tcp_link::on_written_out> written_out_{*this};
  member_node<&tcp_link::read_some> read_on_{*this};
  member_timer<&tcp_link::lingered> linger_{*this};
  buffer_ref batch_;
  std::span<const std::byte> unsent_;  // the rest of the batch
  lent_range lent_;                    // what follows the batch; a part of `rescued_` if that exists
  source source_{*this};
  std::unique_ptr<std::byte[]> rescued_;
  error reason_;
};

}  // namespace scoll::transport
