#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "transport/io/address.hpp"
#include "transport/io/udp_port.hpp"
#include "transport/verbs/verbs_port.hpp"

namespace scoll::kit {

/// True if the gossip at an address goes by RDMA.
inline bool is_rdma(std::string_view address) noexcept {
  return transport::split_name(address).transport == "verbs";
}

/// The port of a participant at one of its addresses: by RDMA if the address begins with verbs://, which has a
/// UDP port beside it, and otherwise by UDP.
class gossip_port {
 public:
  /// `devices` may be null if the address does not begin with verbs://.
  gossip_port(transport::reactor& loop, std::string address, transport::udp_options options,
              transport::verbs_api* devices)
      : address_(std::move(address)), udp_(loop, options) {
    if (!is_rdma(address_)) return;
    constexpr unsigned class_of_dscp = 4;  // a DSCP is the upper six bits of a traffic class
    transport::verbs_port_options own;
    own.traffic_class = static_cast<std::uint8_t>(options.dscp * class_of_dscp);
    rdma_.emplace(loop, *devices, udp_, own);
  }

  /// Opens the device, which may block for some milliseconds: `verbs_port::prepare`.
  status prepare() noexcept { return rdma_ ? rdma_->prepare(address_) : status(); }
  transport::datagram_port& port() noexcept {
    return rdma_ ? static_cast<transport::datagram_port&>(*rdma_) : udp_;
  }
  const transport::datagram_port& port() const noexcept {
    return rdma_ ? static_cast<const transport::datagram_port&>(*rdma_) : udp_;
  }

 private:
  std::string address_;
  transport::udp_port udp_;
  std::optional<transport::verbs_port> rdma_;
};

}  // namespace scoll::kit
