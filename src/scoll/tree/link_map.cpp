#include "scoll/tree/link_map.hpp"

namespace scoll {
namespace {

std::uint64_t reach(const link_costs& costs) {
  return costs.send + costs.latency + costs.receive;
}

}  // namespace

const link_costs& link_map::between(std::uint32_t a, std::uint32_t b) const noexcept {
  if (class_of.empty()) return classes.front().costs;
  const link_costs& of_a = classes[class_of[a]].costs;
  const link_costs& of_b = classes[class_of[b]].costs;
  if (a == 0) return of_b;
  if (b == 0) return of_a;
  if (local && !host_of.empty() && host_of[a] == host_of[b]) return classes[*local].costs;
  if (near && !zone_of.empty() && zone_of[a] != 0 && zone_of[a] == zone_of[b]) return classes[*near].costs;
  return reach(of_a) < reach(of_b) ? of_b : of_a;
}

std::optional<bulk_costs> link_map::bulk() const noexcept {
  std::optional<bulk_costs> worst;
  for (const link_class& each : classes) {
    if (each.bulk) worst = worst ? worse_of(*worst, *each.bulk) : *each.bulk;
  }
  return worst;
}

}  // namespace scoll
