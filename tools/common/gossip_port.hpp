#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "transport/io/address.hpp"
#include "transport/io/udp_port.hpp"
#include "transport/verbs/verbs_options.hpp"
#include "transport/verbs/verbs_port.hpp"

namespace scoll::kit {

/// True if the gossip at an address goes by RDMA.
inline bool is_rdma(std::string_view address) noexcept {
  return transport::split_name(address).transport == "verbs";
}

/// The RDMA devices for gossip, and how it uses them.
struct gossip_rdma {
  gossip_rdma() noexcept = default;
  /// Devices and ports are those that `chosen` names; it need not outlive this. `given` may be null.
  gossip_rdma(transport::verbs_api* given, const transport::verbs_options& chosen) : devices(given) {
    options.device = chosen.device;
    options.port = chosen.port;
    options.address = chosen.address;
    options.service_level = chosen.service_level;
  }

  /// For a participant with these addresses. With several by RDMA, each has the device of its own host.
  gossip_rdma for_addresses(std::span<const std::string> own) const {
    gossip_rdma made = *this;
    if (std::count_if(own.begin(), own.end(), is_rdma) > 1) made.options.address.clear();
    return made;
  }

  transport::verbs_api* devices = nullptr;
  transport::verbs_port_options options{};
};

/// The port of a participant at one of its addresses: by RDMA if the address begins with verbs://, which has a
/// UDP port beside it, and otherwise by UDP.
class gossip_port {
 public:
  /// `rdma` may be without devices if the address does not begin with verbs://. The traffic class is that of UDP.
  gossip_port(transport::reactor& loop, std::string address, const transport::udp_options& options,
              const gossip_rdma& rdma)
      : address_(std::move(address)), udp_(loop, options) {
    if (!is_rdma(address_)) return;
    constexpr unsigned class_of_dscp = 4;  // a DSCP is the upper six bits of a traffic class
    transport::verbs_port_options own = rdma.options;
    own.traffic_class = static_cast<std::uint8_t>(options.dscp * class_of_dscp);
    rdma_.emplace(loop, *rdma.devices, udp_, own);
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
