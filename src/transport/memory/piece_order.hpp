#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/member_node.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/result.hpp"
#include "transport/memory/memory_head.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/memory/region_descriptor.hpp"
#include "transport/memory/right_reader.hpp"
#include "transport/session/exchange.hpp"
#include "transport/session/lent_memory.hpp"

namespace scoll::transport {

class endpoint;

/// One order for a piece of a peer's region, which the peer answers when it has the piece. It is part of the
/// object that waits, and may be used again after its end.
///
/// The order ends once: with the bytes in place and compared with their checksum, or with an error. An order
/// that is answered `busy` is sent again after a pause, and a piece that differs from its checksum is ordered
/// once more; neither is told. Errors: `checksum_mismatch` (twice), `stale` (the peer has passed the piece
/// on), `stale_descriptor`, `not_found`, `invalid_argument`, the reason with which the peer's region has
/// failed, and errors that end a session. It has no time limit of its own. Thread: the endpoint's executor.
class piece_order : private exchange, private read_waiter {
 public:
  /// Called at the end, never from inside `begin`. It may begin the order anew or destroy it.
  using function = void (*)(piece_order&) noexcept;

  piece_order(endpoint& at, function ended) noexcept : exchange(&heard), endpoint_(at), ended_(ended) {}
  virtual ~piece_order() { take_back(); }

  /// Orders piece number `piece` of a region that is cut into pieces of `piece_bytes`. `into` has exactly the
  /// size of the piece, and stays valid until the end. `up`: the source that should have given the piece has
  /// been lost. One span allocates nothing.
  void begin(session& to, const region_descriptor& from, std::uint32_t piece, std::uint32_t piece_bytes,
             std::span<const std::span<std::byte>> into, bool up = false);
  /// Ends the order without a call. Nothing writes to its memory any more.
  void take_back() noexcept;

  bool under_way() const noexcept { return to_ != nullptr; }
  std::uint32_t piece() const noexcept { return piece_; }
  // After the end:
  const status& outcome() const noexcept { return outcome_; }
  /// The XXH3 with which the bytes agree, to publish the piece with.
  std::uint64_t checksum() const noexcept { return checksum_; }

 private:
  static void heard(exchange& e, reply_event& event) noexcept;
  void send() noexcept;
  void answered(reply_event& event) noexcept;
  void granted(reply_event& event) noexcept;
  void on_read(const status& outcome) noexcept override;
  void malformed(std::uint64_t bytes) noexcept;
  void differs() noexcept;
  void send_later() noexcept;
  void end(const status& outcome) noexcept;
  void end_now() noexcept;

  endpoint& endpoint_;
  function ended_;
  session* to_ = nullptr;
  piece_head head_;
  lent_memory local_;
  std::uint32_t piece_ = 0;
  right_reader* reader_ = nullptr;
  status lost_;  // the exchange has ended while it was read
  bool differed_ = false;
  nanoseconds pause_{0};
  status outcome_;
  std::uint64_t checksum_ = 0;
  member_timer<&piece_order::send> again_{*this};
  member_node<&piece_order::end_now> ending_{*this};
};

}  // namespace scoll::transport
