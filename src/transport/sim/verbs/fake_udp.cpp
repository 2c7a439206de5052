#include "transport/sim/verbs/fake_udp.hpp"

#include "scoll/coro/error_format.hpp"
#include "transport/io/datagram_socket.hpp"
#include "transport/sim/verbs/fake_context.hpp"
#include "transport/verbs/datagrams/datagram_name.hpp"

namespace scoll::testing {

using transport::datagram_address;
using transport::verbs::datagram_name;

namespace {

constexpr std::uint16_t udp_port_number = 7002;
constexpr std::size_t first_host_byte = 13;

datagram_address as_socket(std::uint32_t host) noexcept {
  return transport::to_datagram(address_of(datagram_name{fake_gid(host), udp_port_number}, {}));
}

/// The number of the host, in the order of the bytes of its address, which is how the network prints it.
std::uint32_t host_of(const datagram_name& name) noexcept {
  std::uint32_t host = 0;
  for (std::size_t i = first_host_byte; i < name.host.size(); ++i) host = (host << 8U) | name.host[i];
  return host;
}

}  // namespace

std::string fake_udp_port::address_of(std::uint32_t host) {
  return transport::to_socket(as_socket(host)).to_string();
}

status fake_udp_port::bind(const std::string& address, transport::datagram_events& events) noexcept {
  if (address != address_of(host_))
    return make_error(errc::invalid_argument, "{} is not the address of {}", address, address_of(host_));
  events_ = &events;
  return port_.bind(sim_network::address_of(host_), *this);
}

std::string fake_udp_port::bound_address() const {
  return open() ? address_of(host_) : std::string();
}

result<datagram_address> fake_udp_port::parse(std::string_view text) const {
  const auto parsed = transport::socket_address::parse(text);
  if (!parsed) return parsed.error();
  return transport::to_datagram(*parsed);
}

std::string fake_udp_port::print(const datagram_address& address) const {
  return transport::to_socket(address).to_string();
}

status fake_udp_port::send(const datagram_address& to, std::span<const std::byte> bytes) noexcept {
  const auto name = transport::verbs::name_of(transport::to_socket(to));
  if (!name) return error(errc::invalid_argument, "not the address of a simulated host");
  const auto host = port_.parse(sim_network::address_of(host_of(*name)));
  return host ? port_.send(*host, bytes) : status(host.error());
}

void fake_udp_port::on_datagram(const datagram_address& source,
                                const transport::buffer_view& bytes) noexcept {
  const std::string text = port_.print(source);
  const auto host = static_cast<std::uint32_t>(std::stoul(text.substr(text.find(':') + 1)));
  events_->on_datagram(as_socket(host), bytes);
}

}  // namespace scoll::testing
