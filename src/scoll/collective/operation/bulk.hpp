#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "scoll/bulk/head.hpp"
#include "scoll/bulk/landing.hpp"
#include "scoll/bulk/piece_window.hpp"
#include "scoll/bulk/pieces.hpp"
#include "scoll/bulk/sources.hpp"
#include "scoll/bulk/span_ends.hpp"
#include "scoll/collective/bulk_data.hpp"
#include "scoll/collective/operation/subject.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

class engine;

/// How pieces pass through a member that has given no place for them.
struct bulk_passing {
  std::uint32_t slots = 0;  ///< 0: they do not
  nanoseconds patience{0};  ///< the time for which a piece waits for those that read here
};

/// The bulk data of one operation on one node. It brings the pieces to the place that `prepare` gave, hands
/// them out in chunks, and lets the other members read them that the plan names. The operation decides when
/// each step begins. Objects are pooled with the engine, and keep their memory.
///
/// ```text
///   root:    offer ───────────────────────► expose ─► chunks ─► withdraw
///   member:  hear ─► receive (by prepare) ─► expose ─► pieces land ─► chunks ─► withdraw
///              └─► decline (no place, another version, refused)
/// ```
///
/// A member that has given no place may let the pieces pass through slots. Then a piece stays until it has
/// been handed out and every reader has it. A reader that keeps the others waiting too long finds the piece
/// gone, and goes up. If this node's own service keeps the pieces from passing for so long, the node gives
/// nothing more, and its readers go up.
class operation_bulk final : private bulk_landing_events, private transport::piece_events {
 public:
  explicit operation_bulk(engine& owner);
  ~operation_bulk();
  operation_bulk(const operation_bulk&) = delete;
  operation_bulk& operator=(const operation_bulk&) = delete;

  /// Begins on the root, with bytes that stay until `withdraw`. The subject and the event stay until `clear`;
  /// the event is set with every progress.
  void offer(const operation_subject& subject, event& progress, const bulk_view& object,
             const bulk_pieces& pieces, const bulk_plan& plan, nanoseconds time);
  /// Begins on the root in a further round, with the bytes of the first one. If `whole`, each member gets all of them from
  /// its parent, by one plan for every round; else by the plan of the first round, by which pieces can pass.
  void offer_again(const operation_subject& subject, event& progress, const operation_bulk& first,
                   bool whole);
  /// Begins on a member, with the head of its parent, which has been checked.
  void hear(const operation_subject& subject, event& progress, const bulk_head& said);
  /// Takes the place for the bytes. Errors: `already_exists`, `invalid_argument` (not of that size).
  status receive(std::span<const std::span<std::byte>> place);
  /// Lets others read, and begins to bring the pieces; the operation ends at `ends` at the latest. Without a
  /// place, the pieces pass through `passing.slots` slots if that is not 0. Errors: `invalid_argument` (no
  /// place was given, or the plan cannot let pieces pass), `busy`.
  status expose(time_point ends, const bulk_passing& passing);
  /// This node takes no part in the bulk data, and tells the members that may expect it to. `ends` is that of
  /// `expose`.
  void decline(time_point ends) noexcept;
  void clear() noexcept;

  const bulk_info& info() const noexcept { return info_; }
  nanoseconds time() const noexcept { return time_; }
  /// What the children of this node are told.
  bulk_head head_for_children() const noexcept;
  const operation_subject& subject() const noexcept { return *subject_; }

  /// The next chunk that nobody has taken, if one is there. It stays as it is until the next call.
  const bulk_chunk* next_chunk();
  /// True once every chunk has been taken, or every piece has landed if `chunks_wanted` is false.
  bool complete(bool chunks_wanted) const noexcept;
  bool has_place() const noexcept { return has_place_; }
  /// True if the pieces pass through slots.
  bool passes() const noexcept { return passes_; }
  /// The number of orders that went up because a source was lost.
  std::uint32_t risen() const noexcept { return lands_ ? landing_.risen() : 0; }
  /// The reason why this node's own part has failed; empty if it has not.
  const error& failure() const noexcept { return failure_; }
  /// This node's own part has failed. The pieces go on to land for others, as long as the operation runs.
  void refuse(const error& why) noexcept;
  /// Likewise; if some pieces have not landed, nothing lands any more, and whoever reads here gets `why`.
  void fail(const error& why) noexcept;
  /// True if this node has every piece.
  bool has_all() const noexcept;
  /// Nothing lands any more.
  void stop_landing() noexcept;
  /// True while a member outside of this node's subtree may still need a piece from here.
  bool has_readers() const noexcept { return !readers_.empty(); }
  /// True if this node has failed and brings the rest of the pieces for such members.
  bool lands_for_others() const noexcept { return failure_ && lands_ && landing_.running() && has_readers(); }
  /// Nobody reads here any more.
  void withdraw() noexcept;

