#include "transport/verbs/verbs_port.hpp"

#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/io/check_range.hpp"
#include "transport/io/datagram_socket.hpp"
#include "transport/verbs/datagrams/datagram_core.hpp"

namespace scoll::transport {

status verbs_port_options::validate() const {
  const status checks[] = {
      check_range("datagrams.port", port, 1, 255),
      check_range("datagrams.max_bytes", max_bytes, 0, datagram_bytes_limit),
      check_range("datagrams.receive_slots", receive_slots, 16, 16384),
      check_range("datagrams.receive_buffers", receive_buffers, 1, 32768),
      check_range("datagrams.send_buffers", send_buffers, 16, 4096),
      check_range("datagrams.names", names, 32, 65536),
      check_range("datagrams.service_level", service_level, 0, 15),
  };
  for (const status& s : checks) {
    if (!s) return s;
  }
  return {};
}

verbs_port::verbs_port(executor& home, verbs_api& devices, datagram_port& under, verbs_port_options options)
    : core_(std::make_unique<verbs::datagram_core>(home, devices, under, std::move(options))) {}

verbs_port::~verbs_port() = default;

status verbs_port::prepare(const std::string& address) noexcept {
  const auto parsed = verbs::parse_name(address);
  return parsed ? core_->prepare(*parsed) : status(parsed.error());
}

status verbs_port::bind(const std::string& address, datagram_events& events) noexcept {
  const auto parsed = verbs::parse_name(address);
  return parsed ? core_->bind(*parsed, events) : status(parsed.error());
}

std::string verbs_port::bound_address() const {
  return core_->bound_address();
}

result<datagram_address> verbs_port::parse(std::string_view text) const {
  const auto parsed = verbs::parse_name(text);
  if (!parsed) return parsed.error();
  if (!verbs::name_of(*parsed)) {
    return make_error(errc::invalid_argument, "address '{:.60}': datagrams by RDMA need one host and a port",
                      text);
  }
  return to_datagram(*parsed);
}

std::string verbs_port::print(const datagram_address& address) const {
  return "verbs://" + to_socket(address).to_string();
}

std::size_t verbs_port::max_datagram_bytes() const noexcept {
  return core_->max_bytes();
}

status verbs_port::send(const datagram_address& to, std::span<const std::byte> bytes) noexcept {
  return core_->send(to, bytes);
}

void verbs_port::close() noexcept {
  core_->close();
}

bool verbs_port::open() const noexcept {
  return core_->is_open();
}

datagram_statistics verbs_port::statistics() const noexcept {
  return core_->statistics();
}

verbs_port_statistics verbs_port::verbs_statistics() const noexcept {
  return core_->verbs_statistics();
}

}  // namespace scoll::transport
