#include "transport/session/greeter.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/io/control_frame.hpp"
#include "transport/session/client_table.hpp"
#include "transport/session/greeting_room.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

namespace {

/// Tells hosts apart, whatever port a connection comes from.
std::uint64_t number_of_host(std::string_view peer_name) noexcept {
  return wire::checksum(std::as_bytes(std::span(peer_name.substr(0, peer_name.rfind(':')))));
}

}  // namespace

endpoint::greeter::greeter(endpoint& owner, link& l, std::uint8_t by, std::uint64_t host) noexcept
    : owner_(owner), link_(&l), rail_(by), host_(host) {
  link_->set_owner(this);
  if (SCOLL_MUTANT(greeting_untimed, "a connection that says nothing may stay")) return;
  owner_.executor_.arm(timer_, owner_.executor_.now() + owner_.options_.hello_limit);
}

endpoint::greeter::~greeter() {
  if (timer_.armed()) owner_.executor_.disarm(timer_);
  if (link_ == nullptr) return;
  link_->set_owner(nullptr);
  link_->close();
}

void endpoint::greeter::refuse(node_id peer, const error& reason) noexcept {
  ++owner_.statistics_.links_refused;
  owner_.note_refusal(peer, reason);
  if (!link_->writable()) return;
  refusal r;
  r.code = static_cast<std::uint16_t>(reason.code());
  r.node = owner_.options_.self;
  r.incarnation = owner_.options_.incarnation;
  r.text = reason.text();
  std::array<std::byte, max_control_payload_bytes> payload;
  const auto size = wire::encode_to(payload, r);
  if (!size) return;
  frame_header header;
  header.type = frame_type::refuse;
  write_control(*link_, header, std::span(payload).first(*size));
}

void endpoint::greeter::turn_away(const error& reason) noexcept {
  refuse(0, printable(reason.code(), reason.text()));
  if (SCOLL_MUTANT(greeting_place_kept, "a connection that is turned away keeps its place"))
    ++owner_.handshake_count_;
  leave();
}

void endpoint::greeter::leave() noexcept {
  if (!owes_proof_ || !timer_.armed() ||
      SCOLL_MUTANT(place_freed_without_proof, "who hangs up in a handshake frees its place"))
    return owner_.finish(*this);
  if (link_ == nullptr) return;
  link_->set_owner(nullptr);
  std::exchange(link_, nullptr)->close();
}

void endpoint::greeter::on_frame(frame_view& frame) noexcept {
  if (opened_) {
    const link_guard* const guard = link_->guard();
    const bool must_prove = guard != nullptr && !guard->opening();
    const bool goes_on = frame.header.type == frame_type::identity &&
                         SCOLL_MUTANT(guard_left_out, "an identity is taken though nothing was proven");
    return must_prove && !goes_on ? on_step(frame) : on_introduced(frame);
  }
  if (const auto s = on_hello(frame); !s) turn_away(s.error());
}

status endpoint::greeter::on_hello(const frame_view& frame) noexcept {
  if (frame.header.type != frame_type::hello)
    return error(errc::malformed, "the first frame of a connection must be a hello");
  const auto version = spoken_version(frame.payload.bytes);
  const auto said = wire::decode_from<hello>(frame.payload.bytes);
  // A later version may have other fields after the version, and may understand this one.
  if (version < protocol_version || (said && said->lowest > protocol_version) ||
      (!said && version != protocol_version)) {
    return make_error(errc::version_mismatch, "{} speaks protocol {}, node {} speaks {}", peer_name(),
                      version, owner_.options_.self, protocol_version);
  }
  if (!said) return said.error();
  if (said->lane >= lane_count) return make_error(errc::malformed, "there is no lane {}", said->lane);
  if (const auto s = begin_guard(*said); !s) return s;
  lane_ = said->lane;
  opened_ = true;
  return {};
}

/// Answers a question, which begins no session, and ends the connection.
void endpoint::greeter::say_who_is_here(const identity& asked) noexcept {
  identity here;
  here.lane = lane_;
  here.node = owner_.options_.self;
  here.target = asked.node;
  here.incarnation = owner_.options_.incarnation;
  here.cluster = owner_.options_.cluster;
  if (link_->guard() != nullptr) here.channel = link_->guard()->channel();
  if (link_->writable()) {
    greeting_room room;
    frame_header header;
    header.type = frame_type::welcome;
    const frame_parts frame = room.encode(header, here);
    link_->write({&frame, 1});
  }
  owner_.finish(*this);
}

