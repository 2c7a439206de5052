#include <memory>
#include <string>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/greeter.hpp"
#include "transport/session/guarded_greeting.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {
namespace {

/// The numbers of modes on the wire: none, psk, tls.
constexpr std::uint8_t known_modes = 3;

}  // namespace

/// A node with a security mode accepts no other one, in particular none.
status endpoint::greeter::begin_guard(const hello& said) noexcept {
  link_security* const security = owner_.options_.security.get();
  if (said.security >= known_modes)
    return make_error(errc::unsupported, "node {} has no security mode {}", owner_.options_.self,
                      said.security);
  const std::uint8_t mode = security == nullptr ? std::uint8_t{0} : security->mode();
  if (said.security == 0 &&
      SCOLL_MUTANT(security_none_accepted, "a node with a security mode takes connections that offer none"))
    return {};
  if (said.security != mode) {
    return make_error(errc::not_authentic, "node {} has security.mode {}, which {:.40} does not use",
                      owner_.options_.self, security == nullptr ? "none" : security->name(), peer_name());
  }
  if (security == nullptr) return {};
  auto guard = security->accept(said);
  owner_.tell_security_news();
  if (!guard) return guard.error();
  link_->set_guard(std::move(*guard));
  return {};
}

void endpoint::greeter::on_step(const frame_view& frame) noexcept {
  owes_proof_ = true;
  const status taken = guarded_greeting::take(*link_, frame);
  if (!taken) return turn_away(taken.error());
  static_cast<void>(guarded_greeting::write_steps(*link_));
  link_guard& guard = *link_->guard();
  if (!guard.proven()) return;
  owes_proof_ = false;
  guard.seal_from_now();
  guard.open_from_now();
}

/// The answer to an identity is written at once, so the identity waits for a step that is still leaving.
void endpoint::greeter::on_introduced(frame_view& frame) noexcept {
  if (held_) return turn_away({errc::malformed, "a frame behind an identity that has no answer yet"});
  if (link_->guard() == nullptr || link_->writable()) return owner_.on_identity(*this, lane_, frame);
  held_ = frame.header;
  held_payload_ = std::move(frame.payload);
  link_->flush();
}

void endpoint::greeter::on_writable() noexcept {
  const link_guard* const guard = link_->guard();
  if (guard == nullptr) return;
  if (!guarded_greeting::write_steps(*link_) || !held_) return;
  const frame_header header = *std::exchange(held_, std::nullopt);
  frame_view frame{header, {}, std::move(held_payload_)};
  owner_.on_identity(*this, lane_, frame);
}

status endpoint::greeter::name(session& of) const {
  const link_guard* const guard = link_->guard();
  if (guard == nullptr || !is_client(of.peer())) return {};
  const std::string_view name = guard->client_name(owner_.options_.cluster);
  if (name == of.client_name()) return {};
  if (of.peer_epoch_ != 0)
    return make_error(errc::not_authentic, "the id is that of client {:.40}, not of {:.40}", of.client_name(),
                      name);
  of.client_name_ = std::make_unique<const std::string>(name);
  return {};
}

status endpoint::greeter::check(const identity& said) const noexcept {
  return guarded_greeting::check(*link_, said, owner_.options_.cluster);
}

}  // namespace scoll::transport
