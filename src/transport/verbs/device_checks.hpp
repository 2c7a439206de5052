#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/verbs/verbs_api.hpp"
#include "transport/verbs/verbs_options.hpp"

/// What a rail needs of a device. Each error says what is missing, and what to do.
namespace scoll::transport::verbs {

/// What may be posted on a queue pair for READs at a time: READs, and the binding and unbinding of windows.
std::uint32_t read_requests(const verbs_options& options) noexcept;

/// The entries of the queue of completions: all that can complete, because its overrun would be fatal.
std::uint32_t completion_entries(const verbs_options& options) noexcept;

/// `unsupported`: the queues of the device are too short, or it lacks memory windows.
status check_limits(const device_limits& limits, const std::string& device, const verbs_options& options);

/// `unreachable`: the port is down.
status check_port(const port_facts& port, const std::string& device, std::uint8_t number);

/// Opens the device of that name; without a name all in order, until one is fit. If there is only one to try, its
/// error is the answer. `use`: `status (const std::string& name, std::unique_ptr<device_context>)`.
template <class Use>
status open_first(verbs_api& api, const std::string& device, const Use& use) {
  const std::vector<std::string> names = device.empty() ? api.device_names() : std::vector{device};
  status outcome =
      error(errc::not_found, "verbs: no RDMA device: load its driver, or add one with 'rdma link add'");
  for (const std::string& each : names) {
    auto opened = api.open(each);
    outcome = opened ? use(each, std::move(*opened)) : status(opened.error());
    if (outcome) break;
  }
  return outcome;
}

struct chosen_address {
  gid address{};
  std::uint32_t index = 0;
};

/// The address of a port, by value, because the places of the addresses differ from host to host. An empty
/// `wanted` stands for the first that is not link-local. Errors: `not_found`; `invalid_argument` (`wanted` is
/// no IP address).
result<chosen_address> choose_address(device_context& context, const std::string& device, std::uint8_t port,
                                      bool ethernet, const std::string& wanted);

/// The bytes that a rail locks in memory, beside what a program registers.
std::uint64_t locked_bytes(const verbs_options& options) noexcept;

}  // namespace scoll::transport::verbs
