#include "gossip/threshold.hpp"

#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::gossip;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

threshold_input at(std::uint32_t participants, double loss) {
  threshold_input in;
  in.participants = participants;
  in.loss = loss;
  return in;
}

}  // namespace

TEST_CASE("a threshold follows from participants, loss, interval and budget") {
  CHECK(threshold_cycles(at(1024, 0.05)) == 13);
  CHECK(threshold_cycles(at(1024, 0.2)) == 14);
  CHECK(threshold_cycles(at(4096, 0.05)) == 15);
  auto without_retries = at(1024, 0.05);
  without_retries.retries = 0;
  CHECK(threshold_cycles(without_retries) == 16);
  without_retries.loss = 0.2;
  CHECK(threshold_cycles(without_retries) == 25);
  auto relative = at(1024, 0.05);
  relative.ages = age_rule::relative_ages;
  CHECK(threshold_cycles(relative) == 18);
}

TEST_CASE("more participants, more loss and a smaller budget never lower a threshold") {
  std::uint32_t before = 0;
  for (std::uint32_t n = 2; n <= most_participants; n *= 2) {
    const std::uint32_t t = threshold_cycles(at(n, 0.05));
    CHECK(t >= before);
    before = t;
    for (double loss = 0; loss < 0.5; loss += 0.05)
      CHECK(threshold_cycles(at(n, loss)) <= threshold_cycles(at(n, loss + 0.05)));
    auto strict = at(n, 0.05);
    strict.false_verdicts_per_year = 1e-3;
    CHECK(threshold_cycles(strict) >= t);
    CHECK(false_verdicts_per_year(at(n, 0.05), t) <= 1);
  }
}

TEST_CASE("a pause of a second is forgiven at any size") {
  for (const std::uint32_t n : {1U, 2U, 3U, 16U, 64U}) CHECK(threshold_cycles(at(n, 0)) >= 11);
  auto slow = at(2, 0);
  slow.interval = seconds(1);
  CHECK(threshold_cycles(slow) >= 7);
  slow.forgiven_pause = seconds(5);
  CHECK(threshold_cycles(slow) >= 11);
  CHECK(least_threshold(milliseconds(200), seconds(1)) == 11);
}

TEST_CASE("the source's threshold is the logarithm") {
  CHECK(logarithm_threshold(2) == 1);
  CHECK(logarithm_threshold(1024) == 10);
  CHECK(logarithm_threshold(1025) == 11);
}
