#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "scoll/coro/executor.hpp"
#include "transport/io/datagram.hpp"

namespace scoll::transport {

class verbs_api;
namespace verbs {
class datagram_core;
}  // namespace verbs

/// How a `verbs_port` uses its device. The defaults lock about 1.3 MB of memory with an MTU of 4096 bytes.
struct verbs_port_options {
  /// The device, such as "mlx5_0"; empty: the first one that has `address`.
  std::string device{};
  /// The number of the device's port, from 1 on.
  std::uint8_t port = 1;
  /// The IP address of the port, such as "10.0.0.1", by which its GID is chosen; empty: the host of the name
  /// that is bound.
  std::string address{};
  /// The largest payload of one datagram in bytes; 0: as many as the MTU allows. All ports that send to each
  /// other should allow the same.
  std::size_t max_bytes = 0;
  /// Places for what arrives, 16 to 16384. A datagram that finds none is lost.
  std::uint32_t receive_slots = 256;
  /// Buffers of `max_bytes` that are lent to the owner, 1 to 32768.
  std::uint32_t receive_buffers = 16;
  /// The most datagrams on their way out, among them those that wait until it is known where their address
  /// leads, 16 to 4096.
  std::uint32_t send_buffers = 64;
  /// The most addresses of which it is remembered where they lead, each with an address handle of the
  /// device, 32 to 65536. More can be sent to, but cost a question each time.
  std::uint32_t names = 4096;
  /// The service level, 0 to 15, and the traffic class of what is sent.
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;

  /// Says which option is out of range (`invalid_argument`).
  status validate() const;
};

/// Counts that only a `verbs_port` has, since it was constructed.
struct verbs_port_statistics {
  std::uint64_t questions = 0;    ///< that were asked about addresses
  std::uint64_t answers = 0;      ///< that came to questions of this port
  std::uint64_t answered = 0;     ///< questions of other ports
  std::uint64_t restarts = 0;     ///< datagrams by which a peer has shown that it is another life than before
  std::uint64_t never_known = 0;  ///< datagrams dropped because it was not known in time where they lead
  std::uint64_t forged = 0;       ///< arrivals dropped: from another port or queue pair than the claimed one
  std::uint64_t unproven = 0;     ///< arrivals dropped: from an address that nothing is known of
  std::uint64_t late = 0;         ///< arrivals dropped: of an earlier life
  std::uint64_t malformed = 0;    ///< arrivals without a header, and unreadable messages of the port below
  std::uint64_t handles = 0;      ///< address handles that were made
  std::uint64_t handles_now = 0;  ///< address handles in use
  std::uint64_t device_failures = 0;
};

/// Datagrams over RDMA: a queue pair of unreliable datagrams, and a port below at the same address that
/// tells others where that queue pair is (docs/verbs.md). An address is a name, "verbs://10.0.0.1:7002",
/// which stays the same when the process is restarted and its queue pair is another one.
///
/// A datagram to a name of which nothing is known waits for the answer of that name's own port: at most 16
/// datagrams in all, the latest for each name, and at most a second. Arrivals are accepted only from the
/// device that the claimed name leads to. Whoever has a process on a host may send in that host's name, so
/// the layers above must seal what they say.
///
/// If the device fails, what is under way is lost, `send` counts its datagrams as `send_errors`, and the port
/// opens the device again, with growing pauses of up to 2 s. Peers notice by themselves.
class verbs_port final : public datagram_port {
 public:
  /// `under` is a port whose addresses are socket addresses, such as a `udp_port`, for this port alone; its
  /// datagrams must have room for 64 bytes. `devices` (`use_ibverbs`) and `under` must outlive the port.
  verbs_port(executor& home, verbs_api& devices, datagram_port& under, verbs_port_options options = {});
  ~verbs_port() override;

  /// Opens the device that has the host of this address, so that `max_datagram_bytes` is known. `bind` does
  /// the same if this was not called. It blocks for some milliseconds. Errors: `invalid_argument` (an option
  /// or the address), `not_found` (no device, or none with this address), `unreachable` (its port is down),
  /// `unsupported` (the device cannot do it), `io_error`; the text says what to do.
  status prepare(const std::string& address) noexcept;

  /// Opens the device, if `prepare` has not, and binds the port below. It may block as `prepare` does. The
  /// address must name one host. Errors: those of `prepare`, and those of the port below.
  status bind(const std::string& address, datagram_events& events) noexcept override;
  std::string bound_address() const override;
  /// Reads an address such as "verbs://10.0.0.1:7002". Without verbs:// it is one of another kind of port,
  /// and refused.
  result<datagram_address> parse(std::string_view text) const override;
  std::string print(const datagram_address& address) const override;
  /// 992 before the device is open; then 32 less than its MTU, or what the options say if that is less.
  std::size_t max_datagram_bytes() const noexcept override;
  /// Beside the errors of `datagram_port::send`: `too_large` also if the peer's MTU is smaller, and `busy`
  /// also if 16 datagrams to other names wait until it is known where they lead.
  status send(const datagram_address& to, std::span<const std::byte> bytes) noexcept override;
  void close() noexcept override;
  bool open() const noexcept override;
  datagram_statistics statistics() const noexcept override;

  verbs_port_statistics verbs_statistics() const noexcept;

 private:
  std::unique_ptr<verbs::datagram_core> core_;
};

}  // namespace scoll::transport
