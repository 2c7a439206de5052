#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>

#include "tests/catch.hpp"
#include "transport/io/socket.hpp"

/// Two connected sockets of this process.
struct socket_ends {
  scoll::transport::unique_fd near, far;
};

inline socket_ends socket_pair(int type = SOCK_STREAM) {
  int made[2];
  REQUIRE(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, made) == 0);
  return {scoll::transport::unique_fd(made[0]), scoll::transport::unique_fd(made[1])};
}

/// Reads the available bytes. Returns how many they were.
inline std::size_t drain(int fd) {
  std::array<std::byte, 65536> some;
  std::size_t sum = 0;
  for (ssize_t n = 0; (n = ::recv(fd, some.data(), some.size(), MSG_DONTWAIT)) > 0;)
    sum += static_cast<std::size_t>(n);
  return sum;
}
