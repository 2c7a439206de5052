#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/event.hpp"
#include "scoll/coro/yield.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/collective/cluster.hpp"

using namespace scoll;
using namespace scoll::test;

namespace {

/// The answers that a root has taken, and the event of the first.
struct arrivals {
  std::size_t taken = 0;
  event first;
};

/// Answers with many bytes, of which a merged value keeps none.
struct wordy {
  static constexpr service_id id{0x0214};
  static constexpr std::string_view name = "bulky";
  static constexpr std::size_t reply_capacity = 24000;
  struct request {
    std::uint32_t bytes = 0;
  };
  struct reply {
    std::uint32_t members = 0;
    std::string filler;
  };
  std::shared_ptr<arrivals> log = std::make_shared<arrivals>();

  result<reply> execute(const request& r, bcast_context& c) {
    return reply{1, c.rank() == 0 ? std::string() : std::string(r.bytes, 'x')};
  }
  static void merge(reply& into, const reply& from) noexcept { into.members += from.members; }
  void on_reply(const arrival<reply>&, bcast_context&) {
    ++log->taken;
    log->first.set();
  }
};

/// Broadcasts to a root and to members below it whose `answers`, with `bytes` of filler each, arrive at once.
/// Gives the number of answers that had been merged each time that other work had a turn between the first
/// answer and the last.
std::vector<std::size_t> turns_between(std::uint32_t answers, std::uint32_t bytes) {
  virtual_cluster c(answers + 1);
  wordy service;
  c.serve(service);
  const auto g = c.make_group<wordy>(0, flat{});
  std::vector<std::size_t> seen;
  scope other(c.ex);
  other.spawn([](arrivals& log, std::size_t all, std::vector<std::size_t>& into) -> task<> {
    co_await log.first.wait();
    while (log.taken != all) {
      into.push_back(log.taken);
      co_await yield();
    }
  }(*service.log, answers, seen));
  const auto r = c.bcast(g, {bytes});
  REQUIRE(r.ok());
  CHECK(r->members == answers + 1);
  c.run([](scope& s) -> task<> { co_await s.join(); }(other));
  return seen;
}

}  // namespace

TEST_CASE("other work has a turn whenever 256 KiB of answers are merged", "[operation]") {
  // With two lengths and the number of members, an answer with this filler takes 16 KiB.
  constexpr std::uint32_t whole = 16384 - 12;
  CHECK(turns_between(40, whole) == std::vector<std::size_t>{16, 32});
  CHECK(turns_between(40, whole - 1) == std::vector<std::size_t>{17, 34});
  CHECK(turns_between(45, 20000) == std::vector<std::size_t>{14, 28, 42});
}

TEST_CASE("fewer bytes of answers are merged without a pause", "[operation]") {
  CHECK(turns_between(16, 16384 - 12).empty());
  CHECK(turns_between(60, 100).empty());
}
