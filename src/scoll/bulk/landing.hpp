#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "scoll/bulk/pieces.hpp"
#include "scoll/bulk/sources.hpp"
#include "scoll/bulk/span_ends.hpp"
#include "scoll/coro/result.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/memory/piece_order.hpp"
#include "transport/memory/region_descriptor.hpp"

namespace scoll::detail {

/// The owner of a landing: it finds the members' memory, and hears what has become of the pieces. The calls
/// come on the endpoint's executor, and may come from inside a call to the landing. They may end the landing,
/// but must not destroy it.
class bulk_landing_events {
 public:
  /// The landing needs the memory of a member, given by relative rank. The owner answers, at once or later,
  /// with `source_ready` or `source_lost`. It is asked once for each member.
  virtual void on_wanted(std::uint32_t member) noexcept = 0;
  /// A piece is in place, and agrees with the checksum that the root gave it.
  virtual void on_landed(std::uint32_t piece) noexcept = 0;
  /// A piece can be had from nobody. The landing has ended.
  virtual void on_failed(const error& why) noexcept = 0;

 protected:
  ~bulk_landing_events() = default;
};

/// Where the pieces of one object go.
struct bulk_destination {
  bulk_pieces pieces;
  /// The memory, one span or several of exactly `pieces.length()` bytes; or slots. The list stays until the
  /// end, too.
  std::span<const std::span<std::byte>> place;
  /// The same memory, exposed in pieces.
  transport::memory_region* region = nullptr;
  /// True if others get nothing of it before all pieces have landed.
  bool whole = false;
  /// True if the spans are slots: piece p goes to slot p modulo their number, once `allow` says so.
  bool in_slots = false;
};

/// Brings the pieces of an object to one member. It orders each from the member that the plan names, and
/// publishes it when it has landed. At most 8 orders are under way to one member, and 16 in all; one of each
/// is left to pieces that go up. Of large pieces, fewer are under way by plan (`planned_orders`), and where the
/// plan names several members, fewer go to each.
///
/// A member that does not give what it should is lost: because it is dead, its memory is gone, it has failed
/// itself, or it gave bytes twice that differ from their checksum. One that is slow is waited for. What a
/// lost member owes is ordered *up*, from the control parent, or from the next ancestor that is not lost; the
/// root is the last. A member that gets such an order for a piece that it lacks goes up for this piece
/// itself (`rise`). So no circle of members waits for each other: the planned ways of a piece form a tree
/// from the root, and a chain of orders that has once gone up goes up to its end. Planned orders, which may
/// wait for such a chain, leave room for it.
///
/// A landing may be used again after its end; it then allocates nothing. Thread: the endpoint's executor.
class bulk_landing {
 public:
  static constexpr std::uint32_t most_orders = 16;
  static constexpr std::uint32_t most_orders_to_one = 8;
  static constexpr std::uint32_t most_ancestors = 64;

  bulk_landing(transport::endpoint& at, bulk_landing_events& events);
  ~bulk_landing();
  bulk_landing(const bulk_landing&) = delete;
  bulk_landing& operator=(const bulk_landing&) = delete;

  /// Begins with the pieces of `intake`. `ancestors` are the control parent, its parent and so on, and at last
  /// the root, by relative rank; no more than `most_ancestors`. The destination stays until the end.
  void begin(const bulk_destination& into, const bulk_intake& intake,
             std::span<const std::uint32_t> ancestors);
  /// The member gives its pieces by this descriptor.
  void source_ready(std::uint32_t member, transport::session& to, const transport::region_descriptor& from);
  /// The member gives nothing, or nothing more.
  void source_lost(std::uint32_t member, const error& why);
  /// Pieces below `limit` may be ordered, because their slots are free. At the beginning, there are as many of
  /// them as slots.
  void allow(std::uint32_t limit);
  /// A member that has lost its source waits here for a piece that is not published.
  void rise(std::uint32_t piece);
  /// Takes all orders back: nothing writes to the memory any more.
  void end() noexcept;

  /// False before the beginning and after the end.
  bool running() const noexcept { return intake_.has_value(); }
  /// The number of pieces that have not landed.
  std::uint32_t missing() const noexcept { return missing_; }
  /// The number of orders that went up because a source was lost.
  std::uint32_t risen() const noexcept { return orders_up_; }

 private:
  enum class piece_state : std::uint8_t { planned, rising, ordered, landed };
  enum class access : std::uint8_t { unasked, asked, ready, lost };

  /// A member that gives pieces: by plan, or as an ancestor.
  struct giver {
    std::uint32_t member = 0;
    access state = access::unasked;
    std::uint32_t under_way = 0;   ///< orders
    std::uint32_t by_plan = 0;     ///< of those, the ones that did not go up
    std::uint32_t next_round = 0;  ///< the plan is searched from there for a piece that it gives
    transport::session* to = nullptr;
    transport::region_descriptor from;

    bool has_room() const noexcept { return state == access::ready && under_way < most_orders_to_one; }
  };
  struct rising_piece {
    std::uint32_t piece = 0;
    std::uint32_t level = 0;  ///< the ancestor to ask; 0 is the parent
  };
  struct order final : transport::piece_order {
    order(transport::endpoint& at, bulk_landing& owner) : piece_order(at, &ended), landing(&owner) {}
    bulk_landing* landing;
    std::uint32_t from = 0;              ///< the index of the giver
    std::optional<std::uint32_t> level;  ///< if it went up

    static void ended(piece_order& o) noexcept;
  };

  std::uint32_t find_giver(std::uint32_t member, std::uint32_t from_round);
  void want(giver& g);
  giver* awaited(std::uint32_t member);
  void pump();
  bool order_rising();
  bool order_planned();
  std::optional<std::uint32_t> planned_piece(giver& g) const;
  giver* ancestor_from(std::uint32_t& level, std::uint32_t piece);
  void fail(std::uint32_t piece);
  void send(std::uint32_t piece, giver& from, std::optional<std::uint32_t> level);
  void heard(order& o);
  void land(std::uint32_t piece, std::uint64_t checksum);
  void publish(std::uint32_t piece);
  void lose(giver& g, const error& why);
  void go_up(std::uint32_t piece, std::uint32_t level);
  void give_back(order& o) noexcept;
  void count_off(order& o) noexcept;
  order* order_of(std::uint32_t piece) noexcept;
  std::span<const std::span<std::byte>> memory_of(std::uint32_t piece);

  transport::endpoint& endpoint_;
  bulk_landing_events& events_;
  bulk_destination into_;
  std::optional<bulk_intake> intake_;
  std::vector<giver> givers_;             // those of the plan come first
  std::size_t planned_ = 0;               // the number of those
  std::vector<std::uint32_t> ancestors_;  // indices of givers, the parent first
  std::vector<piece_state> pieces_;
  std::vector<std::uint64_t> checksums_;  // of landed pieces that are not published yet
  std::vector<rising_piece> rising_;
  std::array<std::unique_ptr<order>, most_orders> orders_;
  std::vector<std::span<std::byte>> spans_;  // of the piece that is being ordered
  span_ends ends_;                           // of the place
  std::uint32_t under_way_ = 0;              // orders
  std::uint32_t by_plan_ = 0;                // of those, the ones that did not go up
  std::uint32_t missing_ = 0;
  std::uint32_t limit_ = 0;  // pieces from here on must not be ordered yet
  std::uint32_t orders_up_ = 0;
  bool pumping_ = false;
  bool again_ = false;  // something has changed while `pump` runs
  error why_lost_;      // the reason why the latest giver was lost
};

}  // namespace scoll::detail
