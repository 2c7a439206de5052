#include "gossip/member/peer_choice.hpp"

#include <algorithm>
#include <set>

#include "cores.hpp"

using namespace cores;

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

  // In steps from oneself, so that equal draws would show.
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
