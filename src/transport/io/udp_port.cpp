#include "transport/io/udp_port.hpp"

#include <cstring>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/io/check_range.hpp"
#include "transport/io/datagram_socket.hpp"

namespace scoll::transport {
namespace {

constexpr std::size_t most_receive_buffers = 32768;
constexpr std::size_t most_send_buffers = 4096;
constexpr std::size_t most_dscp = 63;
// The pause after a failed receive: long enough not to spin, and short for a datagram that waits.
constexpr nanoseconds receive_retry = std::chrono::milliseconds(50);

}  // namespace

void udp_port::pending_io::complete(io_completion& self, const event& e) noexcept {
  auto& op = static_cast<pending_io&>(self);
  (op.port_.*op.handler_)(e);
}

void udp_port::sending::start(buffer_ref buffer, std::size_t size, const socket_address& to) noexcept {
  buffer_ = std::move(buffer);
  to_ = to;
  bytes_ = {buffer_.data(), size};
  message_ = {};
  message_.msg_name = const_cast<sockaddr*>(to_.data());
  message_.msg_namelen = to_.size();
  message_.msg_iov = &bytes_;
  message_.msg_iovlen = 1;
  port_.reactor_.send_message(port_.fd_.get(), message_, *this);
}

void udp_port::sending::complete(io_completion& done, const event& e) noexcept {
  auto& self = static_cast<sending&>(done);
  self.buffer_.reset();
  self.port_.on_sent(self, e.result);
}

udp_port::udp_port(reactor& r, udp_options options) noexcept
    : timer_node([](timer_node& self) noexcept { static_cast<udp_port&>(self).arm_receive(); }),
      reactor_(r),
      options_(std::move(options)),
      receive_(*this, &udp_port::on_received),
      close_(*this, &udp_port::on_closed) {}

udp_port::~udp_port() {
  SCOLL_ASSERT(!open(), "a datagram port died before it was closed");
}

status udp_port::bind(const std::string& address, datagram_events& events) noexcept {
  if (open()) return error(errc::already_exists, "this port is already bound");
  if (status s = check(); !s) return s;
  const auto parsed = socket_address::parse(address);
  if (!parsed) return parsed.error();
  if (status s = make_buffers(); !s) return s;
  if (status s = open_socket(*parsed); !s) {
    fd_.reset();
    return s;
  }
  events_ = &events;
  state_ = state::open;
  arm_receive();
  return {};
}

status udp_port::check() const noexcept {
  const status checks[] = {
      check_range("udp.max_bytes", options_.max_bytes, 1, datagram_bytes_limit),
      check_range("udp.receive_buffers", options_.receive_buffers, 1, most_receive_buffers),
      check_range("udp.send_buffers", options_.send_buffers, 1, most_send_buffers),
      check_range("udp.dscp", options_.dscp, 0, most_dscp),
      check_range("udp.socket_bytes", options_.socket_bytes, 0, INT32_MAX),
  };
  for (const status& s : checks) {
    if (!s) return s;
  }
  return {};
}

status udp_port::make_buffers() {
  if (receive_buffers_ != nullptr) return {};
  auto made = reactor_.make_datagram_buffers(options_.receive_buffers, options_.max_bytes);
  if (!made) return made.error();
  receive_buffers_ = std::move(*made);
  send_buffers_.emplace(options_.max_bytes, options_.send_buffers);
  while (senders_.size() < options_.send_buffers) idle_.push_back(senders_.emplace_back(*this));
  return {};
}

status udp_port::open_socket(const socket_address& address) {
  auto fd = open_datagram(address, options_.device);
  if (!fd) return fd.error();
  fd_ = std::move(*fd);
  family_ = address.family();
  if (options_.dscp != 0) {
    if (status s = set_dscp(fd_.get(), family_, options_.dscp); !s) return s;
  }
  if (options_.socket_bytes != 0) {
    if (status s = set_receive_queue(fd_.get(), options_.socket_bytes); !s) return s;
  }
  const auto bound = local_address(fd_.get());
  if (!bound) return bound.error();
  bound_address_ = bound->to_string();
  return {};
}

result<datagram_address> udp_port::parse(std::string_view text) const {
  const auto address = socket_address::parse(text);
  if (!address) return address.error();
  return to_datagram(*address);
}

std::string udp_port::print(const datagram_address& address) const {
  return to_socket(address).to_string();
}

void udp_port::arm_receive() noexcept {
  reactor_.receive_datagrams(fd_.get(), *receive_buffers_, receive_);
}

void udp_port::on_received(const io_completion::event& e) noexcept {
  if (e.datagram != nullptr && state_ == state::open) take(*e.datagram, *e.buffer);
  if (e.more) return;
  if (state_ == state::ending) return end_if_done();
  ++statistics_.receive_errors;
  reactor_.arm(*this, reactor_.now() + receive_retry);
}

void udp_port::take(const received_datagram& d, buffer_ref& buffer) noexcept {
  if (d.truncated) {
    ++statistics_.truncated;
    return;
  }
  ++statistics_.received;
  statistics_.received_bytes += d.bytes.size();
  const datagram_address source = to_datagram(socket_address::from(d.source, d.source_size));
  const buffer_view bytes{std::move(buffer), d.bytes};
  events_->on_datagram(source, bytes);
}

status udp_port::send(const datagram_address& to, std::span<const std::byte> bytes) noexcept {
  if (state_ != state::open) return error(errc::closed, "the datagram port is not bound");
  if (bytes.size() > options_.max_bytes)
    return make_error(errc::too_large, "a datagram of {} bytes, the limit is {}", bytes.size(),
                      options_.max_bytes);
  const socket_address target = to_socket(to);
  if (target.family() != family_)
    return make_error(errc::invalid_argument, "{} cannot be reached from {}", target.to_string(),
                      bound_address_);
  buffer_ref buffer = send_buffers_->try_acquire();
  if (!buffer) {
    ++statistics_.busy;
    return make_error(errc::busy, "all datagram buffers are on their way out: send_buffers is {}",
                      options_.send_buffers);
  }
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  sending& s = idle_.pop_front();
  under_way_.push_back(s);
  s.start(std::move(buffer), bytes.size(), target);
  return {};
}

void udp_port::on_sent(sending& s, std::int32_t outcome) noexcept {
  s.unlink();
  idle_.push_back(s);
  if (outcome >= 0) {
    ++statistics_.sent;
    statistics_.sent_bytes += static_cast<std::uint64_t>(outcome);
  } else {
    ++statistics_.send_errors;
    statistics_.last_send_error = -outcome;
  }
  if (state_ == state::ending) end_if_done();
}

void udp_port::close() noexcept {
  if (state_ != state::open) return;
  state_ = state::ending;
  if (armed()) reactor_.disarm(*this);
  reactor_.cancel(receive_);
  end_if_done();
}

/// Sends are only cancelled when the receive has ended. By then the sends of the last turn have left, unless
/// the network takes no more.
void udp_port::end_if_done() noexcept {
  if (receive_.pending() || close_.pending()) return;
  if (!under_way_.empty()) {
    for (sending* s = under_way_.first(); s != nullptr; s = under_way_.next(*s)) reactor_.cancel(*s);
    return;
  }
  statistics_.dropped += datagrams_dropped(fd_.get());
  reactor_.close_socket(fd_.release(), close_);
}

void udp_port::on_closed(const io_completion::event&) noexcept {
  bound_address_.clear();
  state_ = state::closed;
}

datagram_statistics udp_port::statistics() const noexcept {
  datagram_statistics s = statistics_;
  if (fd_) s.dropped += datagrams_dropped(fd_.get());
  return s;
}

}  // namespace scoll::transport
