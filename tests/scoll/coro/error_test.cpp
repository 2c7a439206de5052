#include "scoll/coro/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "tests/catch.hpp"

using namespace scoll;

TEST_CASE("an error keeps its code, domain, number and a text that is cut") {
  const error none;
  CHECK_FALSE(none);
  CHECK(none == errc::ok);

  const std::string longer(200, 'x');
  const error e(errc::busy, longer, 7);
  CHECK(e);
  CHECK(e == errc::busy);
  CHECK(e.text() == longer.substr(0, error::text_capacity - 3) + "...");
  CHECK(e.detail() == 7);
  CHECK(e == error(errc::busy, longer, 7));
  CHECK_FALSE(e == error(errc::busy, longer, 8));
  CHECK_FALSE(e == error(errc::busy, "x", 7));
  CHECK(e.std_code() == make_error_code(errc::busy));
  CHECK(e.std_code().message() == "busy");
  CHECK(std::string(e.std_code().category().name()) == "scoll");

  const error io = error::system(ECONNREFUSED, "connect");
  CHECK(io == errc::io_error);
  CHECK(io.std_code() == std::errc::connection_refused);
  CHECK(describe(io) == "io_error: connect: Connection refused (errno 111)");
  CHECK(describe(error::user(-3, "no pool")) == "hook_failed: no pool (user error -3)");
  CHECK(describe(error(errc::deadline_exceeded, "3 members", 4)) ==
        "deadline_exceeded: 3 members (detail 4)");
  CHECK(describe(errc::closed) == "closed");
}

TEST_CASE("a text that is cut says so, and is not cut within a number or a character") {
  const auto cut = [](std::size_t letters, std::string_view rest) {
    const std::string text = std::string(letters, 'y') + std::string(rest);
    const error e(errc::stale, text);
    CHECK(e.text().size() <= error::text_capacity);
    return std::string(e.text().substr(std::min(letters, e.text().size())));
  };
  CHECK(cut(85, " is older than 1795394645547171734") == " is olde...");
  CHECK(cut(77, " is older than 17953946455") == " is older than ...");
  CHECK(cut(84, " node 12345 and 6") == " node ...");
  CHECK(cut(79, " node 12345678") == " node 12345678");
  CHECK(cut(79, " at 10.0.0.1:7400, which is cut") == " at ...");
  CHECK(cut(79, " at 0xdeadbeefdeadbeef is cut") == " at ...");
  CHECK(cut(82, " decade after decade") == " decade aft...");
  CHECK(cut(91, "€€€") == "...");
  CHECK(cut(0, std::string(200, '7')) == std::string(93, '7') + "...");  // no number has so many digits
  CHECK(cut(0, std::string(96, '7')) == std::string(96, '7'));
  constexpr error at_compile_time(
      errc::busy,
      "a text that is a little too long for an error, and in which the cut would fall within 1234567890123");
  static_assert(at_compile_time.text().ends_with("fall within ..."));
}

TEST_CASE("every error code has a name of its own") {
  std::vector<std::string> names;
  for (std::uint16_t code = 0; code <= static_cast<std::uint16_t>(errc::type_mismatch); ++code) {
    names.emplace_back(to_string(static_cast<errc>(code)));
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  CHECK(std::find(names.begin(), names.end(), "unknown_error") == names.end());
  CHECK(to_string(static_cast<errc>(9999)) == "unknown_error");
}
