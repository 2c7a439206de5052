#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/io/socket.hpp"

namespace bench {

using scoll::transport::unique_fd;

/// Blocking TCP over loopback for the subjects without scoll, with the options that scoll sets and the same
/// congestion control (empty: the system's). All functions throw on failure.
unique_fd listen_anywhere(std::uint16_t& port);
unique_fd connect_to(std::uint16_t port, const std::string& congestion_control);
unique_fd accept_one(int listener, const std::string& congestion_control);

/// Sets the congestion control of every TCP socket of this process, also of sockets that a library opened:
/// for libraries without such an option. Sockets that a listening socket accepts later inherit it.
void set_congestion_control_of_all(const std::string& name);

void send_all(int fd, const void* bytes, std::size_t size);
void receive_all(int fd, void* into, std::size_t size);

[[noreturn]] void fail(const char* call);

}  // namespace bench
