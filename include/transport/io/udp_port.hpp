#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "transport/io/buffer.hpp"
#include "transport/io/datagram.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"

namespace scoll::transport {

struct udp_options {
  /// The largest payload of one datagram in bytes, 1 to 65507.
  std::size_t max_bytes = datagram_bytes_limit;
  /// Receive buffers of `max_bytes` each, 1 to 32768.
  std::uint32_t receive_buffers = 4;
  /// Send buffers of `max_bytes` each: the most datagrams on their way out, 1 to 4096.
  std::uint32_t send_buffers = 16;
  /// The traffic class (DSCP) of what is sent, 0 to 63, such as 48 for CS6.
  std::uint8_t dscp = 0;
  /// The network interface by which datagrams leave and arrive, such as "eth1"; empty: routing chooses.
  std::string device{};
  /// Bytes that the kernel may queue for the port, up to net.core.rmem_max; 0 leaves it to the kernel.
  std::uint32_t socket_bytes = 0;
};

/// Datagrams over UDP on a reactor, IPv4 or IPv6. Addresses are those of `socket_address`. One receive is
/// always armed, and each datagram is read in place. ICMP messages about unreachable peers are ignored: an
/// absent peer is a silent one.
class udp_port final : public datagram_port, private timer_node {
 public:
  explicit udp_port(reactor& r, udp_options options = {}) noexcept;
  ~udp_port() override;

  status bind(const std::string& address, datagram_events& events) noexcept override;
  std::string bound_address() const override { return bound_address_; }
  result<datagram_address> parse(std::string_view text) const override;
  std::string print(const datagram_address& address) const override;
  std::size_t max_datagram_bytes() const noexcept override { return options_.max_bytes; }
  status send(const datagram_address& to, std::span<const std::byte> bytes) noexcept override;
  void close() noexcept override;
  bool open() const noexcept override { return state_ != state::closed; }
  datagram_statistics statistics() const noexcept override;

 private:
  /// ```text
  ///           close()                receive, then sends, then descriptor
  ///   open ───────────► ending ────────────────────────────────────────────► closed
  /// ```
  enum class state : std::uint8_t { closed, open, ending };

  class pending_io final : public io_completion {
   public:
    using handler = void (udp_port::*)(const event&) noexcept;
    pending_io(udp_port& port, handler h) noexcept : io_completion(&complete), port_(port), handler_(h) {}
    ~pending_io() = default;

   private:
    static void complete(io_completion& self, const event& e) noexcept;
    udp_port& port_;
    handler handler_;
  };

  /// One datagram on its way out, with everything that the kernel reads to send it.
  class sending final : public io_completion, public list_hook<> {
   public:
    explicit sending(udp_port& port) noexcept : io_completion(&complete), port_(port) {}
    ~sending() = default;
    void start(buffer_ref buffer, std::size_t size, const socket_address& to) noexcept;

   private:
    static void complete(io_completion& self, const event& e) noexcept;
    udp_port& port_;
    buffer_ref buffer_;
    socket_address to_;
    iovec bytes_{};
    msghdr message_{};
  };

  status check() const noexcept;
  status open_socket(const socket_address& address);
  status make_buffers();
  void arm_receive() noexcept;
  void on_received(const io_completion::event& e) noexcept;
  void take(const received_datagram& d, buffer_ref& buffer) noexcept;
  void on_sent(sending& s, std::int32_t outcome) noexcept;
  void end_if_done() noexcept;
  void on_closed(const io_completion::event& e) noexcept;

  reactor& reactor_;
  udp_options options_;
  std::optional<buffer_pool> send_buffers_;
  std::unique_ptr<datagram_buffers> receive_buffers_;
  pending_io receive_;
  pending_io close_;
  std::deque<sending> senders_;
  intrusive_list<sending> idle_;
  intrusive_list<sending> under_way_;
  unique_fd fd_;
  int family_ = AF_UNSPEC;
  std::string bound_address_;
  datagram_events* events_ = nullptr;
  state state_ = state::closed;
  datagram_statistics statistics_;
};

}  // namespace scoll::transport
