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

/// Cases of any kind, those with bulk data, and those that look at how bulk data travel in messages.
enum cases : unsigned { plain = 1, bulk = 2, streams = 4 };

/// The worlds in the order in which cases run over them.
constexpr struct {
  world_kind kind;
  std::string_view name;
  unsigned runs;
  bool parts, freezes, hastes;
  bool can(fault f) const { return f == fault::part ? parts : f == fault::freeze ? freezes : hastes; }
} all_worlds[] = {
    {world_kind::memory, "the simulated network", plain | bulk | streams, true, true, true},
    {world_kind::tcp_v4, "TCP over IPv4", plain | bulk | streams, true, false, true},
    {world_kind::tcp_v6, "TCP over IPv6", plain | bulk | streams, false, false, true},
    {world_kind::remote_memory, "the simulated network with hardware", bulk, true, true, true},
    {world_kind::tcp_guarded, "TCP under guards", bulk, true, false, true},
    {world_kind::fake_verbs, "simulated RDMA devices", plain | bulk, true, true, true},
    {world_kind::fake_verbs_windows, "simulated RDMA devices with memory windows", bulk, true, true, true},
    {world_kind::fake_verbs_messages, "simulated RDMA devices without READ", bulk | streams, true, true,
     true},
    {world_kind::rxe, "RDMA devices", plain | bulk, true, false, false},
    {world_kind::rxe_messages, "RDMA devices without READ", streams, true, false, false}};

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

std::vector<world_kind> able_worlds(std::initializer_list<fault> needed, cases wanted) {
  std::vector<world_kind> able;
  const bool devices = !rxe_world::devices().empty();
  for (const auto& w : all_worlds) {
    const bool of_devices = w.kind == world_kind::rxe || w.kind == world_kind::rxe_messages;
    if (of_devices != devices || (w.runs & wanted) == 0) continue;
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
  return GENERATE_COPY(from_range(able_worlds(needed, plain)));
}

world_kind any_kind_of_bulk_world(std::initializer_list<fault> needed) {
  return GENERATE_COPY(from_range(able_worlds(needed, bulk)));
}

world_kind any_kind_of_stream_world() {
  return GENERATE_COPY(from_range(able_worlds({}, streams)));
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
    case world_kind::rxe_messages: return std::make_unique<rxe_world>(false);
    case world_kind::tcp_v6: return std::make_unique<tcp_world>(tcp_world::family::v6);
    case world_kind::fake_verbs:
    case world_kind::fake_verbs_windows:
    case world_kind::fake_verbs_messages: {
      auto made = std::make_unique<fake_verbs_world>(hosts, first_node);
      if (kind == world_kind::fake_verbs_messages) made->options.read_depth = 0;
      if (kind == world_kind::fake_verbs_windows) made->options.windows = 6;
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
