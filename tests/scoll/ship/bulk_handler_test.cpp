#include <algorithm>

#include "calls.hpp"
#include "scoll/bulk/bulk.hpp"
#include "scoll/bulk/stream.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/bytes.hpp"
#include "transport/wire/checksum.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t mebibyte = 1U << 20U;
constexpr remote_function<region_descriptor, std::uint64_t> digest{"test.digest"};

/// The observations of a handler while it worked on the chunks of its argument.
struct work_seen {
  nanoseconds per_chunk{0};
  std::size_t chunks = 0;
  std::size_t most_buffers = 0;  ///< the most buffers of the node that were lent at once
  std::uint64_t carried_at_first = 0;
};

std::uint64_t digest_of(std::span<const std::byte> all, std::size_t chunk) {
  std::uint64_t sum = 0;
  for (; !all.empty(); all = all.subspan(std::min(chunk, all.size())))
    sum = sum * 31 + wire::checksum(all.first(std::min(chunk, all.size())));
  return sum;
}

constexpr std::uint32_t chunk_bytes = 128 * 1024;

/// Works on chunks as they arrive.
auto digester(node& at, work_seen& seen, const testing::sim_network* carrier = nullptr) {
  return [&at, &seen, carrier](const region_descriptor& data,
                               call_context& call) -> task<result<std::uint64_t>> {
    stream_options options;
    options.chunk_bytes = chunk_bytes;
    options.depth = 4;
    options.stop = call.stop();
    bulk_stream chunks(at, data, options);
    std::uint64_t sum = 0;
    while (true) {
      const auto chunk = co_await chunks.next();
      if (!chunk) co_return chunk.error();
      if (chunk->empty()) break;
      if (seen.chunks++ == 0 && carrier != nullptr) seen.carried_at_first = carrier->bytes_carried();
      const auto& wire = at.wire();
      seen.most_buffers = std::max(seen.most_buffers, wire.payloads_in_use());
      if (seen.per_chunk > 0ns) co_await sleep_for(seen.per_chunk);
      sum = sum * 31 + wire::checksum(*chunk);
    }
    co_return sum;
  };
}

task<ship_result<std::uint64_t>> asked(node& from, node_id to, region_descriptor data, ship_options options) {
  auto r = co_await ship(from, to, digest, data, options);
  co_return r;
}

}  // namespace

TEST_CASE("a handler works on chunks of bulk while the next ones come") {
  virtual_cluster c(2, {}, 2ms);
  work_seen seen;
  c[1].serve(digest, digester(c[1], seen, &c.network)).value();
  const auto store = made(40 * chunk_bytes, 1);
  const auto handle = expose(c[0], std::span(store));
  REQUIRE(handle);
  const auto took = [&](nanoseconds per_chunk) {
    seen = {};
    seen.per_chunk = per_chunk;
    const time_point began = c.ex.now();
    const auto r = c.run(asked(c[0], 2, handle->descriptor(), {}));
    REQUIRE(r);
    CHECK(*r == digest_of(store, chunk_bytes));
    CHECK(seen.chunks == 40);
    return c.ex.now() - began;
  };
  took(0ns);  // connects
  const std::uint64_t carried = c.network.bytes_carried();
  const nanoseconds transfer = took(0ns);
  CHECK(seen.carried_at_first - carried < store.size() / 4);
  // Work and transfer overlap: together they take little more than the work.
  const nanoseconds both = took(10ms);
  CHECK(transfer >= 40ms);
  CHECK(both < 400ms + transfer / 4);
}

TEST_CASE("a caller that gives up ends its handler in the middle of a stream", "[world]") {
  cluster c(any_kind_of_world(), 2, {}, 1ms);
  work_seen seen;
  seen.per_chunk = 10ms;
  c[1].serve(digest, digester(c[1], seen)).value();
  const auto store = made(40 * chunk_bytes, 1);
  auto handle = expose(c[0], std::span(store));
  REQUIRE(handle);
  ship_options options;
  options.deadline = 100ms;
  const auto r = c.run(asked(c[0], 2, handle->descriptor(), options));
  CHECK(r.error() == errc::deadline_exceeded);
  handle->unexpose();
  CHECK(calls_over(c));
  CHECK(seen.chunks < 20);
}

TEST_CASE("a stream ten times as long takes a handler no more memory", "[tcp]") {
  cluster c(world_kind::tcp_v4, 2);
  work_seen seen;
  c[1].serve(digest, digester(c[1], seen)).value();
  const auto store = made(20 * mebibyte, 1);
  struct cost {
    std::size_t allocations = 0;
    std::size_t buffers = 0;
  };
  const auto cost_of = [&](std::size_t size) {
    const auto data = std::span(store).first(size);
    const auto handle = expose(c[0], data);
    REQUIRE(handle);
    const std::uint64_t expected = digest_of(data, chunk_bytes);
    seen = {};
    const std::size_t before = allocation_counter::on_this_thread();
    const auto r = c.run(asked(c[0], 2, handle->descriptor(), {}));
    const cost all{allocation_counter::on_this_thread() - before, seen.most_buffers};
    REQUIRE(r);
    CHECK(*r == expected);
    CHECK(seen.chunks == size / chunk_bytes);
    return all;
  };
  static_cast<void>(cost_of(store.size()));  // fills the pools
  const cost small = cost_of(store.size() / 10);
  const cost large = cost_of(store.size());
  CHECK(large.buffers == small.buffers);
  if (allocation_counter::counting && frame_pool::pooling) {
    CHECK(large.allocations == small.allocations);
    CHECK(large.allocations < 20);
  }
}
