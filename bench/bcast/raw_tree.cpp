#include "raw_tree.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "bench/kit/clock.hpp"
#include "scoll/tree/any_tree.hpp"

namespace bench::bcast {

raw_place::raw_place(member& me, const setting& s) : me_(me) {
  const auto tree = scoll::any_tree::resolve(s.tree, s.nodes);
  if (!tree) throw std::runtime_error("this is no tree");
  std::uint16_t port = 0;
  const unique_fd listener = listen_anywhere(port);
  me.publish(port);
  if (!is_root()) {
    parent_ = connect_to(me.port(tree->parent(s.nodes, me.index())), s.congestion_control);
    const std::uint32_t rank = me.index();
    send_all(parent_.get(), &rank, sizeof rank);
  }
  std::vector<std::uint32_t> ranks;
  const std::uint32_t fan_out = tree->fan_out(s.nodes, me.index());
  ranks.reserve(fan_out);
  for (std::uint32_t i = 0; i < fan_out; ++i) ranks.push_back(tree->child(s.nodes, me.index(), i));
  children_.resize(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    unique_fd child = accept_one(listener.get(), s.congestion_control);
    std::uint32_t rank = 0;
    receive_all(child.get(), &rank, sizeof rank);
    const auto place = std::distance(ranks.begin(), std::find(ranks.begin(), ranks.end(), rank));
    children_.at(static_cast<std::size_t>(place)) = std::move(child);
  }
}

void raw_place::reached() noexcept {
  me_.page().reached_ns.store(now_ns(), std::memory_order_relaxed);
}

}  // namespace bench::bcast
