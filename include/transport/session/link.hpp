#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/buffer.hpp"
#include "transport/session/frame.hpp"
#include "transport/session/lent_memory.hpp"

namespace scoll::transport {

/// One frame on its way out. Head and payload must live until `link::write` returns; what is lent may be
/// borrowed for longer.
struct frame_parts {
  std::span<const std::byte> head;  ///< frame header and head, in one piece
  std::span<const std::byte> payload;
  lent_range lent{};  ///< instead of `payload`; of the last frame of a batch only

  /// Calls `use(bytes)` for all of it, in order.
  template <class Use>
  void each_piece(Use&& use) const {
    use(head);
    use(payload);
    lent.each_piece(use);
  }
};

/// What became of a payload that arrived.
enum class payload_disposition : std::uint8_t {
  lent,     ///< it is in the loan
  placed,   ///< it was written where `link_events::place_payload` said
  dropped,  ///< nobody said where it should go, and it is too large to be lent
  torn,     ///< the memory it was written to was recalled meanwhile
  damaged,  ///< it was written, and its checksum differs
};

/// A frame that arrived whole and intact, except for what `fate` says. `head` lives until the callback
/// returns; `payload` as long as it is held.
struct frame_view {
  const frame_header& header;
  std::span<const std::byte> head;
  buffer_view payload;
  payload_disposition fate = payload_disposition::lent;
};

/// Who is told what happens on a link.
class link_events {
 public:
  virtual void on_frame(frame_view& frame) noexcept = 0;
  /// The payload of such a frame is about to arrive: where it is to be written, all of it, or nothing.
  /// Without effect; `on_frame` follows unless the link breaks first. Asked for large payloads of class bulk
  /// only.
  virtual lent_range place_payload(const frame_header& header, std::span<const std::byte> head) noexcept {
    static_cast<void>(header);
    static_cast<void>(head);
    return {};
  }
  /// The last `write` has been taken by the transport; the next one may come.
  virtual void on_writable() noexcept = 0;
  /// The link is broken or was ended by the peer; it has forgotten its owner. Called at most once.
  virtual void on_closed(const error& reason) noexcept = 0;

 protected:
  ~link_events() = default;
};

/// One connection on one rail: carries frames both ways, in order, until it breaks. Owned by its rail.
class link {
 public:
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  void set_owner(link_events* owner) noexcept { owner_ = owner; }

  /// Whether `write` may be called: one batch is in flight at a time.
  virtual bool writable() const noexcept = 0;
  /// How many bytes one batch may have; at least `max_frame_bytes`.
  virtual std::size_t batch_bytes() const noexcept = 0;
  /// Takes a batch of frames; `on_writable` follows. Its bytes are copied or sent before it returns, but for
  /// those of lent memory, which the link may borrow until then.
  virtual void write(std::span<const frame_parts> frames) noexcept = 0;
  /// Somebody waits for `on_writable`; until then it may take its time.
  virtual void flush() noexcept {}
  /// Most of what arrives will be large: a hint.
  virtual void expect_bulk() noexcept {}
  /// Ends the link after what was written, without further calls to the owner. The link may be gone when it
  /// returns. How long a peer that does not read can hold it up is bounded.
  virtual void close() noexcept = 0;

  /// For messages to people: "127.0.0.1:4711".
  virtual std::string peer_name() const = 0;

 protected:
  link() noexcept = default;
  virtual ~link() = default;

  link_events* owner_ = nullptr;
};

/// Who receives connections that others made.
class accept_events {
 public:
  virtual void on_accepted(link& accepted) noexcept = 0;

 protected:
  ~accept_events() = default;
};

/// Who waits for a connection it asked for. It must stay until one of the two has been called or
/// `cancel_connect`.
class connect_events {
 public:
  virtual void on_connected(link& connected) noexcept = 0;
  virtual void on_connect_failed(const error& reason) noexcept = 0;

 protected:
  ~connect_events() = default;
};

/// One (transport, local interface) that peers can be reached by: makes and accepts links. Owns them.
class rail {
 public:
  virtual ~rail() = default;

  /// Starts to accept. Errors name the address and the cause.
  virtual status listen(const std::string& address, accept_events& events) noexcept = 0;
  /// What `listen` really bound, with the port if that was 0.
  virtual std::string listen_address() const = 0;
  virtual void stop_listening() noexcept = 0;

  /// Begins to connect. The answer comes later, never from inside this call.
  virtual void connect(const std::string& address, connect_events& waiter) noexcept = 0;
  virtual void cancel_connect(connect_events& waiter) noexcept = 0;

  /// Links and connects that are still open or closing; a rail may be destroyed when it is 0 and it does not
  /// listen.
  virtual std::size_t open() const noexcept = 0;
  /// Waits until `open()` has become 0.
  virtual task<void> all_closed() = 0;
};

}  // namespace scoll::transport
