#include "roll_call.hpp"

#include <algorithm>

#include "../services/presence.hpp"
#include "scoll/coro/when_all.hpp"

namespace shard {
namespace {

scoll::task<scoll::error> ask(scoll::node& self, scoll::node_id other, scoll::time_limit limit) {
  if (other == self.id()) co_return scoll::error();
  std::vector<scoll::target> both(2);
  both[0].node = self.id();
  both[1].node = other;
  scoll::group_options options;
  options.deadline = limit;
  const auto group = co_await self.create_group<presence>(both, options);
  if (!group) co_return group.error();
  (co_await self.destroy(*group)).ignore();
  co_return scoll::error();
}

}  // namespace

scoll::task<std::vector<absent_node>> roll_call(scoll::node& self, const std::vector<scoll::target>& targets,
                                                scoll::nanoseconds limit, scoll::deadline until) {
  constexpr std::size_t at_once = 64;
  std::vector<absent_node> absent;
  for (std::size_t first = 0; first < targets.size(); first += at_once) {
    const std::size_t last = std::min(first + at_once, targets.size());
    const scoll::deadline by = std::min(scoll::deadline::in(limit), until);
    std::vector<scoll::task<scoll::error>> asked;
    for (std::size_t i = first; i != last; ++i) asked.push_back(ask(self, targets[i].node, by));
    const auto errors = co_await scoll::when_all(std::move(asked));
    for (std::size_t i = first; i != last; ++i) {
      if (errors[i - first]) absent.push_back({targets[i].node, errors[i - first]});
    }
  }
  co_return absent;
}

}  // namespace shard
