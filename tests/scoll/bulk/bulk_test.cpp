#include "scoll/bulk/bulk.hpp"

#include "scoll/bulk/list.hpp"
#include "scoll/bulk/stream.hpp"
#include "scoll/coro/sleep.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/collective/cluster.hpp"
#include "tests/support/bytes.hpp"
#include "transport/wire/wire.hpp"

using namespace scoll;
using namespace std::chrono_literals;

namespace {

using bytes = std::vector<std::byte>;
constexpr std::size_t mebibyte = 1U << 20U;

using test::made;

struct drained {
  bytes all;
  std::vector<std::size_t> sizes;
  error ended;
};

/// Works on every chunk for a while, as a disk would.
task<drained> drain(node& at, region_descriptor from, stream_options options, nanoseconds work = 0ns) {
  drained d;
  bulk_stream chunks(at, from, options);
  while (true) {
    const auto chunk = co_await chunks.next();
    if (!chunk) d.ended = chunk.error();
    if (!chunk || chunk->empty()) break;
    if (work > 0ns) co_await sleep_for(work);
    d.all.insert(d.all.end(), chunk->begin(), chunk->end());
    d.sizes.push_back(chunk->size());
  }
  co_return d;
}

}  // namespace

TEST_CASE("nodes pull and push each other's memory", "[world]") {
  const test::world_kind kind = test::any_kind_of_bulk_world();
  test::cluster c(kind, 2);
  bytes store = made(3 * mebibyte, 1);
  auto handle = expose(c[1], std::span(store), memory_access::read_write);
  REQUIRE(handle.has_value());
  const region_descriptor d = handle->descriptor();
  bytes local(store.size());
  transfer_options options;
  options.checked = GENERATE(true, false);
  options.segment_bytes = GENERATE(0U, 4096U, 100'000U);
  options.window = GENERATE(0U, 1U);
  CHECK(c.run(pull(c[0], d, 0, std::span(local), options)).has_value());
  CHECK(local == store);
  const bytes fresh = made(mebibyte, 2);
  const auto s = c.run(push(c[0], d, 17, std::span(fresh), options));
  CHECK(s.has_value());
  CHECK(std::equal(fresh.begin(), fresh.end(), store.begin() + 17));
  CHECK(c.run(pull(c[0], d, 1, std::span(local), options)).error() == errc::invalid_argument);
  handle->unexpose();
  CHECK(c.run(pull(c[0], d, 0, std::span(local), options)).error() == errc::stale_descriptor);
  CHECK(c.run(push(c[0], d, 0, std::span(fresh), options)).error() == errc::stale_descriptor);
}

TEST_CASE("a descriptor grants no more than its owner does", "[world]") {
  test::cluster c(test::any_kind_of_bulk_world(), 2);
  const bytes store = made(100'000, 1);
  auto handle = expose(c[1], std::span(store));
  REQUIRE(handle.has_value());
  bytes local(100'000);
  region_descriptor d = handle->descriptor();
  CHECK(c.run(push(c[0], d, 0, std::span(local))).error() == errc::invalid_argument);
  d.access = memory_access::read_write;  // forged
  const auto s = c.run(push(c[0], d, 0, std::span(local)));
  CHECK(s.error() == errc::invalid_argument);
  CHECK_FALSE(s.may_have_written());
  d.generation += 1;
  CHECK(c.run(pull(c[0], d, 0, std::span(local))).error() == errc::stale_descriptor);
  CHECK(store == made(100'000, 1));
}

TEST_CASE("a stream gives chunks in order, while the next ones come", "[world]") {
  const test::world_kind kind = test::any_kind_of_bulk_world();
  test::cluster c(kind, 2, {}, 1ms);
  const bytes store = made(5 * mebibyte + 12'345, 1);
  auto handle = expose(c[1], std::span(store));
  REQUIRE(handle.has_value());
  stream_options options;
  options.chunk_bytes = 300'000;
  options.depth = GENERATE(1U, 3U, 100U);
  const drained d = c.run(drain(c[0], handle->descriptor(), options));
  CHECK_FALSE(d.ended);
  CHECK(d.all == store);
  CHECK(d.sizes.size() == (store.size() + 299'999) / 300'000);
  CHECK(std::all_of(d.sizes.begin(), d.sizes.end() - 1, [](std::size_t n) { return n == 300'000; }));
  const bytes nothing;
  auto empty = expose(c[1], std::span(nothing));
  const drained none = c.run(drain(c[0], empty->descriptor(), options));
  CHECK_FALSE(none.ended);
  CHECK(none.sizes.empty());
}

TEST_CASE("a stream overlaps work and transfer") {
  test::virtual_cluster c(2, {}, 5ms);
  const bytes store = made(20 * mebibyte, 1);
  auto handle = expose(c[1], std::span(store));
  stream_options options;
  options.chunk_bytes = mebibyte;
  const auto took = [&](std::uint32_t depth) {
    options.depth = depth;
    const time_point begun = c.ex.now();
    CHECK_FALSE(c.run(drain(c[0], handle->descriptor(), options, 10ms)).ended);
    return c.ex.now() - begun;
  };
  took(1);  // connects
  const nanoseconds alone = took(1);
  const nanoseconds beside = took(4);
  CHECK(beside + 150ms <= alone);  // most of the 200 ms of work
}

TEST_CASE("a stream ends by its deadline, its token, or the death of the peer") {
  test::virtual_cluster c(2, {}, 1ms);
  const bytes store = made(4 * mebibyte, 1);
  std::optional<memory_region> handle(std::move(*expose(c[1], std::span(store))));
  const region_descriptor d = handle->descriptor();
  stream_options options;
  options.chunk_bytes = 65536;
  options.depth = 2;
  stop_source stop;

  SECTION("deadline") {
    options.deadline = 50ms;
    CHECK(c.run(drain(c[0], d, options, 10ms)).ended == errc::deadline_exceeded);
  }
  SECTION("stopped") {
    options.stop = stop.token();
    stop.request_stop();
    CHECK(c.run(drain(c[0], d, options)).ended == errc::cancelled);
  }
  SECTION("unexposed") {
    const auto pull_some = [&]() -> task<error> {
      bulk_stream chunks(c[0], d, options);
      (co_await chunks.next()).ignore();
      handle.reset();
      for (int i = 0; i < 70; ++i) {
        const auto chunk = co_await chunks.next();
        if (!chunk) co_return chunk.error();
      }
      co_return error{};
    };
    CHECK(c.run(pull_some()) == errc::stale_descriptor);
  }
  SECTION("killed") {
    const auto pull_some = [&]() -> task<error> {
      bulk_stream chunks(c[0], d, options);
      (co_await chunks.next()).ignore();
      c.kill(1);
      for (int i = 0; i < 70; ++i) {
        const auto chunk = co_await chunks.next();
        if (!chunk) co_return chunk.error();
      }
      co_return error{};
    };
    const time_point begun = c.ex.now();
    CHECK(c.run(pull_some()) == errc::connection_lost);
    CHECK(c.ex.now() - begun <= 3s);
    c.revive(1);
  }
  SECTION("destroyed in the middle") {
    const auto pull_one = [&]() -> task<bool> {
      bulk_stream chunks(c[0], d, options);
      const auto chunk = co_await chunks.next();
      co_return chunk.has_value() && chunks.position() == 65536;
    };
    CHECK(c.run(pull_one()));
  }
  handle.reset();
  c.ex.run_for(2s);
  CHECK(c.quiet());
}

TEST_CASE("many descriptors travel as one", "[world]") {
  const test::world_kind kind = test::any_kind_of_bulk_world();
  test::cluster c(kind, 2);
  const std::size_t count = GENERATE(std::size_t{0}, std::size_t{1}, bulk_list::inline_limit,
                                     bulk_list::inline_limit + 1, std::size_t{3000});
  bytes store = made(count, 1);
  std::vector<memory_region> handles;
  std::vector<region_descriptor> all;
  for (std::size_t i = 0; i < count; ++i) {
    handles.push_back(std::move(*expose(c[1], std::span<const std::byte>(store).subspan(i, 1))));
    all.push_back(handles.back().descriptor());
  }
  auto offered = offer(c[1], all);
  REQUIRE(offered.has_value());
  std::vector<std::byte> message(wire::encoded_size(offered->list()));
  REQUIRE(wire::encode_to(message, offered->list()).has_value());
  CHECK(message.size() <= 1000);
  const auto arrived = wire::decode_from<bulk_list>(message);
  REQUIRE(arrived.has_value());
  const auto resolved = c.run(resolve(c[0], *arrived));
  REQUIRE(resolved.has_value());
  CHECK(*resolved == all);
  if (count <= bulk_list::inline_limit) return;
  bulk_list forged = *arrived;
  forged.count = UINT32_MAX;
  CHECK(c.run(resolve(c[0], forged)).error() == errc::too_large);
  forged.count = static_cast<std::uint32_t>(count) - 1;
  CHECK(c.run(resolve(c[0], forged)).error() == errc::malformed);
  forged.count = static_cast<std::uint32_t>(count);
  forged.elsewhere.length = UINT64_MAX;
  CHECK(c.run(resolve(c[0], forged)).error() == errc::too_large);
}
