#include "tools/scoll-sim/study/gossip_study.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <span>

#include "gossip/liveness/cluster_clock.hpp"
#include "gossip/liveness/merge.hpp"
#include "gossip/threshold.hpp"
#include "scoll/coro/random.hpp"
#include "tools/scoll-sim/study/gossip_wheel.hpp"

namespace scoll::sim {
namespace {

using namespace gossip;

constexpr std::int64_t interval_ticks = 1'000'000;  // virtual time is counted in millionths of an interval
constexpr std::size_t blocks = 40;
constexpr std::uint32_t most_columns = 1024;
constexpr std::uint32_t most_loss_ppm = 1'000'000;
constexpr std::uint32_t stall_every = 16;  // cycles

using histogram = std::array<std::uint64_t, 256>;
using kind = study_event;

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct node {
  explicit node(const study_case& c) : clock(c.clock, c.interval) {}

  cluster_clock clock;
  std::int64_t period = interval_ticks;
  std::int64_t phase = 0;
  std::int64_t stalled_until = 0;
  bool alive = true;
  bool answered = false;
  std::uint32_t attempts = 0;
  std::uint64_t cycle = 0;
  std::array<std::uint32_t, 16> tried{};
};

struct letter {
  std::uint32_t from = 0, to = 0;
  bool reply = false;
  std::uint64_t clock = 0;
  std::uint64_t cycle = 0;  // of the node that pings
};

/// A cluster as docs/gossip.md describes it, made of the clocks, ages and thresholds of the real participant.
class world {
 public:
  explicit world(const study_case& c)
      : case_(c),
        random_(c.seed),
        columns_(std::min(c.columns == 0 ? most_columns : c.columns, c.nodes)),
        ages_(std::size_t{c.nodes} * columns_, never_heard),
        died_at_(columns_, -1),
        noticed_(columns_, 0),
        first_(columns_, 0),
        last_(columns_, 0) {
    result_.threshold = c.threshold != 0 ? c.threshold : computed();
    result_.blocks.resize(blocks);
    make_nodes();
  }

  study_result run() {
    const double begun = thread_seconds();
    const std::int64_t settled = std::int64_t{40 + 2 * result_.threshold} * interval_ticks;
    run_until(settled);
    measuring_ = true;
    const std::uint64_t before = highest_clock();
    const std::int64_t measured = std::int64_t{case_.cycles} * interval_ticks;
    run_until(settled + measured);
    result_.clock_rate = static_cast<double>(highest_clock() - before) / case_.cycles;
    measuring_ = false;
    conclude_ages();
    kill_some();
    result_.seconds = thread_seconds() - begun;
    return std::move(result_);
  }

 private:
  // ---- making

  std::uint32_t computed() const {
    threshold_input in;
    in.participants = case_.nodes;
    in.loss = std::max(case_.loss, 0.05);
    in.interval = case_.interval;
    in.retries = case_.retries;
    in.ages = case_.ages;
    return threshold_cycles(in);
  }

  void make_nodes() {
    const auto dead_from = static_cast<std::uint32_t>(case_.nodes * (1 - case_.dead));
    nodes_.reserve(case_.nodes);
    for (std::uint32_t i = 0; i < case_.nodes; ++i) {
      node& n = nodes_.emplace_back(case_);
      n.clock.settle();
      if (case_.jitter) {
        n.phase = draw(interval_ticks);
        const auto skew = static_cast<std::int64_t>(case_.skew * interval_ticks);
        n.period = interval_ticks + draw(2 * skew + 1) - skew;
      }
      if (case_.fast_node && i == 0) n.period = interval_ticks / 2;
      // The dead nodes are scattered over the columns.
      n.alive = case_.dead == 0 || (i * 7919ULL) % case_.nodes < dead_from;
      living_ += n.alive;
      std::fill_n(ages_of(i), columns_, std::uint8_t{0});
      if (n.alive) schedule(n.phase, i, kind::tick);
    }
    if (case_.dead != 0) {
      for (std::uint32_t i = 0; i < case_.nodes; ++i) {
        for (std::uint32_t j = 0; j < columns_; ++j) {
          if (!nodes_[j].alive) ages_of(i)[j] = old_age;
        }
      }
    }
    if (case_.stall != 0) schedule(stall_every * interval_ticks, 0, kind::wake);
  }

