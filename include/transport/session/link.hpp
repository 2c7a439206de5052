#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/buffer.hpp"
#include "transport/session/frame.hpp"
#include "transport/session/lent_memory.hpp"
#include "transport/session/link_guard.hpp"

namespace scoll::transport {

class memory_registrar;
class named_rails;
class remote_access;

/// One frame on its way out. Head and payload must stay valid until `link::write` returns. Lent memory may be
/// borrowed for longer.
struct frame_parts {
  std::span<const std::byte> head;  ///< the frame header and the head, contiguous
  std::span<const std::byte> payload;
  lent_range lent{};  ///< takes the place of `payload`, in the last frame of a batch only

  /// Calls `use(bytes)` for all pieces of the frame, in order.
  template <class Use>
  void each_piece(Use&& use) const {
    use(head);
    use(payload);
    lent.each_piece(use);
  }
};

/// Where the payload of a frame went.
enum class payload_disposition : std::uint8_t {
  lent,     ///< it is in the view's buffer
  placed,   ///< it was written where `link_events::place_payload` said
  dropped,  ///< `place_payload` gave no place, and it is too large to be lent
  torn,     ///< the memory it was written to was recalled meanwhile
  damaged,  ///< it was written, and its checksum differs
};

/// A frame that arrived whole and intact, except for what `fate` says. `head` is valid until the callback
/// returns; `payload` is valid as long as it is held.
struct frame_view {
  const frame_header& header;
  std::span<const std::byte> head;
  buffer_view payload;
  payload_disposition fate = payload_disposition::lent;
  /// A part of the payload was written where it belonged before an earlier connection broke. The owner of the
  /// link finds this out.
  bool torn_before = false;
};

/// The owner of a link, which is told what happens on it.
class link_events {
 public:
  virtual void on_frame(frame_view& frame) noexcept = 0;
  /// The payload of this frame is about to arrive. Returns where all of it is to be written; empty if it is
  /// not wanted. Called only for large payloads of class bulk. The call itself must have no effect;
  /// `on_frame` follows unless the link breaks first.
  virtual lent_range place_payload(const frame_header& header, std::span<const std::byte> head) noexcept {
    static_cast<void>(header);
    static_cast<void>(head);
    return {};
  }
  /// The transport has taken the last `write`, so the next one may come.
  virtual void on_writable() noexcept = 0;
  /// The link has broken, or the peer has ended it. The link has forgotten its owner. Called at most once.
  virtual void on_closed(const error& reason) noexcept = 0;

 protected:
  ~link_events() = default;
};

/// One connection on one rail. It carries frames both ways, in order, until it breaks. The rail owns it.
class link {
 public:
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  void set_owner(link_events* owner) noexcept { owner_ = owner; }

  /// True if `write` may be called: only one batch is in flight at a time.
  virtual bool writable() const noexcept = 0;
  /// The most bytes of one batch; at least `max_frame_bytes`.
  virtual std::size_t batch_bytes() const noexcept = 0;
  /// Takes a batch of frames; `on_writable` follows. The bytes are copied or sent before it returns, except
  /// that the link may borrow lent memory until `on_writable`.
  virtual void write(std::span<const frame_parts> frames) noexcept = 0;
  /// The layer above waits for `on_writable`; until this call the link may delay it.
  virtual void flush() noexcept {}
  /// The payload that is being written where `place_payload` said is not wanted there any more. The rest of
  /// it is read and dropped, and its frame has the fate `torn`.
  virtual void drop_landing() noexcept {}
  /// Hints that most of what arrives will be large.
  virtual void expect_bulk() noexcept {}
  /// The link is one of several that share what is to be sent: it must not take much more than it can send.
  virtual void keep_unsent_short() noexcept {}
  /// The reading of memory over this link, from `expect_bulk` on. Null if it cannot do that: then the bytes
  /// travel in frames.
  virtual remote_access* remote() noexcept { return nullptr; }
  /// The bytes of this link that the peer's transport has acknowledged, so far; nothing if that is not known.
  /// It is asked in doubt only, whether the other end is there.
  virtual std::optional<std::uint64_t> acknowledged_bytes() const noexcept { return std::nullopt; }
  /// Ends the link after what was written has been sent, without further calls to the owner. The link may be
  /// destroyed when this returns. A peer that does not read delays the end only for a bounded time.
  virtual void close() noexcept = 0;
  /// Ends the link at once, without further calls to the owner: what was written and has not been delivered
  /// is dropped, and nothing that still arrives is read. The peer learns of it only if something gets through
  /// to it. The link may be destroyed when this returns.
  virtual void sever() noexcept { close(); }

