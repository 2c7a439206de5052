#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "transport/session/message.hpp"

namespace scoll::transport {

class session;

/// The event that an exchange receives at its end, or with each part of a reply.
struct reply_event {
  /// Ok: the peer answered. Otherwise there is no head and no payload.
  status outcome;
  /// True: nothing follows. Otherwise the exchange stays pending.
  bool final = true;
  /// False: the request provably never left this node.
  bool reached = false;
  /// True: the peer answered with `outcome` and did nothing with the request.
  bool refused = false;
  /// The upper layer's head; valid until the callback returns.
  std::span<const std::byte> head;
  buffer_view payload;
  /// The payload's size in bytes, even if it was not lent.
  std::uint32_t payload_bytes = 0;
  payload_disposition fate = payload_disposition::lent;
  /// The XXH3 that the payload was compared with. Empty if it came without one.
  std::optional<std::uint64_t> payload_checksum;
};

/// The requesting side of the one request/reply primitive, the exchange; a tree hop and a shipped call are
/// both exchanges. It is part of the object that waits. After `session::request` it ends exactly once: by a
/// final reply, by the loss of its session, or by `cancel`. A reply, or a part of one, whose payload exceeds
/// the announced capacity ends it with `too_large`.
class exchange : public list_hook<exchange> {
 public:
  using function = void (*)(exchange&, reply_event&) noexcept;

  explicit exchange(function on_reply) noexcept : on_reply_(on_reply) {}
  ~exchange() { SCOLL_ASSERT(session_ == nullptr, "an exchange was abandoned by its owner"); }

  bool pending() const noexcept { return session_ != nullptr; }
  /// True once the request has been handed to a link. From then on it may have been executed.
  bool transmitted() const noexcept { return transmitted_; }

  /// Has a large reply of class bulk, of exactly the size of `into`, written there as it arrives. Call it
  /// before the request. The memory must stay valid until the exchange has ended, or be recalled.
  void receive_into(const lent_range& into) noexcept { into_ = into; }

  /// Has the parts of the reply that carry a payload counted: the peer may send so many of them before
  /// `allow_part`. One beyond ends the exchange with `malformed`. Call it before the request. 0: they are not
  /// counted.
  void count_parts(std::uint32_t at_first) noexcept { parts_allowed_ = at_first; }
  /// Allows the peer one more part with a payload. It is for an exchange that is pending and counts them.
  void allow_part() noexcept;

  /// Stops waiting, without a call of `on_reply`. If the peer may know of the request, it is told that the
  /// request is cancelled, and why. Returns true if the request had left this node (`reached`).
  bool cancel(errc why = errc::cancelled) noexcept;
  /// Asks the peer to end its work early, and says why. The peer still answers, and the exchange waits for
  /// that. False if the request never left this node: then the exchange has ended without a call of
  /// `on_reply`.
  bool abort(errc why = errc::cancelled) noexcept;
  /// Hands the exchange over to another one, which is free and waits for the reply from now on, without a
  /// place for it. If there is nothing to wait for any more, `other` stays free.
  void move_to(exchange& other) noexcept;

 private:
  friend class session;

  function on_reply_;
  session* session_ = nullptr;
  message* queued_ = nullptr;  // the request, while it is not acknowledged
  std::uint64_t id_ = 0;       // slot and generation in its session
  lent_range into_;
  std::uint32_t reply_capacity_ = 0;
  std::uint32_t parts_allowed_ = 0;  // in all; 0: parts are not counted
  std::uint32_t parts_heard_ = 0;    // of those that are counted
  traffic_class klass_ = traffic_class::urgent;
  bool transmitted_ = false;
};

/// The answering side: it stands for one request that is being worked on. It holds the request's credit,
/// which returns to the peer when the request is replied to or dropped. It is part of the object that works.
class incoming : public list_hook<incoming> {
 public:
  incoming() noexcept = default;
  ~incoming() { SCOLL_ASSERT(session_ == nullptr, "an incoming request was neither answered nor dropped"); }

  bool open() const noexcept { return session_ != nullptr; }
  session* from() const noexcept { return session_; }

  /// Sends the final reply and returns the credit. If the requester's session is gone, the reply is
  /// discarded. If the endpoint is destroyed first, the request is closed without a reply.
  void reply(message& m) noexcept;
  /// Sends a final reply that is an error of the transport: nothing was done with the request, or, if
  /// `may_have_effects`, perhaps a part of it.
  void refuse(const error& reason, bool may_have_effects = false) noexcept;
  /// Sends a part of the reply. More follows, and the credit is kept. A part with a payload uses one of
  /// `parts_left`, if the requester counts them.
  void reply_part(message& m) noexcept;
  /// The parts with a payload that the requester allows now; 0 if it does not count them.
  std::uint32_t parts_left() const noexcept { return parts_allowed_ - parts_sent_; }
  /// Has `heard` called whenever the requester has allowed more parts, until the request is closed.
  void hear_of_permission(void (*heard)(incoming&) noexcept) noexcept { heard_ = heard; }
  /// Returns the credit before the answer. This is for a layer that bounds its own work and must not make
  /// requesters wait for each other's credits in a circle.
  void release_credit() noexcept;
  /// Returns the credit without a reply. Only for requests that their requester has cancelled.
  void drop() noexcept;
  /// Hands the request over to another object, which is free and owes the reply from now on.
  void move_to(incoming& other) noexcept;

 private:
  friend class session;
  friend class request_view;

  void allow_parts(std::uint32_t in_all) noexcept;

  session* session_ = nullptr;
  std::uint64_t exchange_id_ = 0;
  std::uint64_t serial_ = 0;  // the session's generation when the request arrived
  std::uint32_t parts_allowed_ = 0;
  std::uint32_t parts_sent_ = 0;
  void (*heard_)(incoming&) noexcept = nullptr;
  bool holds_credit_ = false;
  traffic_class klass_ = traffic_class::urgent;
};

}  // namespace scoll::transport
