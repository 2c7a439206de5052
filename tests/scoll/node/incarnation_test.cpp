#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "scoll/incarnation_store.hpp"
#include "scoll/node.hpp"
#include "tests/transport/io/any_files.hpp"
#include "transport/io/file.hpp"
#include "transport/sim/sim_network.hpp"

using namespace files_for_tests;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t no_clock = 0;

task<result<std::uint64_t>> next(file_system& files, std::string directory, std::uint64_t now_ns,
                                 incarnation_store::damage policy = incarnation_store::damage::refuse) {
  incarnation_store store(files, directory, policy);
  co_return co_await store.next(now_ns);
}

std::uint64_t next_of(sim_host& h, std::uint64_t now_ns) {
  return h.get(next(h.files(), h / "node", now_ns)).value();
}

}  // namespace

TEST_CASE("incarnations grow whatever the wall clock does") {
  sim_host h;
  CHECK(next_of(h, no_clock) == 1);
  CHECK(next_of(h, no_clock) == 2);
  CHECK(next_of(h, 1000) == 1000);
  CHECK(next_of(h, 1000) == 1001);
  h.restart();
  CHECK(next_of(h, 5) == 1002);
  h.crash();
  CHECK(next_of(h, no_clock) == 1003);
}

TEST_CASE("incarnations grow over a crash at every point of the disk's work") {
  // The numbers of operations of a first start and of a later one. They are counted, so that none is left
  // out.
  std::uint64_t first = 0, later = 0;
  {
    sim_host h;
    static_cast<void>(next_of(h, no_clock));
    first = h.files().operations();
    static_cast<void>(next_of(h, no_clock));
    later = h.files().operations() - first;
  }
  REQUIRE(first > 8);
  REQUIRE(later > 8);
  const std::uint64_t starts_before = GENERATE(0U, 1U, 3U);
  const std::uint64_t points = starts_before == 0 ? first : later;
  for (std::uint64_t at = 1; at <= points; ++at) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      INFO("crash in operation " << at << ", seed " << seed);
      sim_host h(seed);
      std::uint64_t handed_out = 0;
      for (std::uint64_t i = 0; i < starts_before; ++i) handed_out = next_of(h, no_clock);
      h.files().crash_at(at);
      const auto cut = h.get(next(h.files(), h / "node", no_clock));
      REQUIRE(h.files().crashed());
      REQUIRE_FALSE(cut);
      h.restart();
      const std::uint64_t after = next_of(h, no_clock);
      REQUIRE(after > handed_out);
      h.crash();
      REQUIRE(next_of(h, no_clock) > after);
    }
  }
}

TEST_CASE("incarnations grow over crashes one after another") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    sim_host h(seed);
    std::uint64_t latest = 0;
    random_generator random(seed);
    for (int start = 0; start < 30; ++start) {
      if (random.chance(1, 2)) h.files().crash_at(1 + random.below(14));
      const auto got = h.get(next(h.files(), h / "node", random.below(40)));
      if (got) {
        REQUIRE(*got > latest);
        latest = *got;
      }
      if (h.files().crashed()) h.restart();
      if (random.chance(1, 4)) h.crash();
    }
    REQUIRE(latest > 5);
  }
}

