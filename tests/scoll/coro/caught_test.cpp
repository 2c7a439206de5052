#include "scoll/coro/caught.hpp"

#include <stdexcept>

#include "tests/catch.hpp"

using namespace scoll;

namespace {

template <class Thrown>
error after(const Thrown& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return detail::caught("it threw");
  }
}

}  // namespace

TEST_CASE("an exception becomes the error inside it, its text, or the text of the catcher") {
  CHECK(after(failure(error(errc::not_found, "no such object"))) == error(errc::not_found, "no such object"));
  CHECK(after(std::runtime_error("bad sector")) == error(errc::hook_failed, "bad sector"));
  CHECK(after(3) == error(errc::hook_failed, "it threw"));
}
