#include "scoll/node_control/rails.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using scoll::detail::explain_paths;

namespace {

using health = transport::path_health;
using sentences = std::vector<std::string>;

path_snapshot path_by(std::string rail, std::string address, health state) {
  path_snapshot p;
  p.rail = std::move(rail);
  p.address = std::move(address);
  p.health = state;
  p.age = 2500ms;
  return p;
}

path_snapshot now_connected(path_snapshot p) {
  p.connected = true;
  return p;
}

path_snapshot carrying(path_snapshot p) {
  p.connected = p.carries = true;
  return p;
}

}  // namespace

TEST_CASE("the preferred path needs no reason") {
  const sentences said = explain_paths(1, 2,
                                       {carrying(path_by("a", "10.0.0.2:1", health::good)),
                                        now_connected(path_by("b", "10.1.0.2:1", health::good))});
  CHECK(said == sentences{"Node 1 knows 2 paths to node 2.",
                          "Messages go by rail a to 10.0.0.2:1, which is the preferred path.",
                          "The path by rail a to 10.0.0.2:1 has been good for 2.5 s.",
                          "There is no connection for bulk.", "The path by rail b to 10.1.0.2:1 stands by."});
}

TEST_CASE("another path than the preferred one is explained by what is wrong with those before it") {
  path_snapshot dead = path_by("a", "10.0.0.2:1", health::dead);
  dead.why = {errc::connection_lost, "the peer closed the connection"};
  dead.next_try = 400ms;
  path_snapshot suspect = now_connected(path_by("c", "10.2.0.2:1", health::suspect));
  suspect.why = {errc::connection_lost, "no answer for 104 ms, while another path answers"};
  path_snapshot proving = now_connected(path_by("d", "10.3.0.2:1", health::proving));
  proving.why = suspect.why;
  proving.proof = 2s;
  path_snapshot chosen = carrying(path_by("b", "10.1.0.2:1", health::good));
  chosen.bulk_connected = true;
  const sentences said = explain_paths(1, 2, {dead, suspect, proving, chosen});
  CHECK(
      said ==
      sentences{"Node 1 knows 4 paths to node 2.",
                "Messages go by rail b to 10.1.0.2:1, because no path before it in the order of preference "
                "can be used:",
                "The path by rail a to 10.0.0.2:1 has been dead for 2.5 s: connection_lost: the peer closed "
                "the connection. The next attempt to connect is in 0.4 s.",
                "The path by rail c to 10.2.0.2:1 has been suspect for 2.5 s: connection_lost: no answer "
                "for 104 ms, while another path answers. It is cut if it does not answer.",
                "The path by rail d to 10.3.0.2:1 has been back for 2.5 s, after trouble: connection_lost: "
                "no answer for 104 ms, while another path answers. It must answer for 2.0 s before it is "
                "preferred again.",
                "The path by rail b to 10.1.0.2:1 has been good for 2.5 s.",
                "Bulk messages go by the same path.", "The path by rail d to 10.3.0.2:1 stands by."});
}

TEST_CASE("a path is explained by its rail if that is dead") {
  path_snapshot dead = path_by("a", "10.0.0.2:1", health::dead);
  dead.why = {errc::connection_lost, "no answer for 104 ms, while another path answers"};
  dead.rail_verdict = rail_verdict(3);
  const sentences said = explain_paths(1, 2, {dead, carrying(path_by("b", "10.1.0.2:1", health::good))});
  CHECK(said[2] ==
        "The path by rail a to 10.0.0.2:1 has been dead for 2.5 s: connection_lost: no answer for 104 ms, "
        "while "
        "another path answers. Rail a of this node is dead: lost by 3 peers within 1 s. One peer at a time "
        "tries "
        "it.");
}

TEST_CASE("one path, and none that is connected, are explained") {
  CHECK(explain_paths(1, 2, {path_by("", "10.0.0.2:1", health::untried)}) ==
        sentences{"Node 1 knows one path to node 2, so there is nothing to choose.",
                  "The path by 10.0.0.2:1 has not been tried."});
  path_snapshot first = path_by("a", "10.0.0.2:1", health::untried);
  first.carries = true;
  first.why = {errc::unreachable, "10.0.0.2:1: Connection refused"};
  const sentences said = explain_paths(1, 2, {first, path_by("b", "", health::untried)});
  CHECK(said[1] ==
        "No path is connected. The next message is sent by rail a to 10.0.0.2:1, or by the first path that "
        "connects.");
  CHECK(said[2] ==
        "The path by rail a to 10.0.0.2:1 could not be connected: unreachable: 10.0.0.2:1: Connection "
        "refused.");
}

TEST_CASE("a path whose connections arrive at another rail is said to be crossed") {
  path_snapshot crossed = carrying(path_by("a", "10.0.0.2:1", health::good));
  crossed.arrives_at = 1;
  const sentences said = explain_paths(1, 2, {crossed, path_by("b", "10.1.0.2:1", health::untried)});
  CHECK(said[2] ==
        "The path by rail a to 10.0.0.2:1 has been good for 2.5 s. Its connections arrive at rail 2 of the "
        "peer, not at rail 1: the addresses of the peer stand in another order than its rails, or wires are "
        "crossed.");
}
