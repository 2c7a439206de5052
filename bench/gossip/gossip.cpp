#include "gossip.hpp"

namespace bench::gossip {

rows run(const bench::options& common, const options& chosen) {
  rows all = run_merge(common, chosen.sizes);
  const rows cycles = run_cycle(common, chosen.nodes);
  all.insert(all.end(), cycles.begin(), cycles.end());
  return all;
}

}  // namespace bench::gossip
