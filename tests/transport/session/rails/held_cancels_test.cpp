#include "transport/session/rails/held_cancels.hpp"

#include <cstdint>
#include <vector>

#include "tests/catch.hpp"

using namespace scoll::transport;

namespace {

std::vector<std::byte> head(std::uint8_t mark) {
  return std::vector<std::byte>(message::envelope_bytes + 4, std::byte{mark});
}

std::vector<std::uint8_t> released(held_cancels& held, std::uint64_t up_to) {
  std::vector<std::uint8_t> marks;
  held.release(up_to, [&](const held_cancels::envelope& each) {
    marks.push_back(std::to_integer<std::uint8_t>(each.back()));
  });
  return marks;
}

}  // namespace

TEST_CASE("held cancels are heard in the order of their numbers, when all before them has arrived") {
  held_cancels held;
  CHECK(held.empty());
  held.hold(9, head(9));
  held.hold(4, head(4));
  held.hold(7, head(7));
  CHECK(released(held, 3).empty());
  CHECK(released(held, 7) == std::vector<std::uint8_t>{4, 7});
  CHECK(held.size() == 1);
  CHECK(released(held, 7).empty());
  CHECK(released(held, 100) == std::vector<std::uint8_t>{9});
  CHECK(held.empty());
  held.hold(1, head(1));
  held.clear();
  CHECK(released(held, 100).empty());
}

TEST_CASE("a cancel that is heard may cause others to be held") {
  held_cancels held;
  held.hold(2, head(2));
  held.hold(3, head(3));
  std::vector<std::uint8_t> marks;
  held.release(3, [&](const held_cancels::envelope& each) {
    marks.push_back(std::to_integer<std::uint8_t>(each.back()));
    held.hold(10 + marks.size(), head(11));
  });
  CHECK(marks == std::vector<std::uint8_t>{2, 3});
  CHECK(held.size() == 2);
}
