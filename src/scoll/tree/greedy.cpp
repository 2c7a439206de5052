#include "scoll/tree/greedy.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

namespace scoll {

namespace {

struct turn {
  std::uint64_t time;
  std::uint32_t member;  // its number in the order in which members are reached
};

/// Computes parents[i] of the i-th member reached. The earliest free member takes the next child. A member
/// becomes free when it is reached, and again a gap after each child. Both kinds of event are made in the
/// order of their times, so two queues serve as the heap.
std::vector<std::uint32_t> assign_parents(std::uint32_t n, std::uint64_t reach, std::uint64_t gap) {
  std::vector<std::uint32_t> parents(n, 0);
  std::vector<std::uint64_t> reached(n, 0);
  std::vector<turn> again;
  again.reserve(n);
  std::uint32_t fresh = 0;
  std::size_t head = 0;
  for (std::uint32_t child = 1; child < n; ++child) {
    turn now{reached[fresh], fresh};
    const bool none_fresh = fresh == child;
    const bool again_first =
        head < again.size() && (none_fresh || again[head].time < now.time ||
                                (again[head].time == now.time && again[head].member < now.member));
    if (again_first) {
      now = again[head++];
    } else {
      ++fresh;
    }
    parents[child] = now.member;
    reached[child] = now.time + reach;
    again.push_back({now.time + gap, now.member});
  }
  return parents;
}

}  // namespace

greedy_table::greedy_table(std::uint32_t n, std::uint64_t reach, std::uint64_t gap) : nodes_(n) {
  const std::vector<std::uint32_t> parents = assign_parents(n, reach, gap);
  std::vector<node> built(n);
  for (std::uint32_t i = n; i-- > 1;) {
    node& parent = built[parents[i]];
    parent.nodes += built[i].nodes;
    parent.levels = std::max(parent.levels, built[i].levels + 1);
    ++parent.fan_out;
  }

  // Renumbers into preorder. An earlier child's subtree contains the shape of a later one's, since it had at
  // least one gap more to grow. So the order in which members are reached is send order.
  std::vector<std::uint32_t> renamed(n, 0);
  std::vector<std::uint32_t> next_rank(n, 1);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t parent = parents[i];
    if (i > 0) {
      renamed[i] = next_rank[parent];
      next_rank[parent] += built[i].nodes;
      next_rank[i] = renamed[i] + 1;
    }
    built[i].parent = renamed[parent];
    nodes_[renamed[i]] = built[i];
  }

  children_.reserve(n);
  for (std::uint32_t r = 0; r < n; ++r) {
    nodes_[r].first_child = static_cast<std::uint32_t>(children_.size());
    std::uint32_t child = r + 1;
    for (std::uint32_t i = 0; i < nodes_[r].fan_out; ++i) {
      children_.push_back(child);
      child += nodes_[child].nodes;
    }
  }
}

namespace {

/// The tables used last. A table is O(n), so the cache is bounded by members as well as by tables.
class table_cache {
 public:
  using table_ptr = std::shared_ptr<const greedy_table>;

  table_ptr get(std::uint32_t n, std::uint64_t reach, std::uint64_t gap) {
    const key wanted{n, reach, gap};
    {
      const std::scoped_lock lock(mutex_);
      if (table_ptr found = find(wanted)) return found;
    }
    // The table is built unlocked: others need not wait, and a table built twice is only wasted time.
    auto built = std::make_shared<const greedy_table>(n, reach, gap);
    const std::scoped_lock lock(mutex_);
    if (table_ptr found = find(wanted)) return found;
    make_room(n);
    entries_.push_back({wanted, built, ++clock_});
    members_ += n;
    return built;
  }

 private:
  static constexpr std::size_t max_tables = 64;
  static constexpr std::uint64_t max_cached_members = 2 * std::uint64_t{greedy::max_members};

  struct key {
    std::uint32_t n;
    std::uint64_t reach;
    std::uint64_t gap;
    bool operator==(const key&) const = default;
  };
  struct entry {
    key of;
    table_ptr table;
    std::uint64_t used;
  };

  table_ptr find(const key& wanted) {
    for (entry& e : entries_) {
      if (e.of == wanted) {
        e.used = ++clock_;
        return e.table;
      }
    }
    return nullptr;
  }

  void make_room(std::uint32_t n) {
    while (entries_.size() == max_tables || (!entries_.empty() && members_ + n > max_cached_members)) {
      const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                           [](const entry& a, const entry& b) { return a.used < b.used; });
      members_ -= oldest->of.n;
      entries_.erase(oldest);
    }
  }

  std::mutex mutex_;
  std::vector<entry> entries_;
  std::uint64_t members_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace

std::shared_ptr<const greedy_table> greedy::table(std::uint32_t n) const {
  SCOLL_ASSERT(n >= 1 && n <= max_members, "a greedy tree has 1 to 2^20 members");
  SCOLL_ASSERT(latency >= 1 && gap >= 1, "a greedy tree's latency and gap are at least 1");
  static table_cache cache;
  const std::uint64_t reach = 2 * std::uint64_t{latency} + merge;
  const std::uint64_t busy = std::uint64_t{gap} + merge;
  const std::uint64_t unit = std::gcd(reach, busy);
  return cache.get(n, reach / unit, busy / unit);
}

}  // namespace scoll
