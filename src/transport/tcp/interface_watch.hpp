#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "scoll/coro/gate.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

/// What makes a network interface the one of a rail.
struct interface_place {
  socket_address address;  ///< one that it has; a wildcard is had by all
  std::string device;      ///< its name; empty: whichever has the address
};

/// True if such an interface is up, has a carrier and has the address. True if nobody knows.
bool is_usable(const interface_place& place);

/// Waits for the kernel to say that something has changed about network interfaces, then looks whether the one
/// of a rail is usable, and tells if that has changed. Many changes at once are one look.
class interface_watch final : public io_completion, public timer_node {
 public:
  /// Begins to watch. Null if the kernel tells nothing: then there are no hints. `open` is not left before the
  /// watch is gone.
  static interface_watch* begin(reactor& loop, gate& open, interface_place place, accept_events& events);
  /// Ends the watch, which deletes itself. `events` hears nothing any more.
  void stop() noexcept;

 private:
  interface_watch(reactor& loop, gate& open, unique_fd fd, interface_place place, accept_events& events);
  ~interface_watch() = default;

  static void complete(io_completion& self, const event& e) noexcept;
  static void look(timer_node& node) noexcept;
  void listen() noexcept;

  reactor& reactor_;
  gate& open_;
  gate_pass closing_;  // once it has been stopped
  unique_fd fd_;
  interface_place place_;
  accept_events* events_;
  bool usable_;
  std::array<std::byte, 4096> news_{};
};

}  // namespace scoll::transport
