#include "tools/scoll-sim/scale/revoke_model.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "scoll/collective/membership.hpp"
#include "scoll/collective/revocation.hpp"

namespace scoll::sim {

revoke_order::revoke_order(std::uint32_t members, const tree_spec& tree)
    : tree_(any_tree::resolve(tree, members).value()) {
  std::vector<target> targets(members);
  for (std::uint32_t rank = 0; rank < members; ++rank) targets[rank].node = rank + 1;
  group_.members = membership::make(std::move(targets)).value();
  notice_.tree_kind = tree.kind;
  notice_.tree = tree.params;
}

revoke_order::choice revoke_order::told_by(std::uint32_t rank, std::optional<std::uint32_t> from) {
  group_.self_rank = rank;
  detail::revoke_targets found = detail::targets_of(group_, notice_, {}, from ? *from + 1 : 0);
  return {std::move(found.living), found.children};
}

std::vector<std::uint32_t> revoke_order::known_by(std::uint32_t rank) {
  std::vector<std::uint32_t> known = told_by(rank, std::nullopt).ranks;
  if (rank != 0) known.push_back(tree_.parent(group_.members->size(), rank));
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return known;
}

namespace {

class revoke_flood {
 public:
  revoke_flood(const revoke_model& model, std::span<const std::uint32_t> dead)
      : model_(model), order_(model.members, model.tree), hosts_(model.members), on_the_way_(model.reach) {
    for (const std::uint32_t rank : dead) hosts_[rank].dead = true;
    course_.unheard = model.members - 1 - static_cast<std::uint32_t>(dead.size());
    hear(0, std::nullopt);
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

  void hear(std::uint32_t rank, std::optional<std::uint32_t> from) {
    host& h = hosts_[rank];
    h.heard = true;
    revoke_order::choice told = order_.told_by(rank, from);
    h.to_tell = std::move(told.ranks);
    if (model_.nearest_first)
      std::reverse(h.to_tell.begin() + static_cast<std::ptrdiff_t>(told.children), h.to_tell.end());
    enlist(rank);
  }

  void enlist(std::uint32_t rank) {
    if (std::exchange(hosts_[rank].busy, true)) return;
    busy_.push_back(rank);
  }

  const revoke_model& model_;
  revoke_order order_;
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

std::vector<std::uint32_t> draw_dead(std::uint32_t members, std::uint32_t deaths, random_generator& random) {
  std::set<std::uint32_t> dead;
  while (dead.size() < deaths) dead.insert(1 + static_cast<std::uint32_t>(random.below(members - 1)));
  return {dead.begin(), dead.end()};
}

revoke_draws draw_revokes(const revoke_model& model, std::uint32_t deaths, std::uint32_t draws,
                          std::uint64_t seed) {
  random_generator random(seed);
  std::vector<std::uint32_t> lasts;
  revoke_draws sum;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const revoke_course course = flood_revoke(model, draw_dead(model.members, deaths, random));
    lasts.push_back(course.last);
    sum.unheard += course.unheard;
  }
  std::sort(lasts.begin(), lasts.end());
  sum.median = lasts[lasts.size() / 2];
  sum.worst = lasts.back();
  return sum;
}

}  // namespace scoll::sim
