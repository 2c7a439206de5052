// A tree of your own: two chains that hang from the root. Each member sends the request once and the root
// sends it twice, so the tree is half as deep as one chain. docs/trees.md says what the functions must
// guarantee.
#include <algorithm>
#include <iostream>

#include "scoll/local_cluster.hpp"
#include "scoll/tree/draw.hpp"
#include "scoll/tree/verify.hpp"

namespace {

using rank = std::uint32_t;  // relative: the root is 0

struct two_arms {
  static constexpr std::uint8_t kind = 140;  // 128 to 255 are free for applications
  static constexpr std::string_view name = "two_arms";

  scoll::tree_params params() const { return {}; }
  static std::optional<two_arms> from_params(const scoll::tree_params& p) {
    return p == scoll::tree_params{} ? std::optional<two_arms>(two_arms{}) : std::nullopt;
  }
  // The first arm is 1 ... n / 2. The second arm, which is never longer, begins after it.
  rank parent(rank n, rank r) const { return r <= 1 || r == n / 2 + 1 ? 0 : r - 1; }
  rank fan_out(rank n, rank r) const {
    return r == 0 ? std::min(n - 1, 2U) : r == n / 2 || r == n - 1 ? 0 : 1;
  }
  rank child(rank n, rank r, rank i) const { return i == 0 ? r + 1 : n / 2 + 1; }
  rank subtree_nodes(rank n, rank r) const { return r == 0 ? n : r <= n / 2 ? n / 2 - r + 1 : n - r; }
  rank subtree_levels(rank n, rank r) const { return r == 0 ? 1 + n / 2 : subtree_nodes(n, r); }
};

struct count {
  static constexpr scoll::service_id id{0x0103};
  struct request {};
  using reply = scoll::sum<std::uint32_t>;
  static reply execute(const request&, scoll::bcast_context&) { return {1}; }
};

scoll::task<bool> ask(scoll::node& node, const std::vector<scoll::target>& servers) {
  auto group = co_await node.create_group<count>(servers, {.tree = two_arms{}});
  auto r = co_await scoll::bcast(group.value(), count::request{});
  co_return r.ok() && r->value == servers.size();
}

}  // namespace

int main() {
  scoll::tree_verifier verifier;  // checks the whole contract at every rank; names the rank and what is wrong
  for (std::uint32_t n = 1; n <= 200; ++n) {
    if (verifier.check(two_arms{}, n)) return 1;
  }
  scoll::register_tree<two_arms>();  // needed on every member before messages arrive
  scoll::draw_text(std::cout, two_arms{}, 9);
  scoll::local_cluster cluster(9);
  cluster.serve(count{});
  return cluster.run(ask(cluster[0], cluster.targets())) ? 0 : 1;
}
