#include "tests/support/stacked_rail.hpp"
#include "tests/transport/memory/remotes.hpp"

using namespace transfers;
using scoll::test::fake_verbs_world;

namespace {

/// Two nodes with RDMA devices. Node 1, which pulls, is host 1.
struct readers {
  explicit readers(const std::function<void(verbs_options&)>& tune = {}) {
    w.net.common_path().model.ps_per_byte = 200;
    if (tune) tune(w.options);
    nodes.emplace(w);
  }
  two& p() { return *nodes; }
  bool pulls(const memory_region& region) {
    const status s = p().pull(region.descriptor(), 0, local.memory());
    INFO((s ? "ok" : s.error().text()));
    CHECK(s.has_value());
    return s && local.holds(store.memory());
  }
  endpoint_statistics reads() { return p().left->ep->statistics(); }
  verbs_statistics links() {
    return static_cast<test::stacked_rail&>(p().left->transport()).verbs.statistics();
  }

  fake_verbs_world w;
  std::optional<two> nodes;
  fenced store{made(2 * mebibyte, 1)};
  fenced local{2 * mebibyte};
};

}  // namespace

TEST_CASE("memory is pulled by READs, and no message carries it") {
  readers r;
  const auto region = r.p().exposed(r.store.memory());
  const std::uint64_t sends = r.w.devices.statistics().sends;
  REQUIRE(r.pulls(region));
  const auto seen = r.w.devices.statistics();
  CHECK(seen.read_bytes == 2 * mebibyte);
  CHECK(r.reads().read_bytes == 2 * mebibyte);
  CHECK(seen.reads >= 2 * mebibyte / 20'000);  // pieces
  CHECK(seen.sends - sends < 200);
  CHECK(r.p().right->ep->statistics().bytes_sent < 20'000);
  CHECK(seen.most_reads == 3);
  REQUIRE(r.w.until([&] { return is_idle(r.p()); }));
  CHECK(r.links().links_without_reads == 0);
}