TEST_CASE("a damaged incarnation is an error that names its file and is never taken for a smaller one") {
  const std::string path = "/disk/node/incarnation";
  sim_host h;
  static_cast<void>(next_of(h, 123'456));
  const std::size_t size = h.get(read_file(h.files(), path, 1000)).value().size();
  for (std::size_t offset = 0; offset < size; ++offset) {
    INFO("byte " << offset);
    REQUIRE(h.disk().damage(path, offset));
    const auto refused = h.get(next(h.files(), h / "node", 999'999));
    REQUIRE(refused.error() == errc::checksum_mismatch);
    REQUIRE(refused.error().text() == "damaged: " + path);
    REQUIRE(h.disk().damage(path, offset));  // the same bit once more
  }
  CHECK(next_of(h, no_clock) == 123'457);
  for (const char* content : {"", "scoll incarnation ", "scoll incarnation 0 xxh3 0\n", "17\n"}) {
    REQUIRE(h.get(replace_file(h.files(), path, bytes_of(content))));
    CHECK(h.get(next(h.files(), h / "node", no_clock)).error() == errc::checksum_mismatch);
  }
  REQUIRE(h.get(replace_file(h.files(), path, bytes_of(std::string(5000, 'x')))));
  CHECK(h.get(next(h.files(), h / "node", no_clock)).error() == errc::checksum_mismatch);
}

TEST_CASE("the wall clock replaces a damaged incarnation if that is asked for") {
  sim_host h;
  static_cast<void>(next_of(h, 50));
  REQUIRE(h.disk().damage(h / "node/incarnation", 20));
  auto trusted = h.get(next(h.files(), h / "node", 1'000, incarnation_store::damage::trust_wall_clock));
  CHECK(trusted.value() == 1'000);
  CHECK(next_of(h, no_clock) == 1'001);
}

TEST_CASE("an incarnation that cannot be kept is not handed out") {
  for (const file_operation kind : {file_operation::open, file_operation::read, file_operation::write,
                                    file_operation::sync, file_operation::rename}) {
    sim_host h;
    static_cast<void>(next_of(h, 7));
    h.files().fail(kind, 1, EIO);
    const auto got = h.get(next(h.files(), h / "node", no_clock));
    CHECK(got.error().detail() == EIO);
    CHECK_THAT(describe(got.error()), Contains("/disk/node"));
    CHECK(next_of(h, no_clock) >= 8);
  }
  sim_host full(1, {}, 0);
  CHECK(full.get(next(full.files(), full / "node", no_clock)).error().detail() == ENOSPC);
  sim_host h;
  CHECK(h.get(next(h.files(), h / "no/such", no_clock)).error().detail() == ENOENT);
  CHECK(h.get(next(h.files(), h / "node", UINT64_MAX)).value() == UINT64_MAX);
  CHECK(h.get(next(h.files(), h / "node", no_clock)).error() == errc::too_large);
}

TEST_CASE("incarnations are kept in real files") {
  real_host h;
  const std::string directory = h / "node";
  std::vector<std::uint64_t> got;
  for (const std::uint64_t now : {std::uint64_t{0}, wall_clock_ns(), std::uint64_t{0}}) {
    h.run([](host& on, std::string folder, std::uint64_t clock, std::vector<std::uint64_t>& into) -> task<> {
      const auto n = co_await next(on.files(), std::move(folder), clock);
      REQUIRE(n);
      into.push_back(*n);
    }(h, directory, now, got));
  }
  CHECK(got[0] == 1);
  CHECK(got[1] > 1'000'000'000'000'000'000);
  CHECK(got[2] == got[1] + 1);
  std::ifstream kept(directory + "/incarnation");
  std::string line;
  REQUIRE(std::getline(kept, line));
  CHECK(line.starts_with("scoll incarnation " + std::to_string(got[2]) + " xxh3 "));
}

TEST_CASE("a node takes its incarnation from its directory, the wall clock, or its options") {
  sim_host h;
  node_options options;
  options.id = 1;
  const auto choose = [&](std::uint64_t now) { return h.get(choose_incarnation(h.files(), options, now)); };
  REQUIRE(choose(77));
  CHECK(options.incarnation == 77);  // no directory
  CHECK(h.files().operations() == 0);
  options.directory = h / "node";
  REQUIRE(choose(99));
  CHECK(options.incarnation == 77);  // it was set
  options.incarnation = 0;
  REQUIRE(choose(50));
  CHECK(options.incarnation == 50);
  options.incarnation = 0;
  REQUIRE(choose(50));
  CHECK(options.incarnation == 51);

  options.incarnation = 0;
  testing::sim_network network(h.time().world(), testing::sim_network::usual_chunk_bytes);
  testing::sim_rail rail(network, h.time());
  CHECK_THROWS_WITH(node(h.time(), rail, options), Contains("choose_incarnation"));
  options.incarnation = 52;
  CHECK_NOTHROW(node(h.time(), rail, options));
}
