#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/buffer.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

struct tcp_options {
  std::string bind_source;  ///< local address to connect from, such as "10.0.0.1:0", to peers of its family;
                            ///< empty: the kernel chooses
  std::string congestion_control;  ///< such as "cubic"; empty: the system's
  nanoseconds connect_limit = std::chrono::seconds(3);
  nanoseconds linger_limit = std::chrono::seconds(1);  ///< for a closed link's peer to read what was written
  nanoseconds keep_alive = std::chrono::seconds(5);  ///< silence after which a connection is probed; 0: never
  nanoseconds unacknowledged_limit = std::chrono::seconds(
      10);  ///< a link breaks when sent bytes stay unacknowledged so long; 0: the system's
  int backlog = 512;
  std::uint32_t send_buffers = 1024;   ///< batches in flight, over all links, of `batch_bytes` each at most
  std::uint32_t frame_buffers = 4096;  ///< frames that arrive in pieces, over all links
};

/// Links over TCP on a reactor, IPv4 and IPv6. One receive is always armed per link; sends are
/// batched: one system call carries what a turn has gathered, however many messages.
class tcp_rail final : public rail {
 public:
  explicit tcp_rail(reactor& r, tcp_options options = {});
  ~tcp_rail() override;

  status listen(const std::string& address, accept_events& events) noexcept override;
  std::string listen_address() const override { return listen_address_; }
  void stop_listening() noexcept override;
  void connect(const std::string& address, connect_events& waiter) noexcept override;
  void cancel_connect(connect_events& waiter) noexcept override;
  std::size_t open() const noexcept override { return open_.inside(); }
  task<void> all_closed() override { co_await open_.emptied(); }

 private:
  class listener;
  class connector;
  class tcp_link;

  status prepare(int fd) const noexcept;
  status bind_preferred(int fd, int family) const noexcept;

  reactor& reactor_;
  tcp_options options_;
  buffer_pool send_buffers_;
  buffer_pool frame_buffers_;
  std::string listen_address_;
  listener* listener_ = nullptr;
  intrusive_list<connector> connecting_;
  gate open_;
  std::size_t lingering_ = 0;
};

}  // namespace scoll::transport
