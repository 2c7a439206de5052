#include "devices.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/common/rdma_devices.hpp"
#include "transport/verbs/verbs_survey.hpp"

namespace info {
namespace {

using nlohmann::ordered_json;
using scoll::transport::verbs_survey;

constexpr std::uint64_t mib = 1U << 20U;

const char* name_of(verbs_survey::address_kind kind) noexcept {
  constexpr const char* names[] = {"RoCEv2", "InfiniBand", "not RoCEv2"};
  return names[static_cast<std::size_t>(kind)];
}

/// What there is; without libibverbs, or a reactor, nothing but the reason.
verbs_survey look(const scoll::settings& chosen) {
  verbs_survey none;
  auto options = chosen.reactor();
  options.announce = false;
  const auto loop = scoll::transport::reactor::create(options);
  if (!loop) {
    none.troubles.emplace_back(loop.error().text());
    return none;
  }
  const auto devices = scoll::kit::devices_if(true, **loop);
  if (devices) return scoll::transport::survey_verbs(**devices, chosen.verbs());
  none.troubles.emplace_back(devices.error().text());
  return none;
}

ordered_json port_json(const verbs_survey::port& port) {
  auto addresses = ordered_json::array();
  for (const auto& each : port.addresses)
    addresses.push_back({{"address", each.text}, {"kind", name_of(each.kind)}});
  return {{"number", port.number}, {"active", port.active},  {"ethernet", port.ethernet},
          {"mtu", port.mtu},       {"addresses", addresses}, {"troubles", port.troubles}};
}

ordered_json device_json(const verbs_survey::device& device) {
  auto ports = ordered_json::array();
  for (const auto& each : device.ports) ports.push_back(port_json(each));
  return {{"name", device.name}, {"reads", device.reads}, {"ports", ports}, {"troubles", device.troubles}};
}

ordered_json survey_json(const verbs_survey& found) {
  auto devices = ordered_json::array();
  for (const auto& each : found.devices) devices.push_back(device_json(each));
  ordered_json all{
      {"usable", found.usable()}, {"locked_limit", nullptr}, {"locked_bytes", found.locked_bytes}};
  if (found.locked_limit) all["locked_limit"] = *found.locked_limit;
  all["devices"] = std::move(devices);
  all["troubles"] = found.troubles;
  return all;
}

void print_troubles(const std::vector<std::string>& troubles, const char* indent) {
  for (const std::string& each : troubles) fmt::print("{}! {}\n", indent, each);
}

void print_device(const verbs_survey::device& device) {
  fmt::print("{}: up to {} READs of a link at a time\n", device.name, device.reads);
  print_troubles(device.troubles, "  ");
  for (const auto& port : device.ports) {
    fmt::print("  port {}: {}, {}, MTU {}\n", port.number, port.active ? "active" : "down",
               port.ethernet ? "Ethernet" : "InfiniBand", port.mtu);
    for (const auto& each : port.addresses) fmt::print("    {:40} {}\n", each.text, name_of(each.kind));
    print_troubles(port.troubles, "    ");
  }
}

void print_survey(const verbs_survey& found) {
  for (const auto& each : found.devices) print_device(each);
  if (found.locked_bytes != 0) {
    const std::string limit =
        found.locked_limit ? fmt::format("{} MiB", *found.locked_limit / mib) : "no limit";
    fmt::print("locked memory: {}; a verbs rail locks {} MiB\n", limit, (found.locked_bytes + mib - 1) / mib);
  }
  print_troubles(found.troubles, "");
  fmt::print("{}\n", found.usable() ? "A verbs rail can be used here." : "No verbs rail can be used here.");
}

}  // namespace

int print_devices(const scoll::settings& chosen, bool as_json) {
  const verbs_survey found = look(chosen);
  if (as_json) {
    fmt::print("{}\n", survey_json(found).dump(2));
  } else {
    print_survey(found);
  }
  return found.usable() ? 0 : 1;
}

}  // namespace info
