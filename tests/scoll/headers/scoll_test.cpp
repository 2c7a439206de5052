#include "scoll/scoll.hpp"

#include "tests/catch.hpp"

namespace {

namespace gossip = scoll::gossip;

/// A little of every subject; that it compiles is the test.
struct everything {
  explicit everything(scoll::node& node, scoll::transport::reactor& loop)
      : port(loop),
        participant(loop, port, gossip::configuration::make({"127.0.0.1:1"}, std::chrono::seconds(1)).value(),
                    "127.0.0.1:1", gossip::options{}),
        feed(node, participant, {node.id()}),
        work(loop),
        store(loop, "/nowhere"),
        places(1) {}

  scoll::transport::udp_port port;
  gossip::participant participant;
  scoll::liveness_feed feed;
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
