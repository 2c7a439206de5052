#include "transport/memory/right_giver.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/memory/piece_table.hpp"
#include "transport/memory/region_table.hpp"
#include "transport/session/limits.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

right_giver::~right_giver() {
  endpoint_.get_executor().unschedule(refill_);
  if (limit_.armed()) endpoint_.get_executor().disarm(limit_);
}

namespace {

std::size_t slabs_for(std::uint32_t size, const slab_pool& pool) noexcept {
  return (size + pool.slab_bytes() - 1) / pool.slab_bytes();
}

}  // namespace

bool right_giver::gives(const session& to, std::uint32_t size) noexcept {
  remote_access* const link = size > placed_payload_bytes ? to.remote() : nullptr;
  if (link == nullptr) return false;
  const slab_pool& pool = link->registrar().outgoing();
  return pool.size() != 0 && slabs_for(size, pool) <= std::min(pool.size(), read_grant::most_extents);
}

void right_giver::give(held_order& order) noexcept {
  order.giver = this;
  remote_access* const link = order.from()->remote();
  if (link == nullptr) return answer_with_bytes(order);
  if (waiting_.empty() && try_give(order, *link)) return;
  waiting_.push_back(order);
  ++waiting_count_;
  watch();
}

status right_giver::still_there(const held_order& order) const noexcept {
  if (const auto s = regions_.check(order.head); !s) return s;
  const piece_table* const table = regions_.pieces(order.head.region);
  if (table == nullptr || table->state(order.piece) == piece_table::piece_state::published) return {};
  return error(errc::stale, "the piece has been passed on, and its memory used again");
}

lent_range right_giver::memory_of(const held_order& order) noexcept {
  piece_table* const table = regions_.pieces(order.head.region);
  return table != nullptr ? table->range(order.piece) : regions_.range(order.head);
}

/// The link went while the order waited for a slab. The answer takes the next one.
void right_giver::answer_with_bytes(held_order& order) noexcept {
  const lent_range at = memory_of(order);
  message& m = endpoint_.acquire_message();
  m.set_head_bytes(0);
  if (piece_table* const pieces = regions_.pieces(order.head.region)) {
    m.lend_payload(at, known_checksum{pieces->checksum(order.piece)});
    pieces->note_use(order.piece);
  } else {
    m.lend_payload(at, order.head.operation == memory_order_kind::checked_get);
  }
  order.reply(m);
  order.giver = nullptr;
  orders_.release(order);
}

/// Gives a right, if there are slabs for it. No peer gets more than half of them while others need some.
bool right_giver::try_give(held_order& order, remote_access& link) noexcept {
  slab_pool& pool = link.registrar().outgoing();
  if (!acquire_slabs(order, pool)) return false;
  order.link = &link;
  lent_range at = memory_of(order);
  const lent_range all = at;
  std::array<registered_piece, read_grant::most_extents> pieces;
  for (std::size_t i = 0; i < order.slab_count; ++i) {
    const registered_piece& whole = order.slabs[i]->memory;
    const std::size_t n = std::min<std::size_t>(whole.bytes.size(), at.size);
    pieces[i] = {whole.bytes.first(n), whole.in};
    at.memory->copy_out(at.offset, pieces[i].bytes);
    at.offset += n;
    at.size -= static_cast<std::uint32_t>(n);
  }
  order.has_checksum = order.head.operation != memory_order_kind::get;
  if (piece_table* const table = regions_.pieces(order.head.region)) {
    order.checksum = table->checksum(order.piece);
    table->note_copied(order.piece);
  } else if (order.has_checksum) {
    order.checksum = all.memory->checksum(all.offset, all.size);
  }
  endpoint_.memory().count_grant(order.head.length);
  order.given_at = endpoint_.get_executor().now();
  out_.push_back(order);
  ++out_count_;
  link.grant(order.grant, {pieces.data(), order.slab_count});
  return true;
}

std::size_t right_giver::slabs_of(const session& peer) noexcept {
  std::size_t count = 0;
  for (held_order* order = out_.first(); order != nullptr; order = out_.next(*order))
    count += order->from() == &peer ? order->slab_count : 0;
  return count;
}

bool right_giver::acquire_slabs(held_order& order, slab_pool& pool) noexcept {
  const std::size_t needed = slabs_for(order.head.length, pool);
  const std::size_t fair = std::max<std::size_t>(pool.size() / 2, needed);
  if (slabs_of(*order.from()) + needed > fair) return false;
  if (pool.lent() + needed > pool.size()) return false;
  for (order.slab_count = 0; order.slab_count < needed; ++order.slab_count)
    order.slabs[order.slab_count] = pool.try_acquire();
  return true;
}

