#include "tools/scoll-sim/scale/revoke_model.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include "scoll/collective/binomial_graph.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/tree/any_tree.hpp"

namespace scoll::sim {
namespace {

class revoke_flood {
 public:
  revoke_flood(const revoke_model& model, std::span<const std::uint32_t> dead)
      : model_(model),
        tree_(any_tree::resolve(model.tree, model.members).value()),
        hosts_(model.members),
        on_the_way_(model.reach) {
    for (const std::uint32_t rank : dead) hosts_[rank].dead = true;
    course_.unheard = model.members - 1 - static_cast<std::uint32_t>(dead.size());
    hear(0, 0);
  }

  revoke_course run() {
    for (now_ = 0; !busy_.empty() || flying_ != 0; ++now_) step();
    return course_;
  }

 private:
  struct host {
    bool dead = false;
    bool heard = false;
    bool busy = false;                  // it is in the list
    std::deque<std::uint32_t> arrived;  // the senders
    std::vector<std::uint32_t> to_tell;
    std::size_t told = 0;
  };
  struct notice {
    std::uint32_t from, to;
  };

  std::vector<notice>& arriving_at(std::uint32_t time) { return on_the_way_[time % model_.reach]; }

  void step() {
    for (const notice& n : arriving_at(now_)) {
      --flying_;
      host& h = hosts_[n.to];
      if (h.dead) continue;
      h.arrived.push_back(n.from);
      enlist(n.to);
    }
    arriving_at(now_).clear();
    working_.swap(busy_);
    for (const std::uint32_t rank : working_) {
      hosts_[rank].busy = false;
      work(rank);
    }
    working_.clear();
  }

  void work(std::uint32_t rank) {
    host& h = hosts_[rank];
    if (!h.arrived.empty()) {
      const std::uint32_t from = h.arrived.front();
      h.arrived.pop_front();
      if (!h.heard) {
        course_.last = now_ + 1;
        --course_.unheard;
        hear(rank, from);
      }
    } else if (h.told < h.to_tell.size()) {
      arriving_at(now_ + model_.reach - 1).push_back({rank, h.to_tell[h.told++]});
      ++flying_;
      ++course_.notices;
    }
    if (!h.arrived.empty() || h.told < h.to_tell.size()) enlist(rank);
  }

  void hear(std::uint32_t rank, std::uint32_t from) {
    host& h = hosts_[rank];
    h.heard = true;
    auto cursor = tree_.cursor(model_.members, rank);
    for (auto child = cursor.next(); child; child = cursor.next()) h.to_tell.push_back(*child);
    const auto children = static_cast<std::ptrdiff_t>(h.to_tell.size());
    for (const std::uint32_t other : detail::binomial_graph(model_.members, {}).neighbours(rank)) {
      const auto end = h.to_tell.begin() + children;
      const bool sender = rank != 0 && other == from;
      if (!sender && std::find(h.to_tell.begin(), end, other) == end) h.to_tell.push_back(other);
    }
    if (model_.nearest_first) std::reverse(h.to_tell.begin() + children, h.to_tell.end());
    enlist(rank);
  }

  void enlist(std::uint32_t rank) {
    if (std::exchange(hosts_[rank].busy, true)) return;
    busy_.push_back(rank);
  }

  const revoke_model& model_;
  any_tree tree_;
  std::vector<host> hosts_;
  std::vector<std::vector<notice>> on_the_way_;  // by the time of arrival, modulo the reach
  std::vector<std::uint32_t> busy_, working_;
  std::uint64_t flying_ = 0;
  std::uint32_t now_ = 0;
  revoke_course course_;
};

}  // namespace

revoke_course flood_revoke(const revoke_model& model, std::span<const std::uint32_t> dead) {
  return revoke_flood(model, dead).run();
}

revoke_draws draw_revokes(const revoke_model& model, std::uint32_t deaths, std::uint32_t draws,
                          std::uint64_t seed) {
  random_generator random(seed);
  std::vector<std::uint32_t> lasts;
  revoke_draws sum;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    std::set<std::uint32_t> dead;
    while (dead.size() < deaths) dead.insert(1 + static_cast<std::uint32_t>(random.below(model.members - 1)));
    const std::vector<std::uint32_t> sorted(dead.begin(), dead.end());
    const revoke_course course = flood_revoke(model, sorted);
    lasts.push_back(course.last);
    sum.unheard += course.unheard;
  }
  std::sort(lasts.begin(), lasts.end());
  sum.median = lasts[lasts.size() / 2];
  sum.worst = lasts.back();
  return sum;
}

std::string revoke_model_heading() {
  return fmt::format("{:>8} {:>6} {:>7} | {:>6} {:>12} | {:>8} {:>6} {:>6}\n", "nodes", "degree", "reach o",
                     "last o", "notices/node", "16 dead:", "median", "worst");
}

std::string revoke_model_line(const revoke_model& model, std::uint64_t seed, bool& all_heard) {
  constexpr std::uint32_t deaths = 16, draws = 40;
  const revoke_course clean = flood_revoke(model, {});
  all_heard = clean.unheard == 0;
  const double each = static_cast<double>(clean.notices) / model.members;
  std::string line = fmt::format("{:>8} {:>6} {:>7} | {:>6} {:>12.2f} |", model.members,
                                 detail::binomial_degree(model.members), model.reach, clean.last, each);
  if (detail::binomial_degree(model.members) <= deaths) return line + "\n";
  const revoke_draws drawn = draw_revokes(model, deaths, model.members > 20'000 ? 3 : draws, seed);
  all_heard = all_heard && drawn.unheard == 0;
  return line + fmt::format(" {:>8} {:>6} {:>6}\n", "", drawn.median, drawn.worst);
}

}  // namespace scoll::sim
