#include <string>

#include "scoll/bulk/bulk.hpp"
#include "scoll/collective/agree.hpp"
#include "scoll/collective/bcast.hpp"
#include "scoll/ship/result.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/coro/death.hpp"

using namespace scoll;

namespace {

/// Does everything that a user may do with the result of any operation.
template <class Result>
std::string told(const Result& r) {
  r.ignore();
  if (r) {
    r.value();
    return "ok";
  }
  CHECK_THROWS_AS(r.value(), failure);
  return std::string(r.error().text());
}

bcast_result<int> answer(status s, std::optional<int> value) {
  return {s, value, outcome(1)};
}

const error late(errc::deadline_exceeded, "too late");

}  // namespace

TEST_CASE("every result is read in one way") {
  CHECK(told(result<int>(1)) == "ok");
  CHECK(told(status()) == "ok");
  CHECK(told(ship_result<int>(1, true)) == "ok");
  CHECK(told(push_status(status(), true)) == "ok");
  CHECK(told(answer({}, 1)) == "ok");
  CHECK(told(agreed<int>(status(), 1, {})) == "ok");

  CHECK(told(result<int>(late)) == "too late");
  CHECK(told(status(late)) == "too late");
  CHECK(told(ship_result<int>(late, true)) == "too late");
  CHECK(told(push_status(late, true)) == "too late");
  CHECK(told(answer(late, {})) == "too late");
  CHECK(told(agreed<int>(late, {}, {})) == "too late");
}

TEST_CASE("a partial answer is no success, and its value is there") {
  auto partial = answer(error(errc::incomplete, "node 3 is down"), 7);
  CHECK_FALSE(partial);
  CHECK_FALSE(partial.ok());
  CHECK(partial.error() == errc::incomplete);
  CHECK(partial.has_value());
  CHECK(partial.value() == 7);
  CHECK(std::as_const(partial).value() == 7);
  CHECK(*partial == 7);
  const int taken = std::move(partial).value();
  CHECK(taken == 7);
  CHECK_FALSE(answer({}, 1).error());
}

TEST_CASE("the value of a broadcast without one is a broken invariant that names the error") {
  const death d = die([] { std::fprintf(stderr, "%d", *answer(late, {})); });
  CHECK(d.aborted);
  CHECK(d.message.find("deadline_exceeded: too late") != std::string::npos);
}
