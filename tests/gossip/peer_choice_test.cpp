#include "gossip/member/peer_choice.hpp"

#include <algorithm>
#include <set>

#include "cores.hpp"

using namespace cores;

namespace {

using tried = std::vector<participant_index>;

}  // namespace

TEST_CASE("alone nobody is drawn, of two the other, of three both") {
  random_generator random(1);
  CHECK(peer_choice(1, 0, 8).draw(random, {}) == nobody);
  for (const participant_index self : {0U, 1U}) {
    const peer_choice two(2, self, 8);
    const tried other{1 - self};
    for (int i = 0; i < 100; ++i) {
      CHECK(two.draw(random, {}) == other[0]);
      CHECK(two.draw(random, other) == other[0]);  // there is no other participant
    }
  }
  for (const participant_index self : {0U, 1U, 2U}) {
    const peer_choice three(3, self, 8);
    std::set<participant_index> drawn;
    for (int i = 0; i < 100; ++i) drawn.insert(three.draw(random, {}));
    CHECK(drawn.size() == 2);
    CHECK(drawn.count(self) == 0);
  }
}

TEST_CASE("who was tried is not drawn while there are others, however rarely they are drawn") {
  for (const std::uint32_t share : {0U, 8U, 1'000'000U}) {
    for (const std::uint32_t size : {3U, 4U, 10U}) {
      peer_choice choice(size, 1, share);
      for (participant_index who = 3; who < size; ++who) choice.set_silent(who, true);
      if (size == 3) choice.set_silent(2, true);
      random_generator random(share + size);
      for (int round = 0; round < 500; ++round) {
        tried so_far;
        while (so_far.size() < std::min(size - 1, 9U)) {
          const participant_index who = choice.draw(random, so_far);
          REQUIRE(who != 1);
          REQUIRE(who < size);
          REQUIRE(std::find(so_far.begin(), so_far.end(), who) == so_far.end());
          so_far.push_back(who);
        }
      }
    }
  }
}

TEST_CASE("one draw in eight is among the silent, and each of a kind is as likely as the others") {
  peer_choice choice(41, 0, 8);
  for (participant_index who = 1; who <= 30; ++who) choice.set_silent(who, true);
  CHECK(choice.silent() == 30);
  CHECK(choice.speaking() == 10);
  random_generator random(5);
  std::vector<int> drawn(41);
  for (int i = 0; i < 80'000; ++i) ++drawn[choice.draw(random, {})];
  CHECK(drawn[0] == 0);
  int silent = 0;
  for (participant_index who = 1; who <= 30; ++who) {
    CHECK(drawn[who] == Approx(80'000 / 8 / 30).margin(100));
    silent += drawn[who];
  }
  CHECK(silent == Approx(80'000 / 8).margin(500));
  for (participant_index who = 31; who < 41; ++who) CHECK(drawn[who] == Approx(7000).margin(450));
}

TEST_CASE("whoever speaks again is drawn like all others, and all may be silent") {
  peer_choice choice(5, 2, 8);
  for (const participant_index who : {0U, 1U, 3U, 4U}) choice.set_silent(who, true);
  random_generator random(6);
  std::vector<int> drawn(5);
  for (int i = 0; i < 4000; ++i) ++drawn[choice.draw(random, {})];
  for (const participant_index who : {0U, 1U, 3U, 4U}) CHECK(drawn[who] == Approx(1000).margin(150));
  choice.set_silent(3, false);
  CHECK_FALSE(choice.is_silent(3));
  CHECK(choice.is_silent(4));
  std::fill(drawn.begin(), drawn.end(), 0);
  for (int i = 0; i < 4000; ++i) ++drawn[choice.draw(random, {})];
  CHECK(drawn[3] == Approx(3500).margin(150));
  CHECK(drawn[2] == 0);
}

TEST_CASE("with one seed each participant has its own phase and its own peers") {
  const auto shared = shared_by(64);
  options o = plain_options();
  o.jitter = true;
  const auto begins = [&](participant_index self) { return station(shared, self, o).protocol.next_timer(); };
  std::set<time_point> phases;
  for (participant_index self = 0; self < 64; ++self) {
    phases.insert(begins(self));
    CHECK(begins(self) == begins(self));
  }
  CHECK(phases.size() == 64);

  // The distances are counted from the participant itself, so that equal draws would show.
  o.jitter = false;
  std::set<std::vector<participant_index>> walks;
  for (participant_index self = 0; self < 64; ++self) {
    station s(shared, self, o);
    std::vector<participant_index> asked;
    while (s.out.size() < 6) s.protocol.on_timer(s.protocol.next_timer());
    for (std::size_t i = 0; i < 6; ++i) asked.push_back(s.out[i].to);
    walks.insert(asked);
  }
  CHECK(walks.size() == 64);
}
