#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/result.hpp"

namespace scoll::transport {

/// The address of a control socket. Error: `too_large`, because a socket's path must be short.
inline result<sockaddr_un> control_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr std::size_t longest = sizeof(address.sun_path) - 1;
  if (path.size() > longest) {
    return make_error(errc::too_large, "a socket's path has at most {} bytes, this one has {}", longest,
                      path.size());
  }
  path.copy(address.sun_path, longest);
  return address;
}

}  // namespace scoll::transport
