#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "scoll/coro/error.hpp"
#include "transport/session/frame.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/link.hpp"
#include "transport/session/message.hpp"
#include "transport/session/rails/own_rail.hpp"
#include "transport/session/rails/path_news.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

/// A request that has just arrived. The handler accepts it and replies later through the `incoming`, or
/// refuses it.
class request_view {
 public:
  request_view(session& from, std::uint64_t exchange_id, traffic_class klass, std::uint32_t reply_capacity,
               frame_view& frame) noexcept
      : from_(from),
        exchange_id_(exchange_id),
        klass_(klass),
        reply_capacity_(reply_capacity),
        frame_(frame) {}

  session& from() const noexcept { return from_; }
  traffic_class klass() const noexcept { return klass_; }
  std::uint32_t reply_capacity() const noexcept { return reply_capacity_; }
  std::span<const std::byte> head() const noexcept { return frame_.head.subspan(message::envelope_bytes); }
  /// The payload, which may be moved from. Empty if the payload was not lent.
  buffer_view& payload() const noexcept { return frame_.payload; }
  /// The payload's size in bytes, even if it was not lent.
  std::uint32_t payload_bytes() const noexcept { return frame_.header.payload_bytes; }
  payload_disposition fate() const noexcept { return frame_.fate; }
  /// True if a part of the payload was written where it belonged before an earlier connection broke.
  bool torn_before() const noexcept { return frame_.torn_before; }

  /// Accepts the request: `work` now owes the reply.
  void accept(incoming& work) noexcept;
  /// Answers with an error of the transport. It says that nothing was done with the request, or, if
  /// `may_have_effects`, that perhaps a part of it was.
  void refuse(const error& reason, bool may_have_effects = false) noexcept;
  bool settled() const noexcept { return settled_; }

 private:
  session& from_;
  std::uint64_t exchange_id_;
  traffic_class klass_;
  std::uint32_t reply_capacity_;
  frame_view& frame_;
  bool settled_ = false;
};

/// The wish of a requester that its request ends early.
struct cancel_reason {
  /// True: the requester still waits for the answer. False: nobody hears the answer.
  bool answer_awaited = false;
  /// The requester's own reason; `cancelled` if it is one that this build does not know.
  errc why = errc::cancelled;
};

/// The layer above an endpoint, as the endpoint calls it. Several layers may share one endpoint, each with
/// its own traffic classes (`endpoint::route`).
class endpoint_events {
 public:
  virtual void on_request(request_view& request) noexcept = 0;
  /// Says where the payload of a large request of class bulk is written as it arrives; empty if it is not
  /// wanted. `head` is what `on_request` will see. The call itself must have no effect.
  virtual lent_range place_payload(std::span<const std::byte> head, std::uint32_t payload_bytes) noexcept {
    static_cast<void>(head);
    static_cast<void>(payload_bytes);
    return {};
  }
  /// The requester of `work` wants it to end early. If no answer is awaited, `work` stays open until it is
  /// dropped or answered all the same.
  virtual void on_cancelled(incoming& work, const cancel_reason& reason) noexcept = 0;
  /// A notice has arrived. `head` is valid until the call returns. Returns false if the notice says nothing
  /// that this layer knows; it is then counted and dropped. Called for the layer that has class urgent.
  virtual bool on_notice(session& from, std::span<const std::byte> head) noexcept {
    static_cast<void>(from);
    static_cast<void>(head);
    return false;
  }
  /// A session with this peer has begun, from either side. No message has been sent or received in it yet.
  /// This function may send notices. It is called for the layer that has class urgent.
  virtual void on_session_begun(session& peer) noexcept { static_cast<void>(peer); }
  /// All exchanges with this peer have ended. Answers to its requests can no longer reach it.
  virtual void on_session_lost(session& peer, const error& reason) noexcept = 0;
  /// The endpoint forgets this peer, a client, of which nothing is left.
  virtual void on_client_gone(node_id client) noexcept { static_cast<void>(client); }
  /// This node or the other side has refused a handshake. `peer` is 0 if the other side has not said who it
  /// is, or is unknown here; what it has said may be false. It is called for the layer that has class urgent.
  virtual void on_handshake_refused(node_id peer, const error& reason) noexcept {
    static_cast<void>(peer);
    static_cast<void>(reason);
  }
  /// A link was broken off because of what the other side sent. `peer` and the layer are those of
  /// `on_handshake_refused`.
  virtual void on_violation(node_id peer, const error& reason) noexcept {
    static_cast<void>(peer);
    static_cast<void>(reason);
  }
  /// Something has become of the secrets of the security mode, such as new keys that were read. It is called
  /// for the layer that has class urgent.
  virtual void on_security_news(std::string_view what) noexcept { static_cast<void>(what); }
  /// Something has become of the paths to a peer that has several. It is called for the layer that has class
  /// urgent.
  virtual void on_path_news(session& peer, const path_news& news) noexcept {
    static_cast<void>(peer);
    static_cast<void>(news);
  }
  /// One of this node's own rails is taken for dead, or is alive again. It is called for the layer that has
  /// class urgent.
  virtual void on_rail_news(const rail_news& news) noexcept { static_cast<void>(news); }
  /// Nothing is under way to the peer or from it, and it works at `owing` requests while `waiting` wait for
  /// it here: a bug, here or there. Nothing is done about it. It is called for the layer that has class
  /// urgent.
  virtual void on_answers_missing(node_id peer, std::size_t waiting, std::size_t owing) noexcept {
    static_cast<void>(peer);
    static_cast<void>(waiting);
    static_cast<void>(owing);
  }

 protected:
  ~endpoint_events() = default;
};

}  // namespace scoll::transport
