#include "tools/scoll-sim/verbs/verbs_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "transport/memory/remote_memory.hpp"

namespace scoll::sim {
namespace {

constexpr nanoseconds usual_call = std::chrono::microseconds(20);
constexpr nanoseconds slow_call = std::chrono::milliseconds(3);

}  // namespace

verbs_devices::verbs_devices(testing::sim_network& network, const rails_plan& p)
    : plan_(p), devices_(network), by_end_(p.device_faults) {
  sort_by(&device_fault::until, by_end_);
}

rails_host::devices_of_host verbs_devices::of(std::uint32_t host) {
  if (!any()) return {};
  rails_host::devices_of_host all;
  for (std::uint32_t rail = 0; rail < plan_.rails; ++rail) {
    const std::uint32_t at = rails_host::place(host, rail, plan_.hosts);
    if (plan_.by_rdma[rail]) {
      all.push_back([this, at](testing::sim_executor& home) { return devices_.api(home, at); });
    } else {
      all.emplace_back();
    }
  }
  return all;
}

void verbs_devices::pass(nanoseconds now) {
  for (; ended_ != by_end_.size() && by_end_[ended_].until <= now; ++ended_) end(by_end_[ended_]);
  const auto& faults = plan_.device_faults;
  for (; begun_ != faults.size() && faults[begun_].at <= now; ++begun_) begin(faults[begun_]);
}

void verbs_devices::begin(const device_fault& f) {
  const std::uint32_t at = rails_host::place(f.host, f.rail, plan_.hosts);
  switch (f.kind) {
    case device_fault_kind::port_down: return devices_.set_port(at, false);
    case device_fault_kind::port_silent: return devices_.set_port(at, false, false);
    case device_fault_kind::fails: return devices_.fail_device(at);
    case device_fault_kind::away: devices_.set_port(at, false); return devices_.fail_device(at);
    case device_fault_kind::post_refused: return devices_.refuse_send_after(at, f.amount);
    case device_fault_kind::unheard:
      return devices_.lose_all_after_next(at, rails_host::place(f.amount, f.rail, plan_.hosts));
    case device_fault_kind::slow_calls: return devices_.set_control_time(slow_call);
    case device_fault_kind::memory_refused: devices_.refuse_memory(at); return devices_.fail_device(at);
  }
}

void verbs_devices::end(const device_fault& f) {
  const std::uint32_t at = rails_host::place(f.host, f.rail, plan_.hosts);
  switch (f.kind) {
    case device_fault_kind::port_down:
    case device_fault_kind::away: return devices_.set_port(at, true);
    case device_fault_kind::port_silent: return devices_.set_port(at, true, false);
    case device_fault_kind::unheard: return devices_.heal();
    case device_fault_kind::slow_calls: return devices_.set_control_time(usual_call);
    case device_fault_kind::memory_refused:
      devices_.refuse_memory(at, false);
      return devices_.fail_device(at);
    case device_fault_kind::fails:
    case device_fault_kind::post_refused: return;
  }
}

void verbs_devices::check(violations& found) const {
  if (!any()) return;
  const testing::fake_verbs_statistics seen = devices_.statistics();
  const auto never = [&found](const char* property, const char* what, std::uint64_t count) {
    if (count != 0) found.push_back({property, fmt::format("{} {}", count, what)});
  };
  never("a message always has a place", "messages found no place", seen.receivers_not_ready);
  never("devices are used as they allow", "calls were illegal", seen.illegal_calls);
  never("devices are used as they allow", "READs were beyond the depth", seen.stalled_reads);
  never("devices are used as they allow", "queues overran", seen.overruns);
  never("devices touch only registered memory", "accesses were outside of it", seen.protection_errors);
  never("devices read only what they may", "READs had no right", seen.access_errors);
}

void verbs_devices::check_at_rest(const all_hosts& hosts, violations& found) const {
  if (!any()) return;
  for (const auto& h : hosts) {
    const std::uint64_t node = h->wire->options().self;
    if (h->wire->statistics().forced_fences != 0)
      found.push_back({"no fence is forced", fmt::format("node {}", node)});
    for (std::size_t i = 0; i < plan_.rails; ++i) {
      transport::memory_registrar* const memory = h->registrar(i);
      if (memory == nullptr) continue;
      const std::size_t used = memory->outgoing().in_use() + memory->incoming().in_use();
      if (used != 0) found.push_back({"slabs come back", fmt::format("node {} holds {}", node, used)});
    }
  }
  if (const std::uint64_t bound = devices_.statistics().windows_bound_now; bound != 0)
    found.push_back({"a right ends with its windows", fmt::format("{} are bound", bound)});
}

void verbs_devices::check_at_end(violations& found) const {
  if (const std::uint64_t left = devices_.statistics().queue_pairs; left != 0)
    found.push_back({"every queue pair ends", fmt::format("{} are left", left)});
}

void verbs_devices::note_seen(const all_hosts& hosts, coverage& seen) const {
  if (!any()) return;
  seen.saw(mark::device_read, devices_.statistics().reads != 0);
  seen.saw(mark::device_window, devices_.statistics().windows_bound != 0);
  const auto had = [this](device_fault_kind kind) {
    return std::ranges::any_of(plan_.device_faults, [&](const device_fault& f) { return f.kind == kind; });
  };
  std::uint64_t links = 0, without_reads = 0;
  for (const auto& h : hosts) {
    for (std::size_t i = 0; i < plan_.rails; ++i) {
      links += h->links_by_rdma(i).links;
      without_reads += h->links_by_rdma(i).links_without_reads;
    }
  }
  seen.saw(mark::device_link, links != 0);
  seen.saw(mark::device_without_reads, without_reads != 0);
  seen.saw(mark::device_port_down, had(device_fault_kind::port_down));
  seen.saw(mark::device_port_silent, had(device_fault_kind::port_silent));
  seen.saw(mark::device_failed, had(device_fault_kind::fails) || had(device_fault_kind::away));
  seen.saw(mark::device_refused, had(device_fault_kind::post_refused));
  seen.saw(mark::device_unheard, had(device_fault_kind::unheard));
}

}  // namespace scoll::sim