  /// Gives the connection a guard, which the link keeps. It seals and opens once it says so
  /// (`link_guard::sealing`, `link_guard::opening`), if the link can do that.
  void set_guard(std::unique_ptr<link_guard> guard) noexcept { guard_ = std::move(guard); }
  /// The guard; null if there is none.
  link_guard* guard() const noexcept { return guard_.get(); }
  /// True if this link seals and opens by its guard. With one that does not, the guard proves who is at the
  /// ends, and everything after that is in the clear.
  virtual bool can_seal() const noexcept { return false; }

  /// The peer's address as people read it, such as "127.0.0.1:4711".
  virtual std::string peer_name() const = 0;

 protected:
  link() noexcept = default;
  virtual ~link() = default;

  link_events* owner_ = nullptr;
  std::unique_ptr<link_guard> guard_;
};

/// The receiver of accepted connections.
class accept_events {
 public:
  virtual void on_accepted(link& accepted) noexcept = 0;
  /// The network interface of the rail has lost its carrier or its address, or has both again. That is a
  /// hint: it may be late, and it proves nothing about peers.
  virtual void on_interface_hint(bool usable) noexcept { static_cast<void>(usable); }

 protected:
  ~accept_events() = default;
};

/// A waiter for one connection. It must stay valid until one of the two functions has been called, or until
/// `cancel_connect`.
class connect_events {
 public:
  virtual void on_connected(link& connected) noexcept = 0;
  virtual void on_connect_failed(const error& reason) noexcept = 0;

 protected:
  ~connect_events() = default;
};

/// One local interface of one transport, by which peers can be reached. It makes and accepts links, and owns
/// them.
class rail {
 public:
  virtual ~rail() = default;

  /// Starts to accept connections. Errors name the address and the cause.
  virtual status listen(const std::string& address, accept_events& events) noexcept = 0;
  /// The address that `listen` has bound, with the actual port if port 0 was asked for.
  virtual std::string listen_address() const = 0;
  virtual void stop_listening() noexcept = 0;

  /// Says whether `address` could be one to connect to, by its form alone, in the calling thread and without
  /// waiting. It is one lane's, without `;bulk=`. A rail that knows no more refuses an empty address only.
  /// Error: `invalid_argument`, whose text names the address and says what is wrong with it.
  virtual status check_address(std::string_view address) const {
    if (!address.empty()) return {};
    return error(errc::invalid_argument, "the address is empty");
  }
  /// Begins to connect. The answer never comes from inside this call.
  virtual void connect(const std::string& address, connect_events& waiter) noexcept = 0;
  virtual void cancel_connect(connect_events& waiter) noexcept = 0;

  /// The registrars of the hardware behind this rail, numbered from 0; null beyond the last. A rail whose
  /// links have no `remote()` has none.
  virtual memory_registrar* registrar(std::size_t number) noexcept {
    static_cast<void>(number);
    return nullptr;
  }

  /// True if the links of this rail can seal.
  virtual bool can_guard() const noexcept { return false; }

  /// The transports of which this rail consists; null if an endpoint is to use it as a single one.
  virtual named_rails* parts() noexcept { return nullptr; }

  /// The number of links and connects that are open or still closing. A rail may be destroyed when this is 0
  /// and it does not listen.
  virtual std::size_t open() const noexcept = 0;
  /// Waits until `open()` has become 0.
  virtual task<void> all_closed() = 0;
};

}  // namespace scoll::transport
