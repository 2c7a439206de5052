#include "transport/verbs/device_checks.hpp"

#include "scoll/coro/error_format.hpp"
#include "transport/verbs/opened_device.hpp"
#include "transport/verbs/slot_credit.hpp"

namespace scoll::transport::verbs {

/// A window may be bound and unbound before either of the two has completed.
std::uint32_t read_requests(const verbs_options& options) noexcept {
  return options.read_depth == 0 ? 0 : options.read_depth + 2 * options.windows;
}

std::uint32_t completion_entries(const verbs_options& options) noexcept {
  const std::uint32_t most_links = options.receive_slots / least_slots;
  const std::uint32_t per_link = news_per_pair + read_requests(options);
  return options.receive_slots + options.send_slabs + most_links * per_link;
}

status check_limits(const device_limits& limits, const std::string& device, const verbs_options& options) {
  if (options.read_depth != 0 && limits.windows < options.windows) {
    return make_error(errc::unsupported,
                      "verbs: {} has {} memory windows of type 2B, fewer than verbs.windows, {}", device,
                      limits.windows, options.windows);
  }
  if (limits.shared_receives >= options.receive_slots && limits.queue_entries >= completion_entries(options))
    return {};
  return make_error(errc::unsupported,
                    "verbs: {} has {} shared receives and {} queue entries: lower verbs.receive_slots",
                    device, limits.shared_receives, limits.queue_entries);
}

status check_port(const port_facts& port, const std::string& device, std::uint8_t number) {
  if (port.active) return {};
  return make_error(errc::unreachable, "verbs: port {} of {} is down: check cable and 'ip link'", number,
                    device);
}

result<chosen_address> choose_address(device_context& context, const std::string& device, std::uint8_t port,
                                      bool ethernet, const std::string& wanted) {
  gid exact{};
  if (!wanted.empty()) {
    const auto parsed = parse_gid(wanted);
    if (!parsed) return parsed.error();
    exact = *parsed;
  }
  const bool any = exact == gid{};
  for (std::uint32_t index = 0;; ++index) {
    const auto entry = context.address(port, index);
    if (!entry) break;
    const bool link_local = entry->address[0] == 0xfe;
    if (!entry->usable || (any ? ethernet && link_local : entry->address != exact)) continue;
    return chosen_address{entry->address, index};
  }
  return make_error(errc::not_found, "verbs: port {} of {} has no RoCEv2 address {}: set verbs.address", port,
                    device, any ? "at all" : wanted);
}

std::uint64_t locked_bytes(const verbs_options& options) noexcept {
  const std::uint64_t messages = std::uint64_t{options.receive_slots} + options.send_slabs;
  const std::uint64_t reads =
      options.read_depth == 0 ? 0 : 2 * std::uint64_t{options.read_slabs} * options.read_slab_bytes;
  return messages * slot_bytes + reads;
}

}  // namespace scoll::transport::verbs
