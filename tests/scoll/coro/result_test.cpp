#include "scoll/coro/result.hpp"

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "death.hpp"
#include "scoll/coro/assert.hpp"
#include "tests/catch.hpp"

using namespace scoll;

TEST_CASE("a result is a value or an error") {
  result<std::string> good("abc");
  REQUIRE(good);
  CHECK(*good == "abc");
  CHECK(good->size() == 3);
  CHECK(good.value() == "abc");
  const std::string moved = std::move(*good);
  CHECK(moved == "abc");

  const result<std::string> bad(errc::not_found);
  CHECK_FALSE(bad);
  CHECK(bad.error() == errc::not_found);
  CHECK(bad.value_or("other") == "other");

  result<int> wrong(error(errc::stale, "old", 2));
  CHECK_THROWS_AS(wrong.value(), failure);
  try {
    (void)wrong.value();
  } catch (const failure& f) {
    CHECK(f.error() == error(errc::stale, "old", 2));
    CHECK(f.code() == errc::stale);
    CHECK(std::string(f.what()) == "old: stale");
  }

  result<std::unique_ptr<int>> owner(std::make_unique<int>(4));
  const std::unique_ptr<int> taken = std::move(owner).value();
  CHECK(*taken == 4);

  CHECK(status());
  const status ok = errc::ok;
  CHECK(ok);
  CHECK_NOTHROW(ok.value());
  const status failed = errc::busy;
  CHECK_FALSE(failed);
  CHECK_THROWS_AS(failed.value(), failure);
}

static_assert(!std::is_convertible_v<result<int>, result<bool>>,
              "a result does not become the value of another");
static_assert(!std::is_constructible_v<result<bool>, status>);
static_assert(!std::is_convertible_v<std::size_t, result<std::vector<int>>>,
              "explicit constructors stay explicit");
static_assert(std::is_same_v<as_result_t<int>, result<int>>);
static_assert(std::is_same_v<as_result_t<result<int>>, result<int>>);
static_assert(std::is_same_v<as_result_t<void>, status>);

TEST_CASE("the error of a value, and the value of an error, are broken invariants") {
  const death of_error = die([] { (void)result<int>(1).error(); });
  CHECK(of_error.aborted);
  CHECK(of_error.message.find("error() of a result that holds a value") != std::string::npos);
  const death of_value = die([] { (void)*result<int>(errc::busy); });
  CHECK(of_value.aborted);
  CHECK(of_value.message.find("value of a result that holds an error: busy (test the result first") !=
        std::string::npos);
  const death of_member = die([] {
    const result<std::string> bad(error(errc::stale, "older than 7"));
    std::fprintf(stderr, "%zu", bad->size());
  });
  CHECK(of_member.aborted);
  CHECK(of_member.message.find("stale: older than 7") != std::string::npos);
  const death assertion = die([] { SCOLL_ASSERT(1 + 1 == 3, "arithmetic"); });
  CHECK(assertion.aborted);
  CHECK(assertion.message.find("arithmetic [1 + 1 == 3] at ") != std::string::npos);
  CHECK_FALSE(die([] { SCOLL_ASSERT(true, "fine"); }).aborted);
}
