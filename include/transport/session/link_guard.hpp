#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "scoll/coro/result.hpp"
#include "transport/security/security_snapshot.hpp"
#include "transport/session/greeting.hpp"

namespace scoll::transport {

/// The guard of one connection. First it takes and gives the steps by which the two sides prove who they
/// are; they travel in frames of type `secure`, between `hello` and `identity`. Then it seals what leaves and
/// opens what arrives, as records of its own, so that frames are neither seen nor altered on the way. It
/// knows nothing of sessions. Thread: its link's.
///
/// ```text
///   opening ──steps of both sides──► proven ──seal_from_now, open_from_now──► every byte is in a record
///      └──── a step that does not fit, too many, too long ────► the connection ends
/// ```
class link_guard {
 public:
  /// The most steps that a guard takes from its peer, and the most bytes of one.
  static constexpr std::size_t most_steps = 8;
  static constexpr std::size_t most_step_bytes = 4096;
  /// The most bytes of a record, opened: `open` needs room for so many.
  static constexpr std::size_t most_record_bytes = 16384;
  /// The most bytes by which a sealed batch of at most 65,536 bytes is longer than a plain one.
  static constexpr std::size_t overhead = 256;
  /// What binds an identity to its connection.
  using channel_hash = std::array<std::byte, 32>;

  virtual ~link_guard() = default;
  link_guard(const link_guard&) = delete;
  link_guard& operator=(const link_guard&) = delete;

  /// Takes a step of the peer. `unsent()` then holds this side's answer, if there is one. Errors:
  /// `not_authentic`, `malformed` (too many steps, or one that is too long); the guard is of no use then, but
  /// `unsent()` may tell the peer why.
  status take_step(std::span<const std::byte> from_peer) noexcept;
  /// What the peer has to be told, in steps of at most `most_step_bytes`.
  std::span<const std::byte> unsent() const noexcept { return unsent_; }
  void forget_unsent() noexcept { unsent_ = {}; }

  /// True when both sides have proven who they are, as far as this side can know.
  virtual bool proven() const noexcept = 0;
  /// A hash of everything that the two sides have said to each other so far, which only they know. It is the
  /// same on both sides if and only if they are the ends of one connection. The guard is proven.
  virtual const channel_hash& channel() const noexcept = 0;
  /// Says whether the other side may call itself `node` of `cluster`. Error: `not_authentic`, whose text says
  /// what it may call itself. The guard is proven.
  virtual status speaks_for(std::string_view cluster, node_id node) const noexcept = 0;

  /// The name of the other side as a client of `cluster`; empty if it has none. The guard is proven.
  virtual std::string_view client_name(std::string_view cluster) const noexcept = 0;

  /// True if the peer must learn with the first sealed batch that records follow. The side that accepts does
  /// that, because the other side cannot know before whether its own proof was accepted.
  virtual bool announces() const noexcept = 0;

  bool sealing() const noexcept { return sealing_; }
  bool opening() const noexcept { return opening_; }
  void seal_from_now() noexcept { sealing_ = true; }
  void open_from_now() noexcept { opening_ = true; }

  /// Seals a batch of at most 65,536 - `overhead` bytes. `into` has room for `overhead` bytes more, and
  /// overlaps nothing of it. Returns the bytes written; 0 if the library of the guard has failed.
  std::size_t seal(std::span<const std::byte> plain, std::span<std::byte> into) noexcept;
  /// Gives the guard received bytes, which must stay valid until `open` has returned 0 or an error.
  virtual void feed(std::span<const std::byte> sealed) noexcept = 0;
  /// Writes opened bytes, of one record at most, into `into`. Returns their number; 0 if the rest of a record
  /// is still to come. Error: `not_authentic`.
  virtual result<std::size_t> open(std::span<std::byte> into) noexcept = 0;

 protected:
  link_guard() noexcept = default;

  /// Takes a step that is within the limits.
  virtual status on_step(std::span<const std::byte> from_peer) noexcept = 0;
  virtual std::size_t seal_records(std::span<const std::byte> plain, std::span<std::byte> into) noexcept = 0;

  /// Says what must be told to the peer, until the next step.
  void tell(std::span<const std::byte> steps) noexcept { unsent_ = steps; }

 private:
  std::span<const std::byte> unsent_;
  std::size_t steps_ = 0;
  bool sealing_ = false;
  bool opening_ = false;
  bool announced_ = false;
};

/// The security mode of a node, with its secrets: it makes the guards of connections. Several endpoints of
/// one thread may share it.
class link_security {
 public:
  virtual ~link_security() = default;
  link_security(const link_security&) = delete;
  link_security& operator=(const link_security&) = delete;

  /// The number of the mode on the wire, and its name.
  virtual std::uint8_t mode() const noexcept = 0;
  virtual std::string_view name() const noexcept = 0;
  /// Makes the guard of a connection that this side has made, and completes its `hello`. Errors:
  /// `not_authentic`, `io_error`.
  virtual result<std::unique_ptr<link_guard>> connect(hello& said) noexcept = 0;
  /// Makes the guard of an accepted connection, whose `hello` names this mode. Errors: `not_authentic` (the
  /// key is not known here), `io_error`.
  virtual result<std::unique_ptr<link_guard>> accept(const hello& said) noexcept = 0;
  /// True if links that cannot seal may be used: the two sides prove who they are, and go on in the clear.
  virtual bool trusts_fabric() const noexcept { return false; }
  /// Says what the mode uses and has seen. Secrets that have changed are read again before that.
  virtual security_snapshot look() { return {}; }
  /// What has happened to the secrets since the last call, such as new keys that were read or a file that
  /// cannot be read; empty: nothing.
  virtual std::string news() { return {}; }

 protected:
  link_security() noexcept = default;
};

}  // namespace scoll::transport
