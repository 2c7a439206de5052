#include "scoll/collective/plan_tree.hpp"

#include <utility>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"

namespace scoll {

task<result<tree_plan>> plan_tree(node& self, std::vector<target> targets, plan_options options) {
  const auto members = membership::make(std::move(targets));
  if (!members) co_return members.error();
  const auto rank = (*members)->rank_of(self.id());
  if (!rank) co_return make_error(errc::not_member, "node {} is not among the targets", self.id());
  const std::uint32_t n = (*members)->size();

  tree_choice_options choice{
      detail::node_access::engine(self).options().pinned_tree, std::move(options.also), {}};
  if ((*members)->has_places()) {
    for (std::uint32_t relative = 0; relative < n; ++relative)
      choice.places.push_back((*members)->place(to_rank(relative, *rank, n)));
  }
  options.measure.places = choice.places;
  const bool pinned = choice.pinned && check_tree(*choice.pinned, n) == tree_fault::none;
  if (pinned && !options.measure_pinned) co_return pinned_plan(n, *choice.pinned);
  if (n == 1) co_return choose_tree(n, link_map::uniform({}), choice);

  std::vector<node_id> peers;
  for (std::uint32_t relative = 1; relative < n; ++relative)
    peers.push_back((*members)->node(to_rank(relative, *rank, n)));
  const auto measured = co_await measure_links(self, std::move(peers), std::move(options.measure));
  if (!measured) co_return measured.error();
  co_return choose_tree(n, measured->map, choice);
}

}  // namespace scoll
