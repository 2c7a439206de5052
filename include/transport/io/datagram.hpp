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

/// The most payload that any port carries: what UDP over IPv4 has room for.
inline constexpr std::size_t datagram_bytes_limit = 65507;

/// Who is told of datagrams.
class datagram_events {
 public:
  /// One has arrived, whole; it may be empty. Nothing else is known of it: it may be altered, a repetition,
  /// late, or from anybody. `bytes` are valid until this returns, or for as long as a copy of the loan is
  /// held: then a receive buffer is missing. The port may be closed from here, not destroyed.
  virtual void on_datagram(const datagram_address& source, const buffer_view& bytes) noexcept = 0;

 protected:
  ~datagram_events() = default;
};

/// What became of datagrams since the port was made; the numbers only grow.
struct datagram_statistics {
  std::uint64_t sent = 0;            ///< taken by the network; whether they arrive is another matter
  std::uint64_t sent_bytes = 0;      ///< payload
  std::uint64_t busy = 0;            ///< refused because too many were on their way out
  std::uint64_t send_errors = 0;     ///< accepted, then refused by the operating system
  std::int32_t last_send_error = 0;  ///< errno of the latest of them
  std::uint64_t received = 0;        ///< given to the owner
  std::uint64_t received_bytes = 0;
  std::uint64_t truncated = 0;  ///< longer than `max_datagram_bytes`, and dropped
  std::uint64_t dropped = 0;    ///< arrived when there was no room for them
  std::uint64_t receive_errors = 0;
};

/// Sends and receives datagrams at one address: unreliable, unordered, and never waiting for anybody.
/// What is above runs unchanged over UDP and in the simulator. All memory is bounded and reserved by
/// the time of the first datagrams; after that none is allocated. Not thread-safe: for its executor's thread.
class datagram_port {
 public:
  virtual ~datagram_port() = default;
  datagram_port(const datagram_port&) = delete;
  datagram_port& operator=(const datagram_port&) = delete;

  /// Opens the port at an address of this host and begins to receive. Errors name the address, or the option
  /// that is out of range, and the cause. Datagrams sent leave from this address; from a wildcard they leave
  /// as routing says.
  virtual status bind(const std::string& address, datagram_events& events) noexcept = 0;
  /// What `bind` really bound, with the port number if that was 0; empty before.
  virtual std::string bound_address() const = 0;

  /// The address that a text names, for use with ports of this kind; does no look-up, so never blocks.
  virtual result<datagram_address> parse(std::string_view text) const = 0;
  /// As `parse` reads it.
  virtual std::string print(const datagram_address& address) const = 0;

  /// The most payload that one datagram can have, sent or received.
  virtual std::size_t max_datagram_bytes() const noexcept = 0;

  /// Copies the bytes and sends them; those of one turn leave together, at its end. Refused at once:
  /// `too_large`, `busy` (as many as the options say are on their way out), `closed`, `invalid_argument` (an
  /// address of another kind). Later failures are only counted: a datagram is never acknowledged.
  virtual status send(const datagram_address& to, std::span<const std::byte> bytes) noexcept = 0;

  /// Ends receiving, without further calls to the owner; what was sent in this turn still leaves.
  virtual void close() noexcept = 0;
  /// Bound, or still closing. When false, it may be destroyed, or bound anew.
  virtual bool open() const noexcept = 0;

  /// May ask the operating system.
  virtual datagram_statistics statistics() const noexcept = 0;

 protected:
  datagram_port() noexcept = default;
};

}  // namespace scoll::transport
