#include <algorithm>
#include <limits>

#include "scoll/bulk/plan.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/operation/bulk.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"

// A member without a place for all bytes: pieces pass through a few slots.
namespace scoll::detail {

status operation_bulk::make_slots(const bulk_passing& passing) {
  if (!info_.plan.can_pass()) {
    return make_error(errc::invalid_argument,
                      "pieces of the plan {} cannot pass through {} slots: give a place (receive_bulk)",
                      to_string(info_.plan), passing.slots);
  }
  const std::size_t slots = std::min({passing.slots, pieces_.count(), piece_window::most_slots});
  const std::size_t bytes = slots * info_.piece_bytes;
  if (slot_bytes_ < bytes) {
    slots_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    slot_bytes_ = bytes;
  }
  for (std::size_t i = 0; i < slots; ++i)
    place_.emplace_back(slots_.get() + i * info_.piece_bytes, info_.piece_bytes);
  patience_ = passing.patience;
  stage_ = stage::placed;
  has_place_ = passes_ = true;
  return {};
}

/// The service has seen a piece, or does not want to.
void operation_bulk::see(std::uint32_t piece) noexcept {
  if (piece < window_.front()) return;
  if (piece == window_.front()) calm_down();  // the readers have their own time
  window_.seen(piece);
  pass_on();
}

/// The service sees nothing more. What has landed, and what will, passes through for others.
void operation_bulk::see_all() noexcept {
  for (std::uint32_t p = window_.front(); p < window_.limit(); ++p) {
    if (landed_[p]) window_.seen(p);
  }
  pass_on();
}

/// Gives the slots of pieces that everybody has to the pieces that come next.
void operation_bulk::pass_on() noexcept {
  if (!region_.exposed()) return;
  const std::uint32_t limit = window_.limit();
  while (window_.may_pass()) {
    region_.retire(window_.front());
    window_.pass();
  }
  if (window_.limit() != limit) {
    calm_down();
    landing_.allow(window_.limit());
  }
  executor& executor = engine_.wire().get_executor();
  if (region_.exposed() && (window_.waits_for_readers() || stands_still()) && !impatient_.armed())
    executor.arm(impatient_, saturating_add(executor.now(), patience_));
}

void operation_bulk::calm_down() noexcept {
  if (impatient_.armed()) engine_.wire().get_executor().disarm(impatient_);
}

/// True if the service has the piece in front, and further ones need its slot.
bool operation_bulk::stands_still() const noexcept {
  return !gives_nothing_ && window_.waits_for_service() && landed_[window_.front()];
}

void operation_bulk::on_patience_over() noexcept {
  if (stands_still()) {
    if (SCOLL_MUTANT(standing_keeps_readers, "a member whose service stands still keeps its readers waiting"))
      return;
    gives_nothing_ = true;
    region_.fail(make_error(errc::deadline_exceeded, "the service of node {} stands still over piece {}",
                            engine_.options().id, window_.front()));
    window_.all_gone();
    return;
  }
  if (SCOLL_MUTANT(standing_awaited, "pieces wait for a reader that stands still, however long that is"))
    return;
  window_.give_up_readers();
  pass_on();
}

void operation_bulk::on_answered(std::uint32_t piece, node_id by) noexcept {
  if (!passes_) return;
  const auto reader = std::ranges::find_if(consumers_, [&](std::uint32_t r) { return node_at(r) == by; });
  window_.sent(piece, reader != consumers_.end() ? *reader : std::numeric_limits<std::uint32_t>::max());
}

void operation_bulk::on_returned(std::uint32_t piece) noexcept {
  if (!passes_ || piece < window_.front()) return;
  window_.returned(piece);
  pass_on();
}

}  // namespace scoll::detail
