#include "tools/scoll-sim/plan/draft.hpp"

// The hosts, their clocks and the wires between them.
namespace scoll::sim {
namespace {

void draw_wires(draft& d) {
  draws random = d.stream("wires");
  const std::uint64_t near_ns = random.magnitude(2'000, 100'000);
  const std::uint64_t far_ns = random.magnitude(near_ns, 2'000'000);
  const std::uint64_t jitter_ns = random.magnitude(100, near_ns);
  const std::uint64_t ps_per_byte = random.magnitude(20, 8'000);
  const std::uint64_t rack = random.between(1, d.hosts());
  const std::uint64_t chunk = random.magnitude(64, 65'536);
  const auto ns = [](std::uint64_t value) { return nanoseconds(static_cast<std::int64_t>(value)); };
  d.add(nanoseconds(0), events::wires{ns(near_ns), ns(far_ns), ns(jitter_ns), ps_per_byte,
                                      static_cast<std::uint32_t>(rack), static_cast<std::uint32_t>(chunk)});
}

void draw_clocks(draft& d) {
  draws random = d.stream("clocks");
  for (std::uint32_t h = 0; h < d.hosts(); ++h) {
    const std::uint64_t offset = random.between(1'000'000'000, 1'000'000'000'000);
    const bool wild = d.swarm() && random.chance(1, 16) && !d.has().gossip;  // a gossip needs fair clocks
    const std::uint64_t drift = wild ? random.between(0, 40'000) : random.between(19'900, 20'100);
    d.add(nanoseconds(0), events::clock{h, nanoseconds(static_cast<std::int64_t>(offset)), 980'000 + drift});
  }
}

void draw_old_servers(draft& d) {
  draws random = d.stream("old servers");
  d.add(nanoseconds(0), events::old_servers{d.half(random)});
}

/// The first host is a server.
void draw_clients(draft& d) {
  draws random = d.stream("client hosts");
  d.add(nanoseconds(0), events::clients{d.half(random) - number_set::of(0)});
}

void draw_remote_memory(draft& d) {
  draws random = d.stream("slabs");
  const auto slabs = static_cast<std::uint32_t>(random.between(1, 8));
  // Pieces of broadcasts have 64 KiB and more.
  const std::uint64_t small = random.magnitude(8'193, 32'768);
  const std::uint64_t large = random.magnitude(65'536, 262'144);
  const auto bytes = static_cast<std::uint32_t>(random.chance(1, 2) ? small : large);
  d.add(nanoseconds(0), events::remote_memory{slabs, bytes});
}

/// Few nodes have so little memory that broadcasts are refused for want of it.
void draw_node_memory(draft& d) {
  draws random = d.stream("room for parts");
  if (!random.chance(1, 8)) return;
  const auto parts = static_cast<std::uint32_t>(random.magnitude(4'096, 524'288));
  const auto kept = static_cast<std::uint32_t>(random.magnitude(2'000, 32'768));
  d.add(nanoseconds(0), events::node_memory{parts, kept});
}

}  // namespace

void draw_world(draft& d) {
  draw_wires(d);
  draw_clocks(d);
  if (d.has().clients) draw_clients(d);
  if (d.has().rails > 1) d.add(nanoseconds(0), events::rails{d.has().rails});
  if (d.has().two_rails) d.add(nanoseconds(0), events::two_rails{});
  if (d.has().remote_memory) draw_remote_memory(d);
  if (d.has().all_services) draw_old_servers(d);
  if (d.has().gossip) d.add(nanoseconds(0), events::gossip{});
  if (d.answers_in_parts()) draw_node_memory(d);
}

}  // namespace scoll::sim
