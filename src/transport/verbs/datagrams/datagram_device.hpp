#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/verbs/datagrams/datagram_wire.hpp"
#include "transport/verbs/opened_device.hpp"
#include "transport/verbs/verbs_api.hpp"
#include "transport/verbs/verbs_port.hpp"

namespace scoll::transport::verbs {

/// The least MTU of a port for datagrams, in bytes: every port of RoCE over plain Ethernet has it.
inline constexpr std::uint32_t least_datagram_mtu = 1024;

/// A device with one queue pair of datagrams, and registered memory for what it sends and receives. It is made and
/// destroyed where blocking is allowed.
class datagram_device {
 public:
  struct wish {
    verbs_port_options options;
    std::string host;             // of the own name
    std::uint32_t least_mtu = 0;  // in bytes
    std::uint64_t epoch = 0;
    std::uint32_t queue_key = 0;
  };
  /// Errors name the device and the remedy.
  static result<std::unique_ptr<datagram_device>> open(verbs_api& api, const wish& wanted);
  ~datagram_device();
  datagram_device(const datagram_device&) = delete;
  datagram_device& operator=(const datagram_device&) = delete;

  /// Ends an address handle with the device.
  void take_over(address_handle& handle) { handles_.push_back(&handle); }
  std::span<std::byte> receive_slot(std::size_t index) noexcept {
    return {memory_.get() + index * receive_slot_bytes_, receive_slot_bytes_};
  }
  std::span<std::byte> send_slot(std::size_t index) noexcept { return {sends_ + index * mtu_, mtu_}; }
  address_request way_to(const whereabouts& where) const noexcept;

  std::string name;
  std::unique_ptr<device_context> context;
  whereabouts where;
  completion_queue* completions = nullptr;
  receive_queue* receives = nullptr;
  queue_pair_object* pair = nullptr;
  std::uint32_t memory_key = 0;
  std::uint8_t port = 1;
  std::uint32_t gid_index = 0;

 private:
  datagram_device() = default;
  status use(std::unique_ptr<device_context> opened, const wish& wanted);
  status check(const wish& wanted, const port_facts& facts);
  status make_queues(const wish& wanted);
  status register_memory(const verbs_port_options& options);

  std::uint8_t service_level_ = 0;
  std::uint8_t traffic_class_ = 0;
  std::size_t mtu_ = 0;
  std::size_t receive_slot_bytes_ = 0;
  memory_block memory_;
  std::byte* sends_ = nullptr;  // in `memory_`
  memory_object* registered_ = nullptr;
  std::vector<address_handle*> handles_;
};

}  // namespace scoll::transport::verbs