  // Other members, as `engine::bulks` hears of them.

  /// True until it is known whether this node has memory to read from.
  bool undecided() const noexcept { return stage_ == stage::heard || stage_ == stage::placed; }
  /// The memory to read from, for a member that may read; the error says why not.
  result<transport::region_descriptor> memory_for(node_id reader) const;
  /// A member needs nothing from here, or nothing more.
  void reader_done(node_id reader) noexcept;
  /// Likewise, for a child that has answered, or is lost.
  void consumer_gone(std::uint32_t relative) noexcept;
  /// No member needs anything more.
  void nobody_reads() noexcept;

 private:
  enum class stage : std::uint8_t { idle, heard, placed, exposed, declined, withdrawn };
  struct source_request final : transport::exchange {
    explicit source_request(operation_bulk& owner) noexcept : exchange(&on_answer), bulk(&owner) {}
    static void on_answer(transport::exchange& self, transport::reply_event& event) noexcept;
    void send_again() noexcept { bulk->send(*this); }
    bool used() const noexcept { return pending() || again.armed(); }

    operation_bulk* bulk;
    std::uint32_t member = 0;
    nanoseconds pause{0};
    member_timer<&source_request::send_again> again{*this};  ///< where the source was busy
  };

  void on_wanted(std::uint32_t member) noexcept override;
  void on_landed(std::uint32_t piece) noexcept override;
  void on_failed(const error& why) noexcept override;
  void on_ordered(std::uint32_t piece, node_id by, bool up) noexcept override;
  void on_answered(std::uint32_t piece, node_id by) noexcept override;
  void on_returned(std::uint32_t piece) noexcept override;

  void begin(const operation_subject& subject, event& progress);
  bulk_routes routes() const noexcept;
  std::uint32_t parent_of(std::uint32_t relative) const;
  bool is_below(std::uint32_t relative) const;
  void find_readers();
  void begin_landing();
  nanoseconds wait_for_request() const noexcept;
  void ask(std::uint32_t member);
  void send(source_request& asked);
  void not_given(source_request& asked, const error& why) noexcept;
  void close_requests() noexcept;
  void heard(source_request& asked, transport::reply_event& event) noexcept;
  std::optional<std::uint32_t> next_landed() noexcept;
  std::span<const std::byte> bytes_at(std::uint64_t offset) const noexcept;

  // Where pieces pass through slots.
  status make_slots(const bulk_passing& passing);
  void see(std::uint32_t piece) noexcept;
  void see_all() noexcept;
  void pass_on() noexcept;
  void calm_down() noexcept;
  bool stands_still() const noexcept;
  void on_patience_over() noexcept;

  node_id node_at(std::uint32_t relative) const;

  engine& engine_;
  const operation_subject* subject_ = nullptr;
  event* progress_ = nullptr;
  bulk_info info_;
  bulk_pieces pieces_;
  nanoseconds time_{0};
  time_point ends_at_{};
  transport::region_descriptor parent_memory_;
  std::vector<std::span<std::byte>> place_;  // at the root, the caller's bytes, which are never written
  span_ends ends_;                           // of the place
  transport::memory_region region_;
  bulk_landing landing_;
  std::vector<std::unique_ptr<source_request>> asking_;
  std::vector<std::uint32_t> readers_;    // relative ranks, outside of this node's subtree
  std::vector<std::uint32_t> consumers_;  // all that read here by plan
  std::vector<std::uint32_t> ancestors_;
  std::vector<std::uint32_t> arrived_;  // pieces in the order in which they are handed out
  std::vector<bool> landed_;            // where they are handed out by offset
  std::size_t handed_out_ = 0;          // pieces
  std::uint64_t chunk_end_ = 0;         // of the piece that is being handed out
  bulk_chunk chunk_;
  error failure_;
  piece_window window_;
  std::unique_ptr<std::byte[]> slots_;
  std::size_t slot_bytes_ = 0;  // of all slots
  nanoseconds patience_{0};
  member_timer<&operation_bulk::on_patience_over> impatient_{*this};
  stage stage_ = stage::idle;
  bool has_place_ = false;
  bool exposed_ = false;  ///< it was, at least
  bool lands_ = false;    ///< the landing is, or was, for this operation
  bool passes_ = false;
  bool gives_nothing_ = false;  ///< pieces would pass, but the service stands still
};

}  // namespace scoll::detail