void endpoint::greeter::on_closed(const error& reason) noexcept {
  link_ = nullptr;
  if (reason != errc::connection_lost && reason != errc::io_error) owner_.note_violation(0, reason);
  leave();
}

void endpoint::greeter::too_late() noexcept {
  if (link_ == nullptr) return owner_.finish(*this);
  refuse(0, {errc::deadline_exceeded, "no hello within the limit"});
  owner_.finish(*this);
}

/// A link too many is closed without a refusal, because what is written keeps the connection open until its
/// peer has read it.
void endpoint::accept(link& accepted, std::uint8_t by) noexcept {
  const std::string from = accepted.peer_name();
  const std::uint64_t host = number_of_host(from);
  std::uint32_t of_host = 1;
  for (greeter* g = greeters_.first(); g != nullptr; g = greeters_.next(*g)) of_host += g->host() == host;
  auto* guest = new greeter(*this, accepted, by, host);
  greeters_.push_back(*guest);
  error reason;
  if (++handshake_count_ > options_.handshake_limit) {
    reason =
        make_error(errc::busy, "{} connections have not introduced themselves: link.handshake_limit is {}",
                   handshake_count_, options_.handshake_limit);
  } else if (of_host > options_.handshakes_per_host &&
             !SCOLL_MUTANT(greetings_of_host_unbounded, "one host may take all places of a greeting")) {
    reason =
        make_error(errc::busy, "{:.48} has {} connections that say nothing: link.handshakes_per_host is {}",
                   from, of_host, options_.handshakes_per_host);
  } else {
    return;
  }
  ++statistics_.links_refused;
  note_refusal(0, reason);
  finish(*guest);
}

void endpoint::finish(greeter& done) noexcept {
  --handshake_count_;
  delete &done;
}

/// Checks who speaks, and whether it means this node. The result is the session with it.
result<session*> endpoint::introduce(const identity& said, std::string_view from) noexcept {
  if (said.cluster != options_.cluster)
    return make_error(errc::wrong_cluster, "this is cluster '{}', not '{}'", options_.cluster, said.cluster);
  if (said.target != options_.self)
    return make_error(errc::not_member, "this is node {}, not {}", options_.self, said.target);
  const bool client = (said.flags & identity_flags::client) != 0;
  if (client != is_client(said.node)) return error(errc::malformed, "only a client has the id of a client");
  session* const peer = find(said.node);
  if (draining_ && (peer == nullptr || peer->peer_epoch_ == 0))
    return make_error(errc::closed, "node {} is shutting down", options_.self);
  if (client) return clients().admit(said, from);
  if (peer == nullptr)
    return make_error(errc::not_member, "node {} does not know node {}", options_.self, said.node);
  return peer;
}

void endpoint::on_identity(greeter& from, std::uint8_t lane_number, frame_view& frame) noexcept {
  node_id who = 0;
  const auto turn_away = [&](const error& reason) {
    from.refuse(who, printable(reason.code(), reason.text()));
    finish(from);
  };
  if (frame.header.type == frame_type::secure)
    return turn_away({errc::malformed, "a step of a security mode, though none was agreed on"});
  if (frame.header.type != frame_type::identity)
    return turn_away({errc::malformed, "a hello must be followed by an identity"});
  const auto said = wire::decode_from<identity>(frame.payload.bytes);
  if (!said) return turn_away(said.error());
  if (said->version != protocol_version || said->lane != lane_number)
    return turn_away({errc::malformed, "the identity contradicts the hello"});
  if (const auto s = from.check(*said); !s) return turn_away(s.error());
  if (said->from_rail >= max_rails || said->to_rail >= max_rails)
    return turn_away(
        make_error(errc::malformed, "there is no rail {}", std::max(said->from_rail, said->to_rail)));
  if (find(said->node) != nullptr) who = said->node;  // a stranger may say any number
  if (said->target == 0 && said->cluster == options_.cluster) return from.say_who_is_here(*said);
  const auto known = introduce(*said, from.peer_name());
  if (!known) return turn_away(known.error());
  if (const auto s = from.name(**known); !s) return turn_away(s.error());
  lane& l = (*known)->lane_at(static_cast<lane_id>(lane_number));
  const path_key by = (*known)->path_from(from.rail(), said->from_rail);
  const auto continues = (*known)->on_identity(*said, l, by);
  if (!continues) return turn_away(continues.error());
  link& accepted = from.give_up_link();
  finish(from);
  l.adopt(accepted, *said, frame.header, *continues, by);
}

}  // namespace scoll::transport
