#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/result.hpp"

namespace scoll::transport {

/// Where a control socket is. `too_large`: paths of sockets are short.
inline result<sockaddr_un> control_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr std::size_t longest = sizeof(address.sun_path) - 1;
  if (path.size() > longest) {
    return make_error(errc::too_large, "a socket's path has at most {} bytes, this one {}", longest,
                      path.size());
  }
  path.copy(address.sun_path, longest);
  return address;
}

}  // namespace scoll::transport
