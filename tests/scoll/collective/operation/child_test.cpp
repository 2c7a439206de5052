#include "scoll/collective/operation/child.hpp"

#include "tests/catch.hpp"

using scoll::detail::child_table;

TEST_CASE("a table of children keeps its memory for the next operation, unless it is large", "[operation]") {
  child_table children;
  const auto serve = [&](std::size_t count) {
    REQUIRE(children.make_room(count).size() == count);
    children.use(count);
    CHECK(children.size() == count);
    children.clear();
    CHECK(children.empty());
  };
  serve(2100);
  CHECK(children.capacity() == 2100);
  serve(2101);
  CHECK(children.capacity() == child_table::most_kept);  // it grows by doubling, as far as it is kept
  serve(child_table::most_kept);
  CHECK(children.capacity() == child_table::most_kept);
  serve(child_table::most_kept + 1);
  CHECK(children.capacity() == 0);
  serve(3);
  CHECK(children.capacity() == 3);
}