void held_order::granted(read_grant& g, std::span<const remote_extent> extents) noexcept {
  held_order& order = static_cast<order_grant&>(g).order;
  order.giver->tell(order, extents);
}

void held_order::over(read_grant& g) noexcept {
  held_order& order = static_cast<order_grant&>(g).order;
  order.giver->ended(order);
}

void right_giver::tell(held_order& order, std::span<const remote_extent> extents) noexcept {
  if (!order.open()) return;
  memory_right right;
  right.link = order.link->link_id();
  right.flags = order.has_checksum ? memory_right::checked : std::uint8_t{0};
  right.checksum = order.has_checksum ? order.checksum : 0;
  right.count = static_cast<std::uint8_t>(extents.size());
  std::ranges::copy(extents, right.extents.begin());
  message& m = endpoint_.acquire_message();
  const auto size = wire::encode_to(m.head_space(), right);
  SCOLL_ASSERT(size.has_value(), "a right exceeds its frame");
  m.set_head_bytes(*size);
  order.reply_part(m);
}

void right_giver::released(held_order& order) noexcept {
  if (order.slab_count == 0 && !order.grant.out()) return forget(order);
  if (order.grant.out()) order.link->end(order.grant);  // `ended` follows
}

/// No access is possible any more. If the link broke, the peer is about to cancel and to order anew.
void right_giver::ended(held_order& order) noexcept {
  slab_pool& pool = order.link->registrar().outgoing();
  while (order.slab_count != 0) pool.release(*order.slabs[--order.slab_count]);
  if (!waiting_.empty() && !refill_.scheduled()) endpoint_.get_executor().schedule(refill_);
  if (!order.open()) forget(order);
}

void right_giver::forget(held_order& order) noexcept {
  --(order.link == nullptr ? waiting_count_ : out_count_);
  order.link = nullptr;
  order.giver = nullptr;
  order.recalled = false;
  orders_.release(order);
}

void right_giver::drop_all_of(const session& peer) noexcept {
  for (auto* list : {&waiting_, &out_}) {
    for (held_order* order = list->first(); order != nullptr;) {
      held_order& each = *std::exchange(order, list->next(*order));
      if (!each.open() || each.from() != &peer) continue;
      each.drop();
      released(each);
    }
  }
}

void right_giver::close() noexcept {
  while (!out_.empty()) {
    held_order& order = out_.front();
    if (order.open()) order.drop();
    if (!order.grant.out()) {
      forget(order);
    } else {
      order.link->cut_now();
    }
  }
}

/// There are slabs again. An order of a peer that has its share already is passed by.
void right_giver::refilled() noexcept {
  for (held_order* order = waiting_.first(); order != nullptr;) {
    held_order& each = *std::exchange(order, waiting_.next(*order));
    if (const auto s = still_there(each); !s) {
      each.refuse(s.error());
      forget(each);
      continue;
    }
    remote_access* const link = each.from()->remote();
    if (link != nullptr && each.list_hook<>::linked()) {
      each.list_hook<>::unlink();
      if (try_give(each, *link)) {
        --waiting_count_;
      } else {
        kept_.push_back(each);
      }
      continue;
    }
    --waiting_count_;
    each.list_hook<>::unlink();
    answer_with_bytes(each);
  }
  waiting_.splice(kept_);
}

// ---- peers that do not release

void right_giver::watch() noexcept {
  if (!limit_.armed())
    endpoint_.get_executor().arm(limit_, endpoint_.get_executor().now() + limits::right_limit);
}

/// Somebody waits for a slab: rights that have been out for long are recalled, and their link is cut if that
/// does not help.
void right_giver::too_long() noexcept {
  if (waiting_.empty()) return;
  const time_point now = endpoint_.get_executor().now();
  for (held_order* order = out_.first(); order != nullptr; order = out_.next(*order)) {
    if (order->given_at + limits::right_limit > now || !order->grant.out()) continue;
    if (!order->recalled) {
      recall(*order);
    } else {
      order->link->cut();
    }
  }
  endpoint_.get_executor().arm(limit_, now + limits::recall_limit);
}

void right_giver::recall(held_order& order) noexcept {
  order.recalled = true;
  if (!order.open()) return;
  memory_right none;
  none.link = order.link->link_id();
  none.flags = memory_right::recalled;
  message& m = endpoint_.acquire_message();
  const auto size = wire::encode_to(m.head_space(), none);
  SCOLL_ASSERT(size.has_value(), "a recall exceeds its frame");
  m.set_head_bytes(*size);
  order.reply_part(m);
}

}  // namespace scoll::transport
