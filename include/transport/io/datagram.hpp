#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "scoll/coro/result.hpp"
#include "transport/io/buffer.hpp"
#include "transport/io/datagram_address.hpp"

namespace scoll::transport {

/// The largest payload, in bytes, that any port carries: the limit of UDP over IPv4.
inline constexpr std::size_t datagram_bytes_limit = 65507;

/// The owner of a `datagram_port`, which receives its datagrams.
class datagram_events {
 public:
  /// A whole datagram has arrived; it may be empty. The network guarantees nothing about it: it may be
  /// altered, repeated, late, or from a forged source. `bytes` are valid until this function returns, or for
  /// as long as a copy of the view exists; each such copy keeps one receive buffer from use. The port may be
  /// closed from here, but not destroyed.
  virtual void on_datagram(const datagram_address& source, const buffer_view& bytes) noexcept = 0;

 protected:
  ~datagram_events() = default;
};

/// Counts of datagrams since the port was constructed. The numbers only grow.
struct datagram_statistics {
  /// Datagrams that the network has taken; they may still be lost.
  std::uint64_t sent = 0;
  /// Payload bytes of `sent`.
  std::uint64_t sent_bytes = 0;
  /// Datagrams that `send` refused because too many were on their way out.
  std::uint64_t busy = 0;
  /// Datagrams that `send` accepted and the operating system then refused.
  std::uint64_t send_errors = 0;
  /// The errno of the latest of `send_errors`.
  std::int32_t last_send_error = 0;
  /// Datagrams given to the owner.
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  /// Datagrams longer than `max_datagram_bytes`, which were dropped.
  std::uint64_t truncated = 0;
  /// Datagrams that arrived when there was no room for them.
  std::uint64_t dropped = 0;
  std::uint64_t receive_errors = 0;
};

/// Sends and receives datagrams at one address. Delivery is unreliable and unordered, and no call ever waits.
/// The layers above run unchanged over UDP and in the simulator. All memory is bounded and is allocated by
/// the time of the first datagrams. Thread: its executor's only.
class datagram_port {
 public:
  virtual ~datagram_port() = default;
  datagram_port(const datagram_port&) = delete;
  datagram_port& operator=(const datagram_port&) = delete;

  /// Opens the port at an address of this host and begins to receive. Datagrams leave from this address; if
  /// it is a wildcard, routing chooses the source. Errors name the cause, and the address or the option that
  /// is out of range. `events` must stay valid until the port is closed.
  virtual status bind(const std::string& address, datagram_events& events) noexcept = 0;
  /// The address that `bind` has bound, with the actual port number if port 0 was asked for. Empty before
  /// `bind`.
  virtual std::string bound_address() const = 0;

  /// Reads an address for ports of this kind from a text. It looks up no names, so it never blocks.
  virtual result<datagram_address> parse(std::string_view text) const = 0;
  /// Prints an address in the form that `parse` reads.
  virtual std::string print(const datagram_address& address) const = 0;

  /// The largest payload, in bytes, of a datagram sent or received.
  virtual std::size_t max_datagram_bytes() const noexcept = 0;

  /// Copies the bytes and sends them as one datagram. The datagrams of one turn leave together, at its end.
  /// Errors: `too_large`; `busy` (as many datagrams as the options allow are on their way out); `closed`;
  /// `invalid_argument` (an address of another kind). Later failures are only counted: a datagram is never
  /// acknowledged.
  virtual status send(const datagram_address& to, std::span<const std::byte> bytes) noexcept = 0;

  /// Ends receiving: the owner gets no further calls. Datagrams sent in this turn still leave.
  virtual void close() noexcept = 0;
  /// True while the port is bound or still closing. Once it is false, the port may be destroyed or bound
  /// again.
  virtual bool open() const noexcept = 0;

  /// The counts so far. The call may ask the operating system for some of them.
  virtual datagram_statistics statistics() const noexcept = 0;

 protected:
  datagram_port() noexcept = default;
};

}  // namespace scoll::transport