  // ---- time

  std::int64_t draw(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  void schedule(std::int64_t at, std::uint32_t index, kind what) { queue_.push({at, order_++, index, what}); }
  time_point local(const node& n) const {
    // A clock that is fast shows more time, in proportion to its period.
    const double intervals = static_cast<double>(now_) / static_cast<double>(n.period);
    return time_point(
        nanoseconds(static_cast<std::int64_t>(intervals * static_cast<double>(case_.interval.count()))));
  }

  void run_until(std::int64_t end) {
    study_occasion next;
    while (queue_.next(end, next)) {
      now_ = next.at;
      happen(next);
    }
    now_ = end;
  }

  void happen(const study_occasion& o) {
    if (o.what == kind::wake) return stall_somebody();
    const std::uint32_t host = o.what == kind::arrive ? letters_[o.index].to : o.index;
    node& n = nodes_[host];
    if (!n.alive) {
      if (o.what == kind::arrive) idle_.push_back(o.index);
      return;
    }
    if (n.stalled_until > now_) return schedule(n.stalled_until, o.index, o.what);
    switch (o.what) {
      case kind::tick: return tick(host, n);
      case kind::send: return ping(host, n);
      case kind::retry: return retry(host, n);
      case kind::arrive: return arrive(o.index, n);
      case kind::wake: return;
    }
  }

  void stall_somebody() {
    const auto whom = case_.lossy_node != 0 ? 0U : static_cast<std::uint32_t>(draw(columns_));
    nodes_[whom].stalled_until = now_ + static_cast<std::int64_t>(case_.stall * interval_ticks);
    schedule(now_ + stall_every * interval_ticks, 0, kind::wake);
  }

  // ---- what a node does

  std::uint8_t* ages_of(std::uint32_t host) { return ages_.data() + std::size_t{host} * columns_; }
  bool stamps() const { return case_.ages == age_rule::guarded_stamps; }

  void move_clock(std::uint32_t host, std::uint64_t before, std::uint64_t after) {
    if (!stamps() || after == before) return;
    const auto moved = static_cast<int>(std::min<std::uint64_t>(after - before, old_age));
    shift_ages(ages_of(host), columns_, moved);
    if (host < columns_) ages_of(host)[host] = 0;
  }

  void tick(std::uint32_t host, node& n) {
    const std::uint64_t before = n.clock.now();
    const bool waits = n.clock.tick(local(n), living_ - 1);
    result_.clock_waits += measuring_ && waits;
    move_clock(host, before, n.clock.now());
    if (!stamps()) shift_ages(ages_of(host), columns_, 1);
    if (host < columns_) ages_of(host)[host] = 0;
    judge(host);
    n.answered = false;
    n.attempts = 0;
    ++n.cycle;
    // After a stall there is one tick, however many were missed.
    n.phase = std::max(n.phase + n.period, now_ + n.period / 2);
    schedule(n.phase, host, kind::tick);
    const std::int64_t later = case_.jitter ? draw(n.period / 20) : 0;
    if (later == 0) return ping(host, n);
    schedule(now_ + later, host, kind::send);
  }

  void ping(std::uint32_t host, node& n) {
    const std::uint32_t whom = choose(host, n);
    n.tried[n.attempts % n.tried.size()] = whom;
    ++n.attempts;
    pings_ += measuring_;
    post({host, whom, false, n.clock.now(), n.cycle}, ages_of(host));
    if (n.attempts <= case_.retries) schedule(now_ + n.period / 4, host, kind::retry);
  }

  void retry(std::uint32_t host, node& n) {
    if (!n.answered) ping(host, n);
  }

  std::uint32_t choose(std::uint32_t host, const node& n) {
    const bool wants_dead = case_.reprobe_one_in != 0 && random_.chance(1, case_.reprobe_one_in);
    std::uint32_t whom = 0;
    for (int draws = 0; draws < 64; ++draws) {
      whom = static_cast<std::uint32_t>(draw(case_.nodes - 1));
      whom += whom >= host;
      const std::span tried(n.tried.data(), std::min<std::size_t>(n.attempts, n.tried.size()));
      if (std::find(tried.begin(), tried.end(), whom) != tried.end()) continue;
      if (case_.reprobe_one_in == 0) break;
      if (held_dead(host, whom) == (wants_dead && anybody_dead_)) break;
    }
    return whom;
  }

  bool held_dead(std::uint32_t host, std::uint32_t whom) {
    return whom < columns_ ? ages_of(host)[whom] > result_.threshold : !nodes_[whom].alive;
  }

  std::uint32_t loss_ppm(const letter& l) const {
    const bool lossy = case_.lossy_node != 0 && (l.from == 0 || l.to == 0);
    return static_cast<std::uint32_t>((lossy ? case_.lossy_node : case_.loss) * most_loss_ppm);
  }

  void post(const letter& l, const std::uint8_t* ages) {
    if (random_.below(most_loss_ppm) < loss_ppm(l)) return;
    std::uint32_t slot = 0;
    if (idle_.empty()) {
      slot = static_cast<std::uint32_t>(letters_.size());
      letters_.emplace_back();
      contents_.resize(contents_.size() + columns_);
    } else {
      slot = idle_.back();
      idle_.pop_back();
    }
    letters_[slot] = l;
    std::copy_n(ages, columns_, contents_.data() + std::size_t{slot} * columns_);
    const std::int64_t latency = interval_ticks / 100 + draw(interval_ticks / 50);
    schedule(now_ + latency, slot, kind::arrive);
  }

  void arrive(std::uint32_t slot, node& n) {
    const letter l = letters_[slot];
    const std::uint64_t before = n.clock.now();
    n.clock.hear(l.from, l.clock, local(n));
    move_clock(l.to, before, n.clock.now());
    if (measuring_) {
      const std::uint64_t late = n.clock.now() > l.clock ? n.clock.now() - l.clock : 0;
      ++result_.lateness[std::min<std::uint64_t>(late, result_.lateness.size() - 1)];
    }
    std::uint8_t* const heard = contents_.data() + std::size_t{slot} * columns_;
    const std::uint64_t behind = n.clock.now() - std::min(l.clock, n.clock.now());
    const int shift = stamps() ? static_cast<int>(std::min<std::uint64_t>(behind, old_age)) : 1;
    merge_ages(ages_of(l.to), heard, columns_, shift);
    if (l.to < columns_) ages_of(l.to)[l.to] = 0;
    if (l.reply) {
      if (l.cycle == n.cycle) n.answered = true;
    } else {
      answer(l, heard, shift);
    }
    idle_.push_back(slot);
  }

  /// The answer leaves out entries that the other node already has, or has nearly as fresh.
  void answer(const letter& l, std::uint8_t* heard, int shift) {
    const int least = (stamps() ? 1 : 2) + static_cast<int>(case_.fudge);
    const std::uint8_t* const own = ages_of(l.to);
    keep_fresher_ages(heard, own, columns_, stamps() ? shift : 0, least);
    if (measuring_) {
      entries_ += columns_ - static_cast<std::uint64_t>(std::count(heard, heard + columns_, never_heard));
      replies_ += 1;
    }
    reply_.assign(heard, heard + columns_);  // `heard` moves when a letter is added
    post({l.to, l.from, true, nodes_[l.to].clock.now(), l.cycle}, reply_.data());
  }

  // ---- what is seen

  void judge(std::uint32_t host) {
    const std::uint8_t* const own = ages_of(host);
    if (measuring_) {
      enter_block(measured_ticks_++ * blocks / expected_ticks());
      histogram& counts = count_ages(own);
      if (host < columns_) --counts[own[host]];
      if (case_.fast_node && host == 0) {
        for (std::uint32_t j = 0; j < columns_; ++j) {
          --counts[own[j]];
          odd_[own[j]] += j != host;
        }
        ++counts[own[host]];
      }
      if (case_.lossy_node != 0 && host != 0) {
        ++odd_[own[0]];
        --counts[own[0]];
      }
      if (measured_ticks_ % (std::size_t{case_.nodes} * 4) == 0) look_at_clocks();
      return;
    }
    for (const std::uint32_t j : killed_) {
      if (own[j] <= result_.threshold || j == host || seen(j, host)) continue;
      seen(j, host) = true;
      const double after = static_cast<double>(now_ - died_at_[j]) / interval_ticks;
      if (noticed_[j]++ == 0) first_[j] = after;
      last_[j] = after;
    }
  }

  /// Equal ages often follow each other, and one histogram would make each update wait for the one before. So
  /// every fourth column shares a histogram.
  histogram& count_ages(const std::uint8_t* ages) {
    std::size_t j = 0;
    for (; j + counts_.size() <= columns_; j += counts_.size()) {
      for (std::size_t k = 0; k < counts_.size(); ++k) ++counts_[k][ages[j + k]];
    }
    for (; j < columns_; ++j) ++counts_[0][ages[j]];
    return counts_[0];
  }

  void enter_block(std::size_t which) {
    if (which == block_) return;
    for (histogram& h : counts_) {
      for (std::size_t a = 0; a < h.size(); ++a) result_.blocks[block_][a] += h[a];
      h.fill(0);
    }
    block_ = which;
  }

  std::vector<bool>::reference seen(std::uint32_t column, std::uint32_t host) {
    const auto place =
        static_cast<std::size_t>(std::find(killed_.begin(), killed_.end(), column) - killed_.begin());
    return seen_[place * case_.nodes + host];
  }

  std::size_t expected_ticks() const {
    const double faster = case_.fast_node ? 2 : 1.02;  // no node ticks more often
    return static_cast<std::size_t>(case_.cycles * faster * living_) + blocks;
  }

  std::uint64_t highest_clock() const {
    std::uint64_t highest = 0;
    for (std::uint32_t i = case_.fast_node; i < case_.nodes; ++i) {
      if (nodes_[i].alive) highest = std::max(highest, nodes_[i].clock.now());
    }
    return highest;
  }

  void look_at_clocks() {
    std::uint64_t lowest = UINT64_MAX;
    for (const node& n : nodes_) {
      if (n.alive && n.stalled_until <= now_) lowest = std::min(lowest, n.clock.now());
    }
    spreads_.push_back(static_cast<double>(highest_clock() - std::min(lowest, highest_clock())));
  }

  void conclude_ages() {
    enter_block(blocks);
    std::uint64_t above = 0, all = 0, of_dead = 0;
    for (std::uint32_t j = 0; j < columns_; ++j) of_dead += !nodes_[j].alive;
    for (auto& b : result_.blocks) {
      // Ages of dead nodes carry no information here.
      if (of_dead != 0) b[old_age] = 0;
      for (std::size_t a = 0; a < b.size(); ++a) {
        result_.ages[a] += b[a];
        if (b[a] == 0) continue;
        all += b[a];
        above += a > result_.threshold ? b[a] : 0;
        result_.highest_age = std::max(result_.highest_age, static_cast<std::uint32_t>(a));
      }
    }
    result_.pair_cycles = static_cast<double>(all);
    result_.false_share = static_cast<double>(above) / static_cast<double>(all);
    const double cycles_per_year = 365.25 * 24 * 3600 / std::chrono::duration<double>(case_.interval).count();
    const double live = living_;
    result_.fit = fit_tail(result_.blocks, result_.threshold, live * (live - 1) * cycles_per_year);
    if (case_.lossy_node != 0 || case_.fast_node)
      result_.odd_fit = fit_tail({odd_}, result_.threshold, (live - 1) * cycles_per_year);
    const auto measured = static_cast<double>(measured_ticks_);
    result_.pings_per_cycle = static_cast<double>(pings_) / std::max(1.0, measured);
    result_.entries_per_reply =
        static_cast<double>(entries_) / std::max(1.0, static_cast<double>(replies_) * columns_);
    std::sort(spreads_.begin(), spreads_.end());
    if (!spreads_.empty()) {
      result_.clock_spread_p50 = spreads_[spreads_.size() / 2];
      result_.clock_spread_max = spreads_.back();
    }
  }

  // ---- deaths

  /// Kills a few nodes at a time, at any moment of their cycles. Later they return.
  void kill_some() {
    const std::uint32_t at_once = std::clamp<std::uint32_t>(case_.nodes / 64, 1, 8);
    std::vector<double> firsts, lasts, spreads;
    while (firsts.size() + result_.undetected < case_.kills) {
      kill(at_once);
      wait_for_verdicts();
      for (const std::uint32_t j : killed_) {
        if (noticed_[j] < living_) {
          ++result_.undetected;
        } else {
          firsts.push_back(first_[j]);
          lasts.push_back(last_[j]);
          spreads.push_back(last_[j] - first_[j]);
        }
      }
      revive();
    }
    conclude(firsts, lasts, spreads);
  }

  /// Runs until every node has noticed, or for so long that the death counts as unnoticed.
  void wait_for_verdicts() {
    const std::int64_t latest = now_ + std::int64_t{2 * result_.threshold + 12} * interval_ticks;
    const auto noticed = [&](std::uint32_t j) { return noticed_[j] >= living_; };
    while (now_ < latest && !std::all_of(killed_.begin(), killed_.end(), noticed))
      run_until(now_ + interval_ticks);
  }

  void kill(std::uint32_t count) {
    seen_.assign(std::size_t{count} * case_.nodes, false);
    while (killed_.size() < count) {
      const auto whom = static_cast<std::uint32_t>(draw(columns_));
      if (!nodes_[whom].alive || (whom == 0 && (case_.fast_node || case_.lossy_node != 0))) continue;
      nodes_[whom].alive = false;
      --living_;
      died_at_[whom] = now_;
      noticed_[whom] = 0;
      killed_.push_back(whom);
      run_until(now_ + draw(interval_ticks / 4));
    }
    anybody_dead_ = true;
  }

  void revive() {
    for (const std::uint32_t j : killed_) {
      node& n = nodes_[j];
      n.alive = true;
      ++living_;
      n.phase = now_ + draw(interval_ticks);
      schedule(n.phase, j, kind::tick);
    }
    killed_.clear();
    run_until(now_ + 20 * interval_ticks);
    anybody_dead_ = case_.dead != 0;
  }

  void conclude(std::vector<double>& firsts, std::vector<double>& lasts, std::vector<double>& spreads) {
    if (firsts.empty()) return;
    const auto count = static_cast<double>(firsts.size());
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      result_.detect_first += firsts[i] / count;
      result_.detect_last_mean += lasts[i] / count;
      result_.detect_last_max = std::max(result_.detect_last_max, lasts[i]);
    }
    std::sort(spreads.begin(), spreads.end());
    const auto place = static_cast<std::size_t>(std::ceil(0.99 * count));
    result_.spread_p99 = spreads[std::max<std::size_t>(place, 1) - 1];
  }

  const study_case case_;
  random_generator random_;
  std::uint32_t columns_;
  std::vector<node> nodes_;
  std::vector<std::uint8_t> ages_;  // a row of columns for each node
  gossip_wheel queue_;
  std::uint64_t order_ = 0;
  std::int64_t now_ = 0;
  std::vector<letter> letters_;
  std::vector<std::uint8_t> contents_;
  std::vector<std::uint32_t> idle_;
  std::vector<std::uint8_t> reply_;
  std::uint32_t living_ = 0;
  bool anybody_dead_ = false;

  bool measuring_ = false;
  std::size_t measured_ticks_ = 0;
  std::size_t block_ = 0;
  std::array<histogram, 4> counts_{};  // of the block
  std::uint64_t pings_ = 0, entries_ = 0, replies_ = 0;
  histogram odd_{};
  std::vector<double> spreads_;
  std::vector<std::uint32_t> killed_;
  std::vector<bool> seen_;
  std::vector<std::int64_t> died_at_;
  std::vector<std::uint32_t> noticed_;
  std::vector<double> first_, last_;
  study_result result_;
};

}  // namespace

study_result run_study(const study_case& what) {
  return world(what).run();
}

}  // namespace scoll::sim
