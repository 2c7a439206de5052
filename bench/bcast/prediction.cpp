#include "prediction.hpp"

#include <algorithm>
#include <stdexcept>

#include "../kit/group_contestant.hpp"
#include "scoll/tree/flat.hpp"
#include "scoll/tree/predict.hpp"

namespace bench::bcast {
namespace {

double p50_of_flat(std::uint32_t nodes, const bench::options& common) {
  const setting s{nodes, 64, scoll::flat{}, common.congestion_control};
  group_contestant group("scoll-flat", nodes, [s](member& me) { play_scoll(me, s); });
  std::vector<double> us;
  const std::uint32_t operations = common.quick ? 50 : 2000;
  group.run(operations / 10, us);
  us.clear();
  group.run(operations, us);
  return median(std::move(us));
}

std::uint64_t to_ns(double us) {
  return static_cast<std::uint64_t>(std::max(us, 0.0) * 1000);
}

}  // namespace

link_costs measure_links(const bench::options& common) {
  const double one = p50_of_flat(2, common);
  const double four = p50_of_flat(5, common);
  const std::uint64_t each = to_ns((four - one) / 3 / 2);
  return {to_ns(one / 2), each, each};
}

scoll::any_tree any_tree_of(const setting& s) {
  auto tree = scoll::any_tree::resolve(s.tree, s.nodes);
  if (!tree) throw std::invalid_argument(to_string(s.tree) + " is no tree");
  return *tree;
}

double predict_us(const setting& s, const link_costs& costs) {
  const auto predicted = predict(any_tree_of(s), s.nodes, costs.latency, costs.gap, costs.merge);
  return static_cast<double>(predicted.merged) / 1e3;
}

}  // namespace bench::bcast
