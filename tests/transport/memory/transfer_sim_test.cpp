#include <deque>
#include <optional>

#include "scoll/coro/scope.hpp"
#include "transfers.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

using namespace transfers;

namespace {

constexpr std::size_t store_bytes = 600'000;
constexpr std::uint32_t host_count = 3;

/// A host of the simulator with memory that the others read and write. Each peer writes to its own part of
/// the memory.
struct memory_host {
  memory_host(sim_world& world, sim_network& network, std::uint32_t host, sim_clock clock)
      : home(world, host, clock), rail(network, home), work(home), store(made(store_bytes, host)) {
    endpoint_options o = options_of(host + 1);
    o.transfer_segment_bytes = 65536;
    home.enter([&] {
      ep.emplace(home, rail, o, in);
      in.owner = &*ep;
      REQUIRE(ep->listen(sim_network::address_of(host)).has_value());
      for (std::uint32_t other = 0; other < host_count; ++other) {
        if (other != host) REQUIRE(ep->add_peer(other + 1, sim_network::address_of(other)).has_value());
      }
      for (std::uint32_t other = 0; other < host_count; ++other) inbox.emplace_back(store_bytes);
      auto readable = memory_region::expose(*ep, store.memory());
      region = std::move(*readable);
      for (auto& part : inbox) {
        auto writable = memory_region::expose(*ep, part.memory(), memory_access::read_write);
        parts.push_back(std::move(*writable));
      }
    });
  }

  sim_executor home;
  sim_rail rail;
  scope work;
  fenced store;
  std::deque<fenced> inbox;
  memory_region region;
  std::deque<memory_region> parts;
  network::service in;
  std::optional<endpoint> ep;
};

struct tally {
  int read = 0, written = 0, failed = 0, wrong = 0, surprising = 0, touched = 0;
};

bool untouched(std::span<const std::byte> memory) {
  return test::holds_only(memory, poison);
}

bool expected_failure(const error& e) {
  return e == errc::connection_lost || e == errc::unreachable || e == errc::deadline_exceeded ||
         e == errc::checksum_mismatch;
}

/// Reads the peer's store, writes to its own part of that store, and reads the part back. It spoils local
/// memory once the await has returned, because nothing may write to it or send from it after that.
task<> exchange_with(memory_host& self, memory_host& peer, std::uint32_t number, int rounds, tally& count) {
  fenced local(store_bytes);
  for (int round = 0; round < rounds; ++round) {
    transfer_options options;
    options.deadline = round % 2 == 0 ? nanoseconds(5s) : nanoseconds(3ms + number * 200us);
    options.checked = true;
    const status read = co_await pull(*self.ep, peer.region.descriptor(), 0, local.memory(), options);
    count.read += read.has_value();
    if (read) count.wrong += !local.holds(made(store_bytes, peer.home.host()));
    if (!read) count.surprising += !expected_failure(read.error());
    test::fill(local.memory(), poison);
    const bytes fresh = clean(store_bytes, number * 100 + static_cast<unsigned>(round));
    bytes source = fresh;
    const auto there = peer.parts[self.home.host()].descriptor();
    const push_status written = co_await push(*self.ep, there, 0, source, options);
    test::fill(source, poison);
    count.touched += !untouched(local.memory());
    count.failed += !read + !written;
    if (!written) {
      count.surprising += !expected_failure(written.error());
      continue;
    }
    ++count.written;
    const status back = co_await pull(*self.ep, there, 0, local.memory(), options);
    if (back) count.wrong += !local.holds(fresh);
    count.touched += !untouched(source);
  }
}

struct run_result {
  tally count;
  std::uint64_t hash = 0;
};

nanoseconds up_to(random_generator& random, nanoseconds most) {
  return nanoseconds(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most.count()))));
}

void harm(sim_world& world, sim_network& network, random_generator& random) {
  const auto a = static_cast<std::uint32_t>(random.below(host_count));
  const auto b = (a + 1 + static_cast<std::uint32_t>(random.below(host_count - 1))) % host_count;
  switch (random.below(5)) {
    case 0: return network.cut(a, b);
    case 1: network.path(a, b).corrupt_next = 1; return;
    case 2: return network.half_open(a, b);
    case 3: network.path(a, b).blocked_until = world.now() + up_to(random, 1500ms); return;
    default: world.host(a)->stall_until(world.now() + up_to(random, 300ms)); return;
  }
}

