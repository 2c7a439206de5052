// A reply whose fields can merge themselves needs no merge function. Twelve servers report on their disks.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <string>

#include "scoll/local_cluster.hpp"

namespace {

struct disk_report {
  static constexpr scoll::service_id id{0x0101};
  static constexpr std::size_t reply_capacity = 4096;  // upper bound of the merged reply, encoded
  struct request {
    std::uint32_t pool;
  };
  struct reply {
    scoll::sum<std::uint64_t> objects;
    scoll::minimum<std::uint32_t> least_free_percent;
    scoll::maximum<std::uint32_t> hottest_celsius;
    scoll::all_of writable;
    scoll::top_k<std::uint64_t, 3> largest_objects;
    scoll::set_union<std::string> firmware;
    scoll::status_map health;                   // servers per state: small, however many servers there are
    scoll::concatenation<std::string> remarks;  // each server's remark, in the order of the ranks
  };
  static reply execute(const request&, scoll::bcast_context& call) {
    const std::uint32_t rank = call.rank();
    reply mine{{1000 + rank}, {90 - rank}, {30 + rank % 7}, {rank != 9}, {}, {}, {}, {}};
    for (const std::uint64_t size : {3U, 5U, 8U}) mine.largest_objects.insert(size * (rank + 1));
    mine.firmware.insert(rank < 8 ? "v2.1" : "v2.2");
    mine.health.add({.status = rank == 9 ? 30 : 0, .count = 1, .lowest_rank = rank});
    if (rank == 9) mine.remarks.parts.push_back({.rank = rank, .value = "read-only since Monday"});
    return mine;
  }
};
static_assert(scoll::collective_service<disk_report>);

scoll::task<bool> ask(scoll::node& node, const std::vector<scoll::target>& servers) {
  auto group = co_await node.create_group<disk_report>(servers);
  auto r = co_await scoll::bcast(group.value(), disk_report::request{3});
  if (!r.has_value()) co_return false;
  fmt::print("{} objects, least free {} %, hottest {} C, all writable: {}\n", r->objects.value,
             r->least_free_percent.value, r->hottest_celsius.value, r->writable.value);
  fmt::print("largest {}, firmware {}\n", r->largest_objects.values, r->firmware.values);
  for (const auto& e : r->health.entries) fmt::print("status {}: {} servers\n", e.status, e.count);
  for (const auto& part : r->remarks.parts) fmt::print("rank {}: {}\n", part.rank, part.value);
  co_return r.ok() && r->objects.value == 12066 && !r->writable.value && r->health.entries.size() == 2;
}

}  // namespace

int main() {
  scoll::local_cluster cluster(12);
  cluster.serve(disk_report{});
  return cluster.run(ask(cluster[0], cluster.targets())) ? 0 : 1;
}
