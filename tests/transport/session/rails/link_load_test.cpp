#include "transport/session/rails/link_load.hpp"

#include <cstdint>

#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::transport;
using namespace std::chrono_literals;

namespace {

/// A link that takes each batch in the time that its rate needs.
class paced_link {
 public:
  paced_link(std::uint64_t bytes_per_ms, time_point now) : rate_(bytes_per_ms), now_(now) {}
  void carry(std::uint64_t bytes, int times) {
    for (int i = 0; i < times; ++i) {
      load.gave(bytes, now_);
      now_ += nanoseconds(static_cast<std::int64_t>(bytes * 1'000'000 / rate_));
      load.took(now_);
    }
  }
  time_point now() const { return now_; }
  link_load load;

 private:
  std::uint64_t rate_;
  time_point now_;
};

constexpr std::uint64_t segment = 262144;

}  // namespace

TEST_CASE("the rate of a link is known when it has made its owner wait") {
  link_load load;
  const time_point start{};
  load.gave(segment, start);
  load.took(start);
  load.gave(segment, start);
  load.took(start + 1ms);
  CHECK_FALSE(load.known());
  load.took(start + 1s);  // nothing was given
  CHECK_FALSE(load.known());
  load.gave(segment, start + 1s);
  load.took(start + 1s + 1ms);
  CHECK(load.known());
}

TEST_CASE("a link is expected to take bytes at the pace of the last batches") {
  paced_link link(100'000, time_point{});
  link.carry(segment, 40);
  const nanoseconds expected = link.load.done_with(1'000'000, link.now()) - link.now();
  CHECK(expected > 9ms);
  CHECK(expected < 13ms);
}

TEST_CASE("a link that does not go on is expected to need as long again") {
  paced_link link(100'000, time_point{});
  link.carry(segment, 40);
  link.load.gave(segment, link.now());
  const time_point later = link.now() + 500ms;
  CHECK(link.load.done_with(0, later) >= later + 500ms);
}

TEST_CASE("a slow link leaves the last segments to a fast one, and takes its share before") {
  const time_point start{};
  paced_link fast(25'000, start);
  paced_link slow(6'250, start);
  fast.carry(segment, 80);
  slow.carry(segment, 20);
  REQUIRE(fast.now() == slow.now());
  const time_point now = fast.now();
  CHECK_FALSE(leaves_to(slow.load, fast.load, segment, 14 * segment, now));
  CHECK_FALSE(leaves_to(slow.load, fast.load, segment, 6 * segment, now));
  CHECK(leaves_to(slow.load, fast.load, segment, 2 * segment, now));
  CHECK_FALSE(leaves_to(fast.load, slow.load, segment, segment, now));
  // The fast one stands still: the slow one goes on.
  fast.load.gave(segment, now);
  CHECK_FALSE(leaves_to(slow.load, fast.load, segment, 2 * segment, now + 1s));
}

TEST_CASE("nothing is left to a link whose rate is not known") {
  paced_link slow(6'250, time_point{});
  slow.carry(segment, 20);
  CHECK_FALSE(leaves_to(slow.load, link_load(), segment, segment, slow.now()));
  CHECK_FALSE(leaves_to(link_load(), slow.load, segment, segment, slow.now()));
}

TEST_CASE("a path holds all of a window but two segments for each other path") {
  CHECK(share_of(16, 0) == 16);
  CHECK(share_of(16, 1) == 14);
  CHECK(share_of(16, 3) == 10);
  CHECK(share_of(4, 1) == 2);
  CHECK(share_of(2, 1) == 1);
  CHECK(share_of(1, 3) == 1);
}
