#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "scoll/coro/member_node.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/session/frame_assembler.hpp"
#include "transport/session/lent_memory.hpp"
#include "transport/session/link.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/queue_pair.hpp"
#include "transport/verbs/read_pair.hpp"

namespace scoll::transport::verbs {

/// What a handshake has made of a link.
struct link_pairs {
  queue_pair* messages = nullptr;
  read_pair* reads = nullptr;  ///< null: bulk data travel in messages
  std::uint32_t id = 0;        ///< of the link, at both ends
};

/// The buffers that the links of a rail share, besides those of its device.
struct link_buffers {
  buffer_pool batches;
  buffer_pool frames;
};

/// A link over a queue pair, beside the silent connection that introduced the two ends to each other. That
/// one is the canary: the kernel tells at once when a peer's process has died, and a queue pair without
/// traffic never does. The end of one ends both.
///
/// The frames are a stream of bytes; where one SEND ends and the next one begins means nothing. What can be
/// sent at once is copied into slabs. The rest of a batch waits in a buffer, and lent memory where it is.
class verbs_link final : public link, private queue_pair_events, private link_events {
 public:
  static constexpr std::size_t most_batch_bytes = 65536;

  verbs_link(device& d, link_buffers& buffers, const link_pairs& pairs, link& canary,
             gate_pass open) noexcept;

  bool writable() const noexcept override {
    return owner_ != nullptr && !broken_ && !batch_open_ && !drained_.scheduled();
  }
  std::size_t batch_bytes() const noexcept override { return most_batch_bytes; }
  std::string peer_name() const override { return peer_; }
  void write(std::span<const frame_parts> frames) noexcept override;
  void drop_landing() noexcept override { assembler_.forget_room(); }
  remote_access* remote() noexcept override { return reads_; }
  std::optional<std::uint64_t> acknowledged_bytes() const noexcept override {
    return pair_->acknowledged_bytes();
  }
  void close() noexcept override;
  void sever() noexcept override;
  /// Ends the link, because its queue pair for READs is of no more use.
  void break_off(const error& reason) noexcept { break_link(reason); }

 private:
  /// Memory that is being sent from. When it is recalled, the rest of its frame is copied, because the peer
  /// waits for that many bytes.
  class source final : public borrower {
   public:
    explicit source(verbs_link& owner) noexcept : borrower(&recalled), owner_(owner) {}
    ~source() = default;

   private:
    static void recalled(borrower& self) noexcept { static_cast<source&>(self).owner_.rescue(); }
    verbs_link& owner_;
  };

  void on_made(const status&) noexcept override {}
  void on_connected(const status&) noexcept override {}
  void on_arrival(const buffer_ref& owner, std::span<const std::byte> bytes) noexcept override;
  void on_room() noexcept override;
  void on_failed(const error& reason) noexcept override;

  // of the canary
  void on_frame(frame_view& frame) noexcept override;
  void on_writable() noexcept override {}
  void on_closed(const error& reason) noexcept override;

  void append(std::span<const std::byte> bytes) noexcept;
  void keep(std::span<const std::byte> bytes) noexcept;
  bool take_slab() noexcept;
  void fill() noexcept;
  std::size_t into_slab(std::span<const std::byte> bytes) noexcept;
  void push() noexcept;
  void pump() noexcept;
  void rescue() noexcept;
  void forget_unsent() noexcept;
  void on_drained() noexcept;
  bool deliver(frame_view& frame) noexcept;
  void break_link(const error& reason) noexcept;
  void tell_owner() noexcept;
  void end(bool at_once) noexcept;
  void linger_over() noexcept { end(false); }
  void go() noexcept { delete this; }

  device& device_;
  link_buffers& buffers_;
  queue_pair* pair_;
  read_pair* reads_;
  link* canary_;
  gate_pass open_;
  std::string peer_;
  frame_assembler assembler_;
  slab* filling_ = nullptr;
  std::size_t filled_ = 0;
  buffer_ref rest_;  // of a batch: its bytes that no slab has taken
  std::span<const std::byte> unsent_;
  lent_range lent_;  // what follows the batch; a part of `rescued_` if that exists
  source source_{*this};
  std::unique_ptr<std::byte[]> rescued_;
  bool batch_open_ = false;
  bool broken_ = false;
  bool ended_ = false;
  error reason_;
  member_node<&verbs_link::tell_owner> told_{*this};
  member_node<&verbs_link::on_drained> drained_{*this};
  member_node<&verbs_link::go> gone_{*this};
  member_timer<&verbs_link::linger_over> linger_{*this};
};

}  // namespace scoll::transport::verbs
