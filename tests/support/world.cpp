#include "tests/support/world.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/transport/io/on_reactor.hpp"

namespace scoll::test {

void world::part(node_id, node_id) {
  throw std::logic_error("this world cannot part nodes");
}
void world::join(node_id, node_id) {
  throw std::logic_error("this world cannot join nodes");
}
void world::freeze(node_id) {
  throw std::logic_error("this world cannot freeze nodes");
}
void world::thaw(node_id) {
  throw std::logic_error("this world cannot thaw nodes");
}

bool virtual_world::wait(const std::function<bool()>& done, nanoseconds limit) {
  const time_point end = clock.now() + limit;
  const bool endless = false;
  clock.run_now();
  while (!done()) {
    if (clock.now() >= end || !clock.run_step(endless)) return false;
    clock.run_now();
  }
  return true;
}

void memory_world::part(node_id a, node_id b) {
  net.cut(host_of(a), host_of(b));
  net.refuse(host_of(a), host_of(b));
  net.refuse(host_of(b), host_of(a));
}

void memory_world::join(node_id a, node_id b) {
  net.admit(host_of(a), host_of(b));
  net.admit(host_of(b), host_of(a));
}

namespace {

/// The worlds in the order in which cases run over them.
constexpr struct {
  world_kind kind;
  std::string_view name;
  bool parts, freezes, hastes;
  bool can(fault f) const { return f == fault::part ? parts : f == fault::freeze ? freezes : hastes; }
} all_worlds[] = {{world_kind::memory, "the simulated network", true, true, true},
                  {world_kind::tcp_v4, "TCP over IPv4", true, false, true},
                  {world_kind::tcp_v6, "TCP over IPv6", false, false, true},
                  {world_kind::remote_memory, "the simulated network with hardware", true, true, true},
                  {world_kind::tcp_guarded, "TCP under guards", true, false, true},
                  {world_kind::fake_verbs, "simulated RDMA devices", true, true, true},
                  {world_kind::rxe, "RDMA devices", true, false, false}};

/// Counts the runs of cases that are left out of a world, and prints the counts when the program ends.
class left_out {
 public:
  ~left_out() {
    for (const auto& w : all_worlds) {
      if (const int count = on(w.kind); count != 0)
        fmt::print("left out of {}: {} with faults that it cannot bring about\n", w.name,
                   count == 1 ? "a case" : fmt::format("{} cases", count));
    }
  }
  int& on(world_kind kind) { return cases_[static_cast<std::size_t>(kind)]; }

 private:
  int cases_[std::size(all_worlds)] = {};
};

left_out& counted() {
  static left_out all;
  return all;
}

std::vector<world_kind> able_worlds(std::initializer_list<fault> needed, bool bulk) {
  std::vector<world_kind> able;
  const bool devices = !rxe_world::devices().empty();
  for (const auto& w : all_worlds) {
    if ((w.kind == world_kind::rxe) != devices) continue;
    const bool for_bulk = w.kind == world_kind::remote_memory || w.kind == world_kind::tcp_guarded;
    if (for_bulk && !bulk) continue;
    const bool can_all = std::all_of(needed.begin(), needed.end(), [&](fault f) { return w.can(f); });
    if (can_all) {
      able.push_back(w.kind);
    } else {
      ++counted().on(w.kind);
    }
  }
  if (able.empty()) able.push_back(world_kind::memory);  // there must be one
  return able;
}

}  // namespace

world_kind any_kind_of_world(std::initializer_list<fault> needed) {
  return GENERATE_COPY(from_range(able_worlds(needed, false)));
}

world_kind any_kind_of_bulk_world(std::initializer_list<fault> needed) {
  return GENERATE_COPY(from_range(able_worlds(needed, true)));
}

std::unique_ptr<world> make_world(world_kind kind, std::uint32_t hosts, node_id first_node,
                                  nanoseconds latency) {
  switch (kind) {
    case world_kind::tcp_v4: return std::make_unique<tcp_world>(tcp_world::family::v4);
    case world_kind::tcp_guarded: {
      auto made = std::make_unique<tcp_world>(tcp_world::family::v4);
      made->guard();
      return made;
    }
    case world_kind::rxe: return std::make_unique<rxe_world>();
    case world_kind::tcp_v6: return std::make_unique<tcp_world>(tcp_world::family::v6);
    case world_kind::fake_verbs: {
      auto made = std::make_unique<fake_verbs_world>(hosts, first_node);
      made->set_latency(latency);
      return made;
    }
    case world_kind::memory:
    case world_kind::remote_memory: break;
  }
  auto made = std::make_unique<memory_world>(testing::sim_network::usual_chunk_bytes, hosts, first_node);
  if (kind == world_kind::remote_memory) made->net.enable_remote_memory(few_slabs);
  made->set_latency(latency);
  return made;
}

}  // namespace scoll::test
