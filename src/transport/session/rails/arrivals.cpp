#include <utility>

#include "scoll/coro/mutants.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/session.hpp"

// What arrives over the several connections of a bulk lane. Segments are independent of each other, so they
// go up at once, in whatever order they arrive. A *cancel* waits until all messages before it have arrived,
// because one of them may be the request that it is about.
//
// A message may arrive twice, by two connections, if it was sent again. Only one copy at a time is written to
// its place. Otherwise a copy that stalls would write old bytes when the message has been answered and its
// memory has another use.
namespace scoll::transport {

/// True if a message of that number is taken when it arrives. The messages of a lane with one connection
/// arrive in order.
bool lane::takes(std::uint64_t number) const noexcept {
  if (number == received() + 1) return true;
  if (id_ != lane_id::bulk || !has_paths() || !arrived_.within(number)) return false;
  return !arrived_.has(number) || SCOLL_MUTANT(rails_bitmap_forgotten);
}

/// All other copies of the message that are landing are cut off: it has arrived, or a later copy lands.
void lane::end_other_landings(const carrier& by, std::uint64_t number) noexcept {
  if (SCOLL_MUTANT(rails_landing_not_fenced, "a late copy of a message lands to its end")) return;
  const auto end = [&](carrier& each) {
    if (&each != &by && each.landing() == number) each.cut_landing();
  };
  end(*carrier_);
  for (auto& each : others_) end(*each);
}

void carrier::cut_landing() noexcept {
  if (link_ == nullptr) return;
  cut_off_ = true;
  ++at().statistics_.landings_cut;
  link_->drop_landing();
}

bool carrier::landing_over(std::uint64_t number) noexcept {
  const bool cut = std::exchange(cut_off_, false) && landing_ == number;
  landing_ = 0;
  return cut;
}

void lane::on_cancel(frame_view& frame) noexcept {
  const bool in_order = frame.header.sequence <= received();
  if (in_order || SCOLL_MUTANT(rails_cancel_overtakes, "a cancel is heard before what was sent before it"))
    return session_.on_cancel(frame.head);
  ++session_.endpoint_.statistics_.cancels_held;
  cancels_.hold(frame.header.sequence, frame.head);
}

void lane::hear_cancels() noexcept {
  cancels_.release(received(), [this](const held_cancels::envelope& head) { session_.on_cancel(head); });
}

bool lane::acknowledged(std::uint64_t sequence, const arrival_window::bits& beyond) noexcept {
  if (!acknowledged(sequence)) return false;
  if (beyond == arrival_window::bits{}) return true;
  if (id_ != lane_id::bulk) return false;
  for (std::uint64_t i = arrival_window::span; i-- != 0;) {
    if ((beyond[i / 64] >> (i % 64) & 1) == 0) continue;
    if (sequence + 1 + i > last_assigned_) return false;
    break;
  }
  for (message* m = retained_.first(); m != nullptr;) {
    message& each = *std::exchange(m, retained_.next(*m));
    const std::uint64_t at = each.header().sequence - sequence - 1;
    if (at >= arrival_window::span) break;
    if ((beyond[at / 64] >> (at % 64) & 1) != 0) let_go(each);
  }
  session_.kick();
  return true;
}

}  // namespace scoll::transport
