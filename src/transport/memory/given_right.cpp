#include "transport/memory/given_right.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "scoll/coro/executor.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/limits.hpp"

namespace scoll::transport {

/// The memory is taken away while the peer may read it.
void given_right::hold::taken(borrower& self) noexcept {
  given_right& right = static_cast<hold&>(self).owner;
  ++right.giver_.count_.forced_fences;
  right.at_->cut_now();
}

void given_right::on_granted(std::span<const remote_extent> extents) noexcept {
  memory_right what;
  what.link = at_->id();
  what.flags = checked_ ? memory_right::checked : std::uint8_t{0};
  what.checksum = checksum_;
  what.set_extents(extents);
  if (holder_ != nullptr) holder_->on_right(what);
}

void given_right::on_ended() noexcept {
  right_giver& giver = giver_;
  right_holder* const holder = std::exchange(holder_, nullptr);
  if (copy_ != nullptr) pool_->release(*std::exchange(copy_, nullptr));
  pin_.give_back();
  if (span_ != nullptr) std::exchange(span_, nullptr)->end_use();
  at_ = nullptr;
  list_hook<>::unlink();
  giver.free_.push_front(*this);
  --giver.out_count_;
  if (holder != nullptr) holder->on_right_ended();
  giver.freed_(giver.object_);
}

right_giver::~right_giver() {
  end_all();
  if (press_timer_.armed()) executor_.disarm(press_timer_);
}

given_right& right_giver::acquire() {
  if (free_.empty()) {
    for (std::size_t i = 0; i < step; ++i) {
      all_.push_back(std::make_unique<given_right>(*this));
      free_.push_back(*all_.back());
    }
  }
  return free_.pop_front();
}

/// Takes a slab for a peer that has less than half of them.
slab* right_giver::take_slab(slab_pool& pool, const session& peer) noexcept {
  std::size_t its = 0;
  for (given_right* r = staged_.first(); r != nullptr; r = staged_.next(*r))
    its += r->pool_ == &pool && r->peer_ == &peer;
  const bool fair = its < std::max<std::size_t>(1, pool.size() / 2);
  if (slab* const taken = fair ? pool.try_acquire() : nullptr) return taken;
  starved_ = true;
  if (!press_timer_.armed()) executor_.arm(press_timer_, executor_.now() + limits::right_limit);
  return nullptr;
}

given_right* right_giver::give(right_holder& holder, const session& peer, remote_access& at,
                               const lent_range& range, const right_terms& terms) noexcept {
  registered_range found;
  if (!terms.copied) found = registered_.find(at.registrar(), range);
  if (found.span != nullptr && !found.span->grants_reads()) found = {};
  // A right to a few bytes of many small pieces would not be worth its message.
  const bool direct = found.size == range.size || found.size > placed_payload_bytes;
  slab_pool& pool = at.registrar().outgoing();
  slab* const copy = direct ? nullptr : take_slab(pool, peer);
  if (!direct && copy == nullptr) return nullptr;
  given_right& right = acquire();
  right.holder_ = &holder;
  right.peer_ = &peer;
  right.at_ = &at;
  right.pool_ = &pool;
  right.copy_ = copy;
  right.recalled_ = right.ending_ = false;
  right.checked_ = terms.checked;
  right.given_at_ = executor_.now();
  if (direct) {
    SCOLL_ASSERT(found.span != nullptr, "registered memory has a span");
    right.size_ = found.size;
    right.span_ = found.span;
    found.span->begin_use();
    right.pin_.pin(*range.memory);
  } else {
    right.size_ = static_cast<std::uint32_t>(std::min<std::size_t>(range.size, copy->memory.bytes.size()));
    found.pieces[0] = copy->memory;
    found.pieces[0].bytes = copy->memory.bytes.first(right.size_);
    found.count = 1;
    range.memory->copy_out(range.offset, found.pieces[0].bytes);
    count_.staged_bytes += right.size_;
  }
  right.checksum_ = terms.known     ? *terms.known
                    : terms.checked ? range.memory->checksum(range.offset, right.size_)
                                    : 0;
  (direct ? direct_ : staged_).push_back(right);
  ++out_count_;
  ++count_.grants;
  at.grant(right, found.view());
  return &right;
}

void right_giver::end(given_right& right) noexcept {
  if (std::exchange(right.ending_, true)) return;
  right.at_->end(right);
}

void right_giver::recall(given_right& right) noexcept {
  if (std::exchange(right.recalled_, true) || right.ending_) return;
  ++count_.recalls;
  if (right.holder_ != nullptr) right.holder_->on_recall();
}

void right_giver::recall(const lent_memory& memory) noexcept {
  for (given_right* r = direct_.first(); r != nullptr;) {
    given_right& each = *std::exchange(r, direct_.next(*r));
    if (each.pin_.memory() == &memory) recall(each);
  }
}

void right_giver::cut(const lent_memory& memory) noexcept {
  for (given_right* r = direct_.first(); r != nullptr; r = direct_.next(*r)) {
    if (r->pin_.memory() == &memory) r->at_->cut();
  }
}

/// Somebody waits for a slab: rights that have been out for long are recalled, then cut off.
void right_giver::press() noexcept {
  if (!std::exchange(starved_, false)) return;
  const time_point now = executor_.now();
  for (given_right* r = staged_.first(); r != nullptr;) {
    given_right& each = *std::exchange(r, staged_.next(*r));
    if (now - each.given_at_ >= limits::right_limit + limits::recall_limit) {
      each.at_->cut();
    } else if (now - each.given_at_ >= limits::right_limit) {
      recall(each);
    }
  }
  freed_(object_);  // whoever still waits says so again
  executor_.arm(press_timer_, now + limits::recall_limit);
}

void right_giver::end_all() noexcept {
  for (intrusive_list<given_right>* list : {&direct_, &staged_}) {
    while (!list->empty()) {
      given_right& right = list->front();
      right.at_->cut_now();
      right.list_hook<read_grant>::unlink();
      right.on_ended();
    }
  }
}

}  // namespace scoll::transport
