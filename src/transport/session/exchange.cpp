#include "transport/session/exchange.hpp"

#include <utility>

#include "scoll/coro/mutants.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/reply_flags.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

bool exchange::cancel(errc why) noexcept {
  const bool reached = transmitted_;
  if (session_ != nullptr) session_->cancel_exchange(*this, why);
  return reached;
}

bool exchange::abort(errc why) noexcept {
  if (linked()) return true;  // its session has ended, and it is about to be told so
  if (!pending() || !transmitted_) {
    cancel(why);
    return false;
  }
  session_->send_cancel(*this, true, why);
  return true;
}

void exchange::allow_part() noexcept {
  if (linked()) return;  // its session has ended, and it is about to be told so
  ++parts_allowed_;
  if (SCOLL_MUTANT(part_permission_lost, "a peer is not told that it may send one more part of its reply"))
    return;
  session_->send_note(*this, cancel_kinds::more_parts, errc::ok, parts_allowed_);
}

void exchange::move_to(exchange& other) noexcept {
  if (!pending() || linked()) {
    cancel();
    return;
  }
  session_->move_exchange(*this, other);
}

void incoming::reply(message& m) noexcept {
  session& to = *session_;
  unlink();
  session_ = nullptr;
  if (serial_ != to.serial_) {
    to.endpoint_.release_message(m);
    return;
  }
  to.owed_calls_ -= klass_ == traffic_class::call;
  if (holds_credit_) to.dispose(klass_);
  to.send_reply(exchange_id_, klass_, m, {}, true);
}

void incoming::refuse(const error& reason, bool may_have_effects) noexcept {
  session& to = *session_;
  const bool current = serial_ == to.serial_;
  drop();
  if (current) to.send_refusal(exchange_id_, klass_, reason, may_have_effects);
}

void incoming::reply_part(message& m) noexcept {
  session& to = *session_;
  if (serial_ != to.serial_) return to.endpoint_.release_message(m);
  if (parts_allowed_ != 0 && m.header().payload_bytes != 0) ++parts_sent_;
  to.send_reply(exchange_id_, klass_, m, {}, false);
}

/// The requester allows so many parts in all. A number that allows no more than an earlier one says nothing,
/// and neither does any where parts are not counted.
void incoming::allow_parts(std::uint32_t in_all) noexcept {
  if (parts_allowed_ == 0 || in_all <= parts_allowed_) return;
  parts_allowed_ = in_all;
  if (heard_ != nullptr) heard_(*this);
}

void incoming::release_credit() noexcept {
  if (holds_credit_ && serial_ == session_->serial_) session_->dispose(klass_);
  holds_credit_ = SCOLL_MUTANT(credit_twice, "a request gives its credit back twice");
}

void incoming::drop() noexcept {
  session& from = *session_;
  unlink();
  session_ = nullptr;
  from.endpoint_.note_progress();
  if (serial_ == from.serial_) from.owed_calls_ -= klass_ == traffic_class::call;
  if (holds_credit_ && serial_ == from.serial_) from.dispose(klass_);
}

void incoming::move_to(incoming& other) noexcept {
  SCOLL_ASSERT(open() && !other.open(), "an open request moves to a free incoming");
  const bool current = serial_ == session_->serial_;
  (current ? session_->incoming_ : session_->orphans_).push_back(other);
  unlink();
  other.session_ = std::exchange(session_, nullptr);
  other.exchange_id_ = exchange_id_;
  other.serial_ = serial_;
  other.parts_allowed_ = parts_allowed_;
  other.parts_sent_ = parts_sent_;
  other.heard_ = nullptr;
  other.holds_credit_ = holds_credit_;
  other.klass_ = klass_;
}

}  // namespace scoll::transport
