#include "transport/session/exchange.hpp"

#include "scoll/coro/mutants.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

bool exchange::cancel() noexcept {
  const bool reached = transmitted_;
  if (session_ != nullptr) session_->cancel_exchange(*this);
  return reached;
}

bool exchange::abort() noexcept {
  if (linked()) return true;  // its session has ended, and it is about to be told so
  if (!pending() || !transmitted_) {
    cancel();
    return false;
  }
  session_->send_cancel(*this, true);
  return true;
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

void incoming::refuse(const error& reason) noexcept {
  session& to = *session_;
  const bool current = serial_ == to.serial_;
  drop();
  if (current) to.send_refusal(exchange_id_, klass_, reason, false);
}

void incoming::reply_part(message& m) noexcept {
  session& to = *session_;
  if (serial_ != to.serial_) return to.endpoint_.release_message(m);
  to.send_reply(exchange_id_, klass_, m, {}, false);
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

}  // namespace scoll::transport
