#include "tools/scoll-sim/exhaust/agree_engine.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

namespace scoll::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t the_group = 1;
constexpr nanoseconds creation = 100ms;
constexpr std::chrono::microseconds deadline = 8s;
constexpr nanoseconds news_take = 3ms;          // until the others hear of a death
constexpr nanoseconds silent_news_take = 60ms;  // if no connection has told them
constexpr std::chrono::microseconds parted = 1500ms;
constexpr nanoseconds time_to_end = 12s;
constexpr std::uint32_t most_steps = 5000;

std::string_view to_string(misfortune m) {
  switch (m) {
    case misfortune::death: return "the proposer dies";
    case misfortune::silent_death: return "the proposer dies silently";
    case misfortune::two_deaths: return "the proposer and the next one die";
    case misfortune::partition: return "two members are cut off";
    case misfortune::verdicts: return "two members are cut off and called dead";
  }
  return "?";
}

plan plan_of(const engine_bounds& b) {
  plan p;
  p.seed = 1;
  p.hosts = b.members;
  p.events.push_back({0ns, events::wires{10us, 10us, 0us, 0, 1, 4096}});
  return p;
}

/// One run of nodes that agree or shrink their group.
class agreement_trial {
 public:
  explicit agreement_trial(const engine_bounds& b)
      : bounds_(b), cluster_(std::make_unique<cluster>(plan_of(b))) {
    const std::uint32_t last = b.members - 1;  // the creator lives, because the group ends with it
    cluster_->carry_out({now(), events::group{the_group, last, flat::kind, 0, number_set::below(b.members)}});
    run_for(creation);
    for (std::uint32_t host = 0; host < b.members; ++host) {
      if (b.shrinks) {
        cluster_->carry_out({now(), events::shrink{host, the_group, host, deadline}});
      } else {
        cluster_->carry_out({now(), events::agree{host, the_group, 7, host, deadline}});
      }
    }
  }
  agreement_trial(const agreement_trial&) = delete;
  agreement_trial& operator=(const agreement_trial&) = delete;

  /// Returns false if nothing is left to do.
  bool step() { return !over() && cluster_->world().step(now() + 1s); }

  void kill(std::uint32_t host, bool silent) {
    cluster_->carry_out({now(), events::crash{host, silent}});
    dead_.insert(host);
  }
  void tell_of_deaths() {
    dead_.each([&](std::uint32_t dead) {
      for (std::uint32_t host = 0; host < bounds_.members; ++host)
        cluster_->carry_out({now(), events::verdict{host, dead, news::dead}});
    });
  }
  /// Cuts the first two members off. The others are more than half from five members on.
  void part(bool with_verdicts) {
    const number_set side = number_set::below(2);
    cluster_->carry_out({now(), events::partition{side, parted}});
    if (!with_verdicts) return run_for(parted);
    run_for(news_take);
    tell_both(side, news::falsely_dead);
    run_for(parted);
    tell_both(side, news::alive);
  }
  void run_for(nanoseconds d) { cluster_->world().run_until(now() + d); }

  /// Runs to the end. Returns what did not hold; nothing if everything did.
  violations finish() {
    for (nanoseconds end = now() + deadline + 1s; !over() && now() < end;) run_for(100ms);
    run_for(3s);
    violations found;
    check_agreements(*cluster_, found);
    if (found.empty()) check_progress(found);
    if (found.empty()) {
      cluster_->begin_shutdown();
      run_for(time_to_end);
      cluster_->bury_the_dead();
      check_shutdown(*cluster_, found);
    }
    if (!found.empty()) static_cast<void>(cluster_.release());  // a broken run is left as it is
    return found;
  }

