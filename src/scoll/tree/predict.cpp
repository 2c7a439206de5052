#include "scoll/tree/predict.hpp"

#include <deque>
#include <queue>

namespace scoll::detail {
namespace {

/// Simulates one broadcast, event by event. Members are given by their number in the tree.
class imagined_broadcast {
 public:
  imagined_broadcast(const tree_levels& tree, const link_map& links)
      : tree_(tree), links_(links), members_(tree.rank.size()), arrived_(tree.rank.size()) {
    const bool shared = !links.host_of.empty();
    hosts_.resize(shared ? links.processors.size() : 1);
    for (std::size_t i = 0; shared && i < hosts_.size(); ++i) {
      hosts_[i].limited = links.processors[i] != 0;
      hosts_[i].free = links.processors[i];
    }
  }

  void run(tree_prediction& result) {
    happen(0, event::request, 0);
    while (!events_.empty()) {
      const event next = events_.top();
      events_.pop();
      take(next);
    }
    result.reached = reached_;
    result.merged = merged_;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (hosts_[i].limited)
        result.work_bound = std::max(result.work_bound, hosts_[i].work / links_.processors[i]);
    }
  }

 private:
  struct event {
    enum kind : std::uint8_t { request, reply, step, release };
    std::uint64_t at;
    std::uint64_t order;  // breaks ties between events of one time
    std::uint32_t member;
    kind what;
    friend bool operator>(const event& a, const event& b) {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  struct member {
    std::uint32_t arrived = 0;
    std::uint32_t merged = 0;
    bool reached = false;
    bool awake = false;  // it has a processor, or waits for one
  };
  struct host {
    bool limited = false;
    std::uint32_t free = 0;
    std::uint64_t work = 0;
    std::deque<std::uint32_t> waiting;
  };

  std::uint32_t child_count(std::uint32_t m) const { return tree_.first_child[m + 1] - tree_.first_child[m]; }
  const link_costs& costs(std::uint32_t parent, std::uint32_t child) const {
    return links_.between(tree_.rank[parent], tree_.rank[child]);
  }
  host& host_of(std::uint32_t m) {
    return hosts_[links_.host_of.empty() ? 0 : links_.host_of[tree_.rank[m]]];
  }
  void happen(std::uint64_t at, event::kind what, std::uint32_t m) { events_.push({at, order_++, m, what}); }

  void take(const event& e) {
    switch (e.what) {
      case event::request: return wake(e.member, e.at);
      case event::reply: {
        const std::uint32_t parent = tree_.parent[e.member];
        arrived_[tree_.first_child[parent] + members_[parent].arrived++] = e.member;
        if (!members_[parent].awake) wake(parent, e.at);
        return;
      }
      case event::step: return go_on(e.member, e.at, 0);
      case event::release: return let_go(e.member, e.at);
    }
  }

  void wake(std::uint32_t m, std::uint64_t at) {
    members_[m].awake = true;
    host_of(m).waiting.push_back(m);
    give_processors(host_of(m), at);
  }
  void give_processors(host& of, std::uint64_t at) {
    while (!of.waiting.empty() && (of.free != 0 || !of.limited)) {
      const std::uint32_t m = of.waiting.front();
      of.waiting.pop_front();
      if (of.limited) --of.free;
      begin_turn(m, at);
    }
  }
  void let_go(std::uint32_t m, std::uint64_t at) {
    members_[m].awake = false;
    host& of = host_of(m);
    if (of.limited) ++of.free;
    give_processors(of, at);
  }

  void begin_turn(std::uint32_t m, std::uint64_t at) {
    if (members_[m].reached) {
      const std::uint32_t waker = arrived_[tree_.first_child[m] + members_[m].merged];
      return go_on(m, at, costs(m, waker).wake);
    }
    members_[m].reached = true;
    const std::uint64_t began = at;
    if (m != 0) at += costs(tree_.parent[m], m).receive;
    reached_ = std::max(reached_, at);
    for (std::uint32_t i = 0; i < child_count(m); ++i) {
      const std::uint32_t child = tree_.first_child[m] + i;
      const link_costs& c = costs(m, child);
      happen(at + c.send + c.latency, event::request, child);
      at += std::max(c.gap, c.send);
    }
    host_of(m).work += at - began;
    if (child_count(m) == 0) return answer(m, at);
    happen(at, event::step, m);
  }

  /// Merges the next reply, if there is one.
  void go_on(std::uint32_t m, std::uint64_t at, std::uint64_t waking) {
    member& self = members_[m];
    if (self.merged == self.arrived) return let_go(m, at);
    const std::uint64_t cost = waking + costs(m, arrived_[tree_.first_child[m] + self.merged]).merge;
    host_of(m).work += cost;
    if (++self.merged == child_count(m)) return answer(m, at + cost);
    happen(at + cost, event::step, m);
  }

  void answer(std::uint32_t m, std::uint64_t at) {
    if (m == 0) {
      merged_ = at;
      return;
    }
    const link_costs& c = costs(tree_.parent[m], m);
    host_of(m).work += c.send;
    happen(at + c.send + c.latency, event::reply, m);
    happen(at + c.send, event::release, m);
  }

  const tree_levels& tree_;
  const link_map& links_;
  std::vector<member> members_;
  std::vector<std::uint32_t> arrived_;  // replies in the order of their arrival, from first_child on
  std::vector<host> hosts_;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  std::uint64_t reached_ = 0;
  std::uint64_t merged_ = 0;
};

}  // namespace

void predict_times(const tree_levels& tree, const link_map& links, tree_prediction& result) {
  imagined_broadcast(tree, links).run(result);
}

}  // namespace scoll::detail
