#pragma once

#include <cstdint>
#include <span>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "transport/session/message.hpp"

namespace scoll::transport {

class session;

/// What an exchange hears in the end, or per part.
struct reply_event {
  status outcome;                   ///< ok: the peer answered. Otherwise there is no head and no payload.
  bool final = true;                ///< nothing follows; otherwise the exchange stays pending
  bool reached = false;             ///< false: the request provably never left this node
  bool refused = false;             ///< the peer answered, with `outcome`: nothing was done with the request
  std::span<const std::byte> head;  ///< lives until the callback returns
  buffer_view payload;
  std::uint32_t payload_bytes = 0;  ///< also of a payload that was not lent
  payload_disposition fate = payload_disposition::lent;
};

/// The requesting side of the one request/reply primitive ("exchange"): a tree hop and a shipped call are
/// both one. Embedded in the object that waits. After `session::request` it ends exactly once: by a final
/// reply, by the loss of its session, or by `cancel`. A reply, or a part of one, whose payload exceeds the
/// capacity that was announced ends it with `too_large`.
class exchange : public list_hook<exchange> {
 public:
  using function = void (*)(exchange&, reply_event&) noexcept;

  explicit exchange(function on_reply) noexcept : on_reply_(on_reply) {}
  ~exchange() { SCOLL_ASSERT(session_ == nullptr, "an exchange was abandoned by its owner"); }

  bool pending() const noexcept { return session_ != nullptr; }
  /// True once the request has been handed to a link: from then on it may have been executed.
  bool transmitted() const noexcept { return transmitted_; }

  /// A large reply of class bulk, of exactly so many bytes, is written there as it arrives. Before the
  /// request; the memory must stay until the exchange has ended, or be recalled.
  void receive_into(const lent_range& into) noexcept { into_ = into; }

  /// Stops waiting, without a call of `on_reply`; the peer is told if it may know of the request. Returns
  /// whether the request had left this node (`reached`).
  bool cancel() noexcept;
  /// Asks the peer to end its work early; it still answers, and the exchange waits for that. False if the
  /// request never left this node: then the exchange has ended, without a call of `on_reply`.
  bool abort() noexcept;

 private:
  friend class session;

  function on_reply_;
  session* session_ = nullptr;
  message* queued_ = nullptr;  // the request, while it is not acknowledged
  std::uint64_t id_ = 0;       // slot and generation in its session
  lent_range into_;
  std::uint32_t reply_capacity_ = 0;
  traffic_class klass_ = traffic_class::urgent;
  bool transmitted_ = false;
};

/// The answering side: names one request that is being worked on. It holds the request's credit, which goes
/// back to the peer when it is replied to or dropped. Embedded in the object that works.
class incoming : public list_hook<incoming> {
 public:
  incoming() noexcept = default;
  ~incoming() { SCOLL_ASSERT(session_ == nullptr, "an incoming request was neither answered nor dropped"); }

  bool open() const noexcept { return session_ != nullptr; }
  session* from() const noexcept { return session_; }

  /// Sends the final reply and returns the credit. If the requester's session is gone, the reply goes
  /// nowhere. When its endpoint dies first, it is closed without one.
  void reply(message& m) noexcept;
  /// The final reply is an error of the transport: nothing was done with the request.
  void refuse(const error& reason) noexcept;
  /// Sends a part of the reply; more follows, and the credit stays here.
  void reply_part(message& m) noexcept;
  /// Returns the credit before the answer: for a layer that bounds the work it takes on by itself, and must
  /// not make its requesters wait for each other's credits in a circle.
  void release_credit() noexcept;
  /// Returns the credit without a reply: only for requests that were cancelled by their requester.
  void drop() noexcept;

 private:
  friend class session;
  friend class request_view;

  session* session_ = nullptr;
  std::uint64_t exchange_id_ = 0;
  std::uint64_t serial_ = 0;  // the session's generation it came in
  bool holds_credit_ = false;
  traffic_class klass_ = traffic_class::urgent;
};

}  // namespace scoll::transport
