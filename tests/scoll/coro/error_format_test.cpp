#include "scoll/coro/error_format.hpp"

#include "tests/catch.hpp"

using namespace scoll;

TEST_CASE("an error text is formatted in place") {
  CHECK(make_error(errc::too_large, "{} of {} bytes", 5, 4).text() == "5 of 4 bytes");
  CHECK(make_error(errc::too_large, "{:>300}", 1).text().size() == error::text_capacity);
  CHECK(make_error(errc::too_large, "{:>96}", 1).text().ends_with(" 1"));
  CHECK(make_error(errc::too_large, "{:>{}}", 1, -1) == error(errc::too_large, "{:>{}}"));  // no such width
}
