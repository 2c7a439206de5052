#include <algorithm>
#include <cerrno>

#include "scoll/coro/error_format.hpp"
#include "transport/io/slot_reactor.hpp"

namespace scoll::transport {
namespace {

// The most bytes that one transfer asks for; the kernel would cut it there too.
constexpr std::size_t most_transfer_bytes = 0x7ffff000;

std::uint32_t transfer_bytes(std::size_t size) noexcept {
  return static_cast<std::uint32_t>(std::min(size, most_transfer_bytes));
}

}  // namespace

// ---- sockets

void slot_reactor::accept_multishot(int fd, io_completion& done) noexcept {
  hand_over(begin(done, opcode::accept, fd));
}

void slot_reactor::connect(int fd, const sockaddr* address, socklen_t size, io_completion& done) noexcept {
  slot& s = begin(done, opcode::connect, fd);
  s.address = address;
  s.length = size;
  hand_over(s);
}

result<std::unique_ptr<datagram_buffers>> slot_reactor::make_datagram_buffers(std::uint32_t count,
                                                                              std::size_t datagram_bytes) {
  constexpr std::uint32_t most_buffers = 32768;
  constexpr std::size_t most_bytes = 65535;
  if (count < 1 || count > most_buffers)
    return make_error(errc::invalid_argument, "{} datagram buffers, not 1..{}", count, most_buffers);
  if (datagram_bytes < 1 || datagram_bytes > most_bytes)
    return make_error(errc::invalid_argument, "datagrams of {} bytes, not 1..{}", datagram_bytes, most_bytes);
  return new_datagram_buffers(count, datagram_bytes);
}

void slot_reactor::receive(int fd, std::span<std::byte> into, io_completion& done) noexcept {
  slot& s = begin(done, opcode::receive, fd);
  s.second = into.data();
  s.length = transfer_bytes(into.size());
  hand_over(s);
}

slot_reactor::slot& slot_reactor::begin_send(io_completion& done, int fd,
                                             std::span<const std::byte> bytes) noexcept {
  slot& s = begin(done, opcode::send, fd);
  s.address = bytes.data();
  s.length = transfer_bytes(bytes.size());
  return s;
}

void slot_reactor::send(int fd, std::span<const std::byte> bytes, io_completion& done) noexcept {
  hand_over(begin_send(done, fd, bytes));
}

void slot_reactor::send_deferred(int fd, std::span<const std::byte> bytes, io_completion& done) noexcept {
  slot& s = begin_send(done, fd, bytes);
  s.lazy = true;
  hand_over(s);
}

void slot_reactor::flush(io_completion& done) noexcept {
  slot_of(done).lazy = false;
}

void slot_reactor::send_message(int fd, const msghdr& message, io_completion& done) noexcept {
  slot& s = begin(done, opcode::send_message, fd);
  s.address = &message;
  hand_over(s);
}

void slot_reactor::poll(int fd, std::uint32_t events, io_completion& done) noexcept {
  slot& s = begin(done, opcode::poll, fd);
  s.flags = events;
  hand_over(s);
}

std::int64_t slot_reactor::send_now(int fd, const msghdr& message) noexcept {
  ++statistics_.enters;
  const ssize_t sent = ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? -errno : sent;
}

std::int64_t slot_reactor::receive_now(int fd, msghdr& message) noexcept {
  ++statistics_.enters;
  const ssize_t received = ::recvmsg(fd, &message, MSG_DONTWAIT);
  return received < 0 ? -errno : received;
}

void slot_reactor::close_socket(int fd, io_completion& done) noexcept {
  hand_over(begin(done, opcode::close, fd));
}

// ---- files

void slot_reactor::open(int directory_fd, const char* path, int flags, mode_t mode,
                        io_completion& done) noexcept {
  slot& s = begin(done, opcode::open, directory_fd);
  s.address = path;
  s.flags = static_cast<std::uint32_t>(flags);
  s.mode = mode;
  hand_over(s);
}

void slot_reactor::read(int fd, std::span<std::byte> into, std::uint64_t offset,
                        io_completion& done) noexcept {
  slot& s = begin(done, opcode::read, fd);
  s.second = into.data();
  s.length = transfer_bytes(into.size());
  s.offset = offset;
  hand_over(s);
}

void slot_reactor::write(int fd, std::span<const std::byte> from, std::uint64_t offset,
                         io_completion& done) noexcept {
  slot& s = begin(done, opcode::write, fd);
  s.address = from.data();
  s.length = transfer_bytes(from.size());
  s.offset = offset;
  hand_over(s);
}

void slot_reactor::sync(int fd, io_completion& done) noexcept {
  hand_over(begin(done, opcode::sync, fd));
}

void slot_reactor::stat(int directory_fd, const char* path, int flags, struct statx& out,
                        io_completion& done) noexcept {
  slot& s = begin(done, opcode::stat, directory_fd);
  s.address = path;
  s.flags = static_cast<std::uint32_t>(flags);
  s.second = &out;
  hand_over(s);
}

void slot_reactor::rename(const char* from, const char* to, io_completion& done) noexcept {
  slot& s = begin(done, opcode::rename, -1);
  s.address = from;
  s.second = const_cast<char*>(to);
  hand_over(s);
}

void slot_reactor::unlink(const char* path, int flags, io_completion& done) noexcept {
  slot& s = begin(done, opcode::unlink, -1);
  s.address = path;
  s.flags = static_cast<std::uint32_t>(flags);
  hand_over(s);
}

void slot_reactor::make_directory(const char* path, mode_t mode, io_completion& done) noexcept {
  slot& s = begin(done, opcode::make_directory, -1);
  s.address = path;
  s.mode = mode;
  hand_over(s);
}

void slot_reactor::list(const char* path, directory_listing& out, io_completion& done) noexcept {
  slot& s = begin(done, opcode::list, -1);
  s.address = path;
  s.second = &out;
  hand_to_thread(s);
}

}  // namespace scoll::transport
