#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/properties/properties.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/session/limits.hpp"

// What must hold for hardware that reads the memory of peers.
namespace scoll::sim {
namespace {

void report(violations& found, const char* property, const life& l, const std::string& what) {
  found.push_back({property, fmt::format("host {}: {}", l.host, what)});
}

}  // namespace

void check_rights(const cluster& c, violations& found) {
  if (const std::uint64_t refused = c.network_of_bulk().access_errors(); refused != 0)
    found.push_back({"hardware refuses no honest read", fmt::format("{} were refused", refused)});
  // Peers that nothing keeps from it release their rights before the owner loses its patience.
  for (const auto& [number, h] : c.calls().hauls()) {
    if (c.faults().empty() && h.withdrawal >= transport::limits::recall_limit)
      report(found, "a recall is heard", *h.from,
             fmt::format("haul {}: after {} us", number, h.withdrawal.count() / 1000));
  }
  for (const life& l : c.all_lives()) {
    if (l.crashed || l.member == nullptr) continue;
    // Memory is withdrawn, and transfers are waited for.
    if (const std::uint64_t forced = l.member->wire().statistics().forced_fences; forced != 0)
      report(found, "no fence is forced", l, fmt::format("{} were", forced));
  }
}

void check_rights_settled(const cluster& c, violations& found) {
  if (!c.network_of_bulk().has_remote_memory()) return;
  for (const life& l : c.all_lives()) {
    if (l.crashed || l.member == nullptr || l.ended) continue;
    transport::memory_service& memory = l.member->wire().memory();
    if (memory.giver().out() + memory.readers().running() + memory.remote().open() != 0) {
      report(found, "rights end", l,
             fmt::format("{} rights are out, {} are read, {} orders are held", memory.giver().out(),
                         memory.readers().running(), memory.remote().open()));
    }
  }
}

}  // namespace scoll::sim
