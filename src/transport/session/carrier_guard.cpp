#include <array>

#include "transport/io/control_frame.hpp"
#include "transport/session/carrier.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/greeting_room.hpp"
#include "transport/session/guarded_greeting.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

/// True on a connection that this side has made, until the peer has announced its records.
bool carrier::is_being_guarded() const noexcept {
  return state_ == state::greeting && link_->guard() != nullptr && !link_->guard()->opening();
}

void carrier::begin_guard() noexcept {
  const auto begun = guarded_greeting::begin(*link_, *at().options().security, lane_.id());
  at().tell_security_news();
  if (!begun) refused_by_us(begun.error());
}

/// The last steps may tell the peer why this side does not believe it.
void carrier::on_step(const frame_view& frame) noexcept {
  const status taken = guarded_greeting::take(*link_, frame);
  if (taken) return advance_guard();
  static_cast<void>(guarded_greeting::write_steps(*link_));
  const error why = printable(taken.error().code(), taken.error().text());
  why == errc::not_authentic ? refused_by_us(why) : violated(why);
}

void carrier::advance_guard() noexcept {
  if (!guarded_greeting::advance(*link_)) return;
  greeting_room who;
  const frame_parts frame = encode_identity(who, frame_type::identity);
  link_->write({&frame, 1});
}

}  // namespace scoll::transport
