#include "scoll/scoll.hpp"

#include "tests/catch.hpp"

namespace {

namespace gossip = scoll::gossip;

/// Uses a little of every subject; the test is that it compiles.
struct everything {
  explicit everything(scoll::node& node, scoll::transport::reactor& loop)
      : port(loop),
        participant(loop, port, gossip::configuration::make({"127.0.0.1:1"}, std::chrono::seconds(1)).value(),
                    "127.0.0.1:1", options_of(node)),
        bond(scoll::follow(node, participant, {{node.id(), "127.0.0.1:1"}}).value()),
        work(loop),
        store(loop, "/nowhere"),
        places(1) {}

  static gossip::options options_of(const scoll::node& node) {
    gossip::options chosen;
    chosen.incarnation = node.incarnation();
    return chosen;
  }

  scoll::transport::udp_port port;
  gossip::participant participant;
  scoll::follower bond;
  scoll::scope work;
  scoll::incarnation_store store;
  scoll::call_limit places;
  scoll::settings chosen;
};

}  // namespace

TEST_CASE("scoll/scoll.hpp has all that a program calls", "[tcp]") {
  scoll::local_cluster cluster(1);
  everything all(cluster[0], cluster.loop());
  CHECK(all.participant.state(0) == gossip::liveness::unknown);
  CHECK(all.work.try_join());
}
