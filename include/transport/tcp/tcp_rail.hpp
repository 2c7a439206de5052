#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/buffer.hpp"
#include "transport/io/host_address.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

struct tcp_options {
  /// The local address to connect from, such as "10.0.0.1:0", for peers of its family. Empty: the kernel
  /// chooses.
  std::string bind_source{};
  /// The network interface by which the rail listens and connects, such as "eth0"; empty: the kernel chooses.
  /// Two rails whose addresses are in one network need it, for a source address chooses no interface.
  std::string device{};
  /// Watches the network interface that has the listening address, or is the `device`, and tells the owner
  /// when it is down and when it is back. That is of use to an owner with several rails.
  bool watch_interface = false;
  /// The congestion control, such as "cubic". Empty: the system's default.
  std::string congestion_control{};
  /// How long a connection attempt may take. For a host name this includes its look-up, and what is left
  /// then is shared out among its addresses.
  nanoseconds connect_limit = std::chrono::seconds(3);
  /// How long a closed link's peer may take to read what was written.
  nanoseconds linger_limit = std::chrono::seconds(1);
  /// The silence after which a connection is probed; 0: never.
  nanoseconds keep_alive = std::chrono::seconds(5);
  /// A link breaks when sent bytes stay unacknowledged for this long; 0: the system's default.
  nanoseconds unacknowledged_limit = std::chrono::seconds(10);
  /// The most connections that the kernel queues before they are accepted.
  int backlog = 512;
  /// The most batches in flight over all links, of at most `batch_bytes` each.
  std::uint32_t send_buffers = 1024;
  /// The most frames that are arriving in pieces, or whose large payloads are held, over all links. At most
  /// half of them are held.
  std::uint32_t frame_buffers = 4096;
  /// How host names are resolved; empty: `resolve_host`, which asks the system. It is called on threads of
  /// the rail, and by `listen`. A call under way may outlast the rail, so what it refers to must, too.
  resolve_function resolve{};
};

class interface_watch;
class name_resolver;

/// Links over TCP on a reactor, IPv4 and IPv6. One receive is always armed per link. Sends are batched: one
/// system call carries all messages that a turn has gathered.
///
/// Addresses are those of `host_address`. A numeric one is used as it is. A host name is resolved anew for
/// each connection attempt, on a thread of the rail, so that a changed name is followed, and its addresses
/// are tried in their order. `listen` resolves a name at once, blocking, and listens at the first of its
/// addresses that can be bound.
class tcp_rail final : public rail {
 public:
  explicit tcp_rail(reactor& r, tcp_options options = {});
  ~tcp_rail() override;

  status listen(const std::string& address, accept_events& events) noexcept override;
  std::string listen_address() const override { return listen_address_; }
  void stop_listening() noexcept override;
  status check_address(std::string_view address) const override;
  void connect(const std::string& address, connect_events& waiter) noexcept override;
  void cancel_connect(connect_events& waiter) noexcept override;
  bool can_guard() const noexcept override { return true; }
  std::size_t open() const noexcept override { return open_.inside(); }
  task<void> all_closed() override { co_await open_.emptied(); }

 private:
  class listener;
  class connector;
  class tcp_link;

  status prepare(int fd) const noexcept;
  status bind_preferred(int fd, int family) const noexcept;
  result<unique_fd> open_listener_at(std::string_view address) const;
  name_resolver& names();

  reactor& reactor_;
  tcp_options options_;
  buffer_pool send_buffers_;
  buffer_pool sealed_buffers_;  // for lent memory under a guard
  buffer_pool frame_buffers_;
  std::string listen_address_;
  listener* listener_ = nullptr;
  interface_watch* watch_ = nullptr;
  std::unique_ptr<name_resolver> names_;  // once a name has been connected to
  intrusive_list<connector> connecting_;
  gate open_;
  std::size_t lingering_ = 0;
};

}  // namespace scoll::transport
