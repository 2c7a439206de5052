#pragma once

#include <string>

#include "member.hpp"
#include "sockets.hpp"

namespace bench {

/// The two ends of one connection, one in each of two processes.
inline unique_fd join_pair(member& me, const std::string& congestion_control) {
  std::uint16_t port = 0;
  const unique_fd listener = listen_anywhere(port);
  me.publish(port);
  return me.index() == 0 ? connect_to(me.port(1), congestion_control)
                         : accept_one(listener.get(), congestion_control);
}

}  // namespace bench
