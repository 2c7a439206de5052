#include "prediction.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "bench/kit/processes.hpp"
#include "scoll/tree/predict.hpp"

namespace bench::bcast {
namespace {

struct unmap {
  void operator()(found_links* at) const noexcept { munmap(at, sizeof *at); }
};
using shared_links = std::unique_ptr<found_links, unmap>;

shared_links share_links() {
  void* const at =
      mmap(nullptr, sizeof(found_links), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "shared memory");
  return shared_links(new (at) found_links);
}

}  // namespace

scoll::link_map measure_links(const setting& s) {
  const shared_links found = share_links();
  found_links& into = *found;
  processes group("links", s.nodes, [&](member& me) { play_measuring(me, s, into); });
  group.obey({.operations = 1});
  scoll::link_map links;
  links.classes = {{"same host", into.costs, into.bulk}};
  links.class_of.assign(s.nodes, 0);
  links.local = 0;
  links.host_of.assign(s.nodes, 0);
  links.processors = {into.processors};
  return links;
}

scoll::any_tree any_tree_of(const setting& s) {
  std::vector<scoll::member_place> places;
  for (std::uint32_t i = 0; i < s.nodes; ++i) places.push_back({s.zone_of(i)});
  auto tree = scoll::any_tree::resolve(s.tree, s.nodes, places);
  if (!tree) throw std::invalid_argument(to_string(s.tree) + " is no tree");
  return *tree;
}

double predict_us(const setting& s, const scoll::link_map& links) {
  return static_cast<double>(predict(any_tree_of(s), s.nodes, links).merged) / 1e3;
}

}  // namespace bench::bcast