run_result run(std::uint64_t seed, bool faults) {
  sim_world world(seed, host_count);
  sim_network network(world, 64 + seed * 977 % 40000);
  std::deque<memory_host> stations;
  for (std::uint32_t h = 0; h < host_count; ++h) {
    stations.emplace_back(world, network, h, sim_clock{1s, static_cast<std::int64_t>(h) * 5000});
  }
  run_result end;
  std::uint32_t number = 0;
  for (auto& self : stations) {
    for (auto& peer : stations) {
      if (&self == &peer) continue;
      self.home.enter([&] { self.work.spawn(exchange_with(self, peer, ++number, 4, end.count)); });
    }
  }
  const auto working = [&] {
    return std::ranges::any_of(stations, [](memory_host& s) { return s.work.running() != 0; });
  };
  for (nanoseconds at = 3ms; working(); at += up_to(world.random(), faults ? 30ms : 1s)) {
    REQUIRE(at < 300s);
    world.run_until(at);
    if (faults && at < 20s) harm(world, network, world.random());
  }
  for (auto& s : stations) {
    CHECK(s.store.holds(made(store_bytes, s.home.host())));
    for (auto& part : s.inbox) {
      CHECK(part.intact());
      CHECK_FALSE(spoiled(part.memory()));
    }
    CHECK(s.work.join().await_ready());
    s.home.enter([&] { s.ep.reset(); });
  }
  world.run_until(world.now() + 60s);
  for (auto& s : stations) CHECK(s.rail.open() == 0);
  end.hash = world.trace_hash();
  return end;
}

}  // namespace

TEST_CASE("transfers in the simulator, without faults") {
  const run_result o = run(1, false);
  CHECK(o.count.touched == 0);
  CHECK(o.count.read == host_count * (host_count - 1) * 4);
  CHECK(o.count.written == host_count * (host_count - 1) * 4);
  CHECK(o.count.wrong == 0);
  CHECK(run(1, false).hash == o.hash);
}

TEST_CASE("transfers in the simulator, with faults from a seed") {
  tally all;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    INFO("seed " << seed);
    const run_result o = run(seed, true);
    CHECK(o.count.wrong == 0);
    CHECK(o.count.surprising == 0);
    CHECK(o.count.touched == 0);
    all.read += o.count.read;
    all.written += o.count.written;
    all.failed += o.count.failed;
    if (seed == 1) CHECK(run(seed, true).hash == o.hash);
  }
  CHECK(all.read > 100);
  CHECK(all.written > 100);
  CHECK(all.failed > 0);
}

TEST_CASE("a grace does not run out while the process that waits stands still") {
  sim_world world(1, host_count);
  sim_network network(world, 4096);
  std::deque<memory_host> stations;
  for (std::uint32_t h = 0; h < host_count; ++h) stations.emplace_back(world, network, h, sim_clock{1s, 0});
  memory_host& reader = stations[0];
  memory_host& source = stations[1];
  fenced local(store_bytes);
  std::optional<status> ended;
  const auto read = [&]() -> task<> {
    ended = co_await pull(*reader.ep, source.region.descriptor(), 0, local.memory());
  };
  reader.home.enter([&] { reader.work.spawn(read()); });
  while (reader.ep->statistics().bytes_received == 0) world.run_until(world.now() + 10us);
  REQUIRE_FALSE(ended);
  network.cut(0, 1);
  world.run_until(world.now() + 100us);  // the connections are over, and the next ones have not begun
  REQUIRE_FALSE(ended);
  reader.home.stall_until(world.now() + 3s);
  world.run_until(world.now() + 4s);
  REQUIRE(ended);
  INFO((*ended ? "" : describe(ended->error())));
  CHECK(ended->has_value());
  CHECK(local.holds(source.store.memory()));
  for (auto& s : stations) {
    CHECK(s.work.join().await_ready());
    s.home.enter([&] { s.ep.reset(); });
  }
  world.run_until(world.now() + 60s);
}
