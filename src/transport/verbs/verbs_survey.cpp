#include "transport/verbs/verbs_survey.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "scoll/coro/error_format.hpp"
#include "transport/verbs/device_checks.hpp"
#include "transport/verbs/opened_device.hpp"

namespace scoll::transport {
namespace {

constexpr std::uint32_t least_mtu = 1024;
constexpr std::uint64_t mib = 1U << 20U;

/// True if this process may lock memory beyond its limit.
bool may_lock_all() {
  constexpr unsigned ipc_lock = 14;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff:"))
      return (std::stoull(line.substr(line.find(':') + 1), nullptr, 16) >> ipc_lock & 1U) != 0;
  }
  return false;
}

verbs_survey::address_kind kind_of(const verbs::gid_entry& entry, bool ethernet) noexcept {
  if (!entry.usable) return verbs_survey::address_kind::other;
  return ethernet ? verbs_survey::address_kind::roce_v2 : verbs_survey::address_kind::infiniband;
}

void note(std::vector<std::string>& troubles, const status& checked) {
  if (!checked) troubles.emplace_back(checked.error().text());
}

/// Looks at the ports of one open device.
class surveyor {
 public:
  surveyor(verbs::device_context& context, const verbs_options& options) noexcept
      : context_(context), options_(options) {}

  verbs_survey::device look(const std::string& name) {
    verbs_survey::device found;
    found.name = name;
    const verbs::device_limits limits = context_.limits();
    found.reads = std::min({limits.reads_out, limits.reads_in, options_.read_depth});
    note(found.troubles, verbs::check_limits(limits, name, options_));
    for (std::uint8_t number = 1; number <= limits.ports; ++number) {
      const auto facts = context_.port(number);
      if (facts) {
        found.ports.push_back(look_at(name, number, *facts));
      } else {
        note(found.troubles, facts.error());
      }
    }
    return found;
  }

 private:
  verbs_survey::port look_at(const std::string& name, std::uint8_t number, const verbs::port_facts& facts) {
    verbs_survey::port found;
    found.number = number;
    found.active = facts.active;
    found.ethernet = facts.ethernet;
    found.mtu = facts.mtu;
    for (std::uint32_t index = 0;; ++index) {
      const auto entry = context_.address(number, index);
      if (!entry) break;
      if (entry->address == verbs::gid{}) continue;  // the place is empty
      found.addresses.push_back({verbs::to_text(entry->address), kind_of(*entry, facts.ethernet)});
    }
    note(found.troubles, verbs::check_port(facts, name, number));
    const auto chosen = verbs::choose_address(context_, name, number, facts.ethernet, options_.address);
    if (!chosen) found.troubles.emplace_back(chosen.error().text());
    if (facts.active && facts.mtu < least_mtu) {
      found.troubles.push_back(fmt::format(
          "verbs: the MTU of port {} of {} is {}: raise that of the network interface, to 4200 for "
          "4096",
          number, name, facts.mtu));
    }
    return found;
  }

  verbs::device_context& context_;
  const verbs_options& options_;
};

verbs_survey::device survey_device(verbs_api& devices, const std::string& name,
                                   const verbs_options& options) {
  auto opened = devices.open(name);
  if (opened) return surveyor(**opened, options).look(name);
  verbs_survey::device closed;
  closed.name = name;
  closed.troubles.emplace_back(opened.error().text());
  return closed;
}

}  // namespace

std::optional<std::uint64_t> locked_memory_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  if (may_lock_all()) return std::nullopt;
  return limit.rlim_cur;
}

bool verbs_survey::usable() const noexcept {
  const auto good = [](const auto& part) { return part.troubles.empty(); };
  return troubles.empty() && std::ranges::any_of(devices, [&](const device& each) {
           return good(each) && std::ranges::any_of(each.ports, good);
         });
}

verbs_survey survey_verbs(verbs_api& devices, const verbs_options& options,
                          std::optional<std::uint64_t> locked_limit) {
  verbs_survey found;
  found.locked_limit = locked_limit;
  found.locked_bytes = verbs::locked_bytes(options);
  const std::vector<std::string> names = devices.device_names();
  for (const std::string& each : names) {
    if (options.device.empty() || options.device == each)
      found.devices.push_back(survey_device(devices, each, options));
  }
  if (names.empty()) {
    found.troubles.emplace_back(
        "there is no RDMA device: load the driver of the adapter, or add one with 'rdma link add rxe0 type "
        "rxe "
        "netdev INTERFACE'");
  } else if (found.devices.empty()) {
    found.troubles.push_back(
        fmt::format("verbs.device is {}, and there are {}", options.device, fmt::join(names, ", ")));
  }
  if (locked_limit && *locked_limit < found.locked_bytes) {
    found.troubles.push_back(fmt::format(
        "a process may lock {} MiB in memory, and a verbs rail locks {} MiB: raise the limit ('ulimit -l', "
        "LimitMEMLOCK=), or lower verbs.receive_slots, verbs.send_slabs and verbs.read_slabs",
        *locked_limit / mib, (found.locked_bytes + mib - 1) / mib));
  }
  return found;
}

}  // namespace scoll::transport
