#include "scoll/bulk/piece_window.hpp"

#include <vector>

#include "tests/catch.hpp"

using scoll::detail::piece_window;

namespace {

piece_window make(std::uint32_t pieces, std::uint32_t slots, std::vector<std::uint32_t> readers = {}) {
  piece_window w;
  w.begin(pieces, slots, readers);
  return w;
}

}  // namespace

TEST_CASE("a window is no larger than the object") {
  const piece_window w = make(3, 8);
  CHECK(w.slots() == 3);
  CHECK(w.limit() == 3);
}

TEST_CASE("without readers a piece passes when the service has seen it") {
  piece_window w = make(5, 2);
  CHECK(w.limit() == 2);
  CHECK_FALSE(w.may_pass());
  w.seen(0);
  REQUIRE(w.may_pass());
  w.pass();
  CHECK(w.front() == 1);
  CHECK(w.limit() == 3);
  CHECK_FALSE(w.may_pass());  // what was known of piece 0 says nothing about piece 2, in the same slot
}

TEST_CASE("the last pieces stay in their slots") {
  piece_window w = make(4, 2);
  for (std::uint32_t p = 0; p < 4; ++p) {
    w.seen(p);
    if (w.may_pass()) w.pass();
  }
  CHECK(w.front() == 2);
  CHECK(w.limit() == 4);
  CHECK_FALSE(w.may_pass());
  CHECK_FALSE(w.waits_for_readers());
}

TEST_CASE("a piece waits for each reader, and for the messages that refer to it") {
  piece_window w = make(9, 4, {7, 8});
  w.seen(0);
  CHECK(w.waits_for_readers());
  w.sent(0, 7);
  w.sent(1, 8);
  w.returned(0);
  CHECK_FALSE(w.may_pass());
  w.sent(0, 8);
  CHECK_FALSE(w.may_pass());
  w.returned(0);
  CHECK(w.may_pass());
  CHECK_FALSE(w.waits_for_readers());
}

TEST_CASE("a message to a member that is no reader keeps a piece, too") {
  piece_window w = make(9, 4);
  w.seen(0);
  w.sent(0, 5);
  CHECK_FALSE(w.may_pass());
  w.returned(0);
  CHECK(w.may_pass());
}

TEST_CASE("pieces pass in order") {
  piece_window w = make(9, 4, {7});
  for (const std::uint32_t p : {1U, 2U}) {
    w.seen(p);
    w.sent(p, 7);
    w.returned(p);
  }
  CHECK_FALSE(w.may_pass());
  CHECK_FALSE(w.waits_for_readers());  // the service has not seen piece 0
  w.seen(0);
  w.sent(0, 7);
  w.returned(0);
  for (int passed = 0; passed < 3; ++passed) {
    REQUIRE(w.may_pass());
    w.pass();
  }
  CHECK(w.front() == 3);
  CHECK(w.limit() == 7);
}

TEST_CASE(
    "the service keeps pieces from passing until it has seen the one in front, if others need its slot") {
  piece_window w = make(3, 2);
  CHECK(w.waits_for_service());
  w.seen(1);
  CHECK(w.waits_for_service());
  w.seen(0);
  CHECK_FALSE(w.waits_for_service());
  w.pass();
  CHECK_FALSE(w.waits_for_service());  // the last pieces have slots
}

TEST_CASE("nobody waits for a reader that is gone") {
  piece_window w = make(9, 1, {7, 8});
  w.seen(0);
  w.sent(0, 7);
  w.returned(0);
  w.gone(8);
  CHECK(w.may_pass());
}

TEST_CASE("readers that are given up are those without the piece in front") {
  piece_window w = make(9, 2, {7, 8});
  w.seen(0);
  w.sent(0, 7);  // its message never comes back
  w.give_up_readers();
  REQUIRE(w.may_pass());
  w.pass();
  w.seen(1);
  CHECK(w.waits_for_readers());  // for 7
  w.sent(1, 7);
  w.returned(1);
  CHECK(w.may_pass());
}

TEST_CASE("a window of 64 slots uses each bit for itself") {
  piece_window w = make(200, 64, {1});
  for (std::uint32_t p = 0; p < 136; ++p) {
    w.seen(p);
    w.sent(p, 1);
    REQUIRE_FALSE(w.may_pass());
    w.returned(p);
    REQUIRE(w.may_pass());
    w.pass();
  }
  CHECK_FALSE(w.may_pass());
  CHECK(w.limit() == 200);
}