 private:
  nanoseconds now() const { return cluster_->world().now(); }
  bool over() const {
    return std::all_of(cluster_->agreed().calls().begin(), cluster_->agreed().calls().end(),
                       [](const auto& call) { return call.second.done || call.second.at->crashed; });
  }
  void tell_both(const number_set& side, news what) {
    for (std::uint32_t who = 0; who < bounds_.members; ++who) {
      for (std::uint32_t about = 0; about < bounds_.members; ++about) {
        if (side.contains(who) != side.contains(about))
          cluster_->carry_out({now(), events::verdict{who, about, what}});
      }
    }
  }
  /// Everybody has called, so a majority that lives and hears each other has an outcome.
  void check_progress(violations& found) {
    const auto lost = static_cast<std::uint32_t>(
        bounds_.what == misfortune::verdicts || bounds_.what == misfortune::partition ? 2 : dead_.size());
    if (2 * (bounds_.members - lost) <= bounds_.members) return;
    for (const auto& [number, c] : cluster_->agreed().calls()) {
      const bool cut_off = bounds_.what == misfortune::verdicts && c.rank < 2;
      const bool known = c.outcome || c.outcome.error() == errc::excluded;
      if (!c.at->crashed && !cut_off && !known)
        found.push_back({"decided", fmt::format("rank {}: {}", c.rank, describe(c.outcome.error()))});
    }
  }

  engine_bounds bounds_;
  std::unique_ptr<cluster> cluster_;
  number_set dead_;
};

/// Says which misfortunes of a run came before its end.
struct reached {
  bool first = true;   ///< the first came before the end
  bool second = true;  ///< the second came before the end
  violations found;
};

/// Makes the run with the misfortune after `steps` steps, and the second after `more`.
reached run_once(const engine_bounds& b, std::uint32_t steps, std::uint32_t more) {
  agreement_trial t(b);
  bool going = true;
  for (std::uint32_t i = 0; i < steps && going; ++i) going = t.step();
  reached r;
  r.first = going;
  switch (b.what) {
    case misfortune::death:
    case misfortune::silent_death:
      t.kill(0, b.what == misfortune::silent_death);
      t.run_for(b.what == misfortune::death ? news_take : silent_news_take);
      t.tell_of_deaths();
      break;
    case misfortune::two_deaths:
      t.kill(0, false);
      t.tell_of_deaths();
      for (std::uint32_t i = 0; i < more && going; ++i) going = t.step();
      t.kill(1, false);
      t.run_for(news_take);
      t.tell_of_deaths();
      break;
    case misfortune::partition: t.part(false); break;
    case misfortune::verdicts: t.part(true); break;
  }
  r.second = going;
  r.found = t.finish();
  return r;
}

std::string text_of(const engine_bounds& b) {
  return fmt::format("{} of {} nodes, {}{}", b.shrinks ? "shrink" : "agree", b.members, to_string(b.what),
                     b.stride * b.second == 1 ? " at each step" : " at steps");
}

}  // namespace

exhausted check_engine(const engine_bounds& bounds) {
  exhausted found{text_of(bounds), 0, {}, {}};
  const bool twice = bounds.what == misfortune::two_deaths;
  reached last;
  for (std::uint32_t steps = 0; last.first && steps < most_steps; steps += bounds.stride) {
    last.second = true;
    for (std::uint32_t more = 1; last.second && more < most_steps; more += bounds.second) {
      last = run_once(bounds, steps, more);
      ++found.cases;
      if (!last.found.empty()) {
        found.violation = last.found.front().property;
        found.way = {last.found.front().what, fmt::format("after {} steps", steps)};
        if (twice) found.way.push_back(fmt::format("and {} more", more));
        return found;
      }
      if (!twice) break;
    }
  }
  return found;
}

std::vector<exhausted> exhaust_engine(bool brief) {
  std::vector<exhausted> parts;
  for (const std::uint32_t members : {3U, 4U, 5U, 6U, 7U}) {
    for (const bool shrinks : {false, true}) {
      for (const misfortune what : {misfortune::death, misfortune::silent_death, misfortune::two_deaths,
                                    misfortune::partition, misfortune::verdicts}) {
        if (brief && (members != 5 || what == misfortune::two_deaths)) continue;
        parts.push_back(check_engine({members, shrinks, what, brief ? 3U : 1U, 1}));
        if (brief && !parts.back().violation.empty()) return parts;
      }
    }
  }
  return parts;
}

}  // namespace scoll::sim
