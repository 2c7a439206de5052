#include "tools/scoll-sim/study/gossip_study_cluster.hpp"

#include <algorithm>

#include "gossip/liveness/merge.hpp"
#include "gossip/threshold.hpp"

namespace scoll::sim {
namespace {

using namespace gossip;

constexpr std::uint32_t most_columns = 1024;
constexpr std::uint32_t stall_every = 16;         // cycles
constexpr std::uint32_t certain_ppm = 1'000'000;  // of loss

std::uint32_t columns_of(const study_case& c) {
  return std::min(c.columns == 0 ? most_columns : c.columns, c.nodes);
}

std::uint32_t threshold_of(const study_case& c) {
  if (c.threshold != 0) return c.threshold;
  threshold_input in;
  in.participants = c.nodes;
  in.loss = std::max(c.loss, 0.05);
  in.interval = c.interval;
  in.retries = c.retries;
  in.ages = c.ages;
  return threshold_cycles(in);
}

/// The dead nodes are scattered over the columns.
bool dead_from_the_start(const study_case& c, std::uint32_t index) {
  const auto dead_from = static_cast<std::uint32_t>(c.nodes * (1 - c.dead));
  return c.dead != 0 && (index * 7919ULL) % c.nodes >= dead_from;
}

}  // namespace

// ---- making

study_cluster::study_cluster(const study_case& c)
    : case_(c), random_(c.seed), columns_(columns_of(c)), threshold_(threshold_of(c)) {
  ages_.resize(std::size_t{case_.nodes} * columns_, 0);
  make_nodes();
  if (case_.dead != 0) forget_the_dead();
  if (case_.stall != 0) schedule(stall_every * study_interval, 0, study_event::wake);
}

void study_cluster::make_nodes() {
  nodes_.reserve(case_.nodes);
  for (std::uint32_t i = 0; i < case_.nodes; ++i) {
    study_node& n = nodes_.emplace_back(case_);
    n.clock.settle();
    set_apart(n, i);
    n.alive = !dead_from_the_start(case_, i);
    living_ += n.alive;
    if (n.alive) schedule(n.phase, i, study_event::tick);
  }
}

/// Gives a node its phase and its period.
void study_cluster::set_apart(study_node& n, std::uint32_t index) {
  if (case_.jitter) {
    n.phase = draw(study_interval);
    const auto skew = static_cast<std::int64_t>(case_.skew * study_interval);
    n.period = study_interval + draw(2 * skew + 1) - skew;
  }
  if (case_.fast_node && index == 0) n.period = study_interval / 2;
}

/// All nodes know of the nodes that are dead from the start.
void study_cluster::forget_the_dead() {
  for (std::uint32_t i = 0; i < case_.nodes; ++i) {
    for (std::uint32_t j = 0; j < columns_; ++j) {
      if (!nodes_[j].alive) ages_of(i)[j] = old_age;
    }
  }
}

// ---- time

std::int64_t study_cluster::draw(std::int64_t bound) {
  return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
}

void study_cluster::schedule(std::int64_t at, std::uint32_t index, study_event what) {
  queue_.push({at, order_++, index, what});
}

/// A clock that is fast shows more time, in proportion to its period.
time_point study_cluster::local(const study_node& n) const {
  const double intervals = static_cast<double>(now_) / static_cast<double>(n.period);
  return time_point(
      nanoseconds(static_cast<std::int64_t>(intervals * static_cast<double>(case_.interval.count()))));
}

void study_cluster::run_until(std::int64_t end) {
  study_occasion next;
  while (queue_.next(end, next)) {
    now_ = next.at;
    happen(next);
  }
  now_ = end;
}

void study_cluster::happen(const study_occasion& o) {
  if (o.what == study_event::wake) return stall_somebody();
  const std::uint32_t host = o.what == study_event::arrive ? letters_[o.index].to : o.index;
  study_node& n = nodes_[host];
  if (!n.alive) {
    if (o.what == study_event::arrive) idle_.push_back(o.index);
    return;
  }
  if (n.stalled_until > now_) return schedule(n.stalled_until, o.index, o.what);
  switch (o.what) {
    case study_event::tick: return tick(host, n);
    case study_event::send: return ping(host, n);
    case study_event::retry: return retry(host, n);
    case study_event::arrive: return arrive(o.index, n);
    case study_event::wake: return;
  }
}

void study_cluster::stall_somebody() {
  const auto whom = case_.lossy_node != 0 ? 0U : static_cast<std::uint32_t>(draw(columns_));
  nodes_[whom].stalled_until = now_ + static_cast<std::int64_t>(case_.stall * study_interval);
  schedule(now_ + stall_every * study_interval, 0, study_event::wake);
}

void study_cluster::kill(std::uint32_t host) {
  nodes_[host].alive = false;
  --living_;
}

void study_cluster::revive(std::uint32_t host) {
  study_node& n = nodes_[host];
  n.alive = true;
  ++living_;
  n.phase = now_ + draw(study_interval);
  schedule(n.phase, host, study_event::tick);
}

std::uint64_t study_cluster::highest_clock() const {
  std::uint64_t highest = 0;
  for (std::uint32_t i = case_.fast_node; i < case_.nodes; ++i) {
    if (nodes_[i].alive) highest = std::max(highest, nodes_[i].clock.now());
  }
  return highest;
}

std::uint64_t study_cluster::lowest_clock() const {
  std::uint64_t lowest = UINT64_MAX;
  for (const study_node& n : nodes_) {
    if (n.alive && n.stalled_until <= now_) lowest = std::min(lowest, n.clock.now());
  }
  return lowest;
}

// ---- what a node does

void study_cluster::move_clock(std::uint32_t host, std::uint64_t before, std::uint64_t after) {
  if (!stamps() || after == before) return;
  const auto moved = static_cast<int>(std::min<std::uint64_t>(after - before, old_age));
  shift_ages(ages_of(host), columns_, moved);
  keep_own_age(host);
}

void study_cluster::tick(std::uint32_t host, study_node& n) {
  const std::uint64_t before = n.clock.now();
  const bool waited = n.clock.tick(local(n), living_ - 1);
  move_clock(host, before, n.clock.now());
  if (!stamps()) shift_ages(ages_of(host), columns_, 1);
  keep_own_age(host);
  if (watcher_ != nullptr) watcher_->on_tick(host, {ages_of(host), columns_}, waited);
  begin_cycle(host, n);
}

void study_cluster::begin_cycle(std::uint32_t host, study_node& n) {
  n.answered = false;
  n.attempts = 0;
  ++n.cycle;
  // After a stall there is one tick, however many were missed.
  n.phase = std::max(n.phase + n.period, now_ + n.period / 2);
  schedule(n.phase, host, study_event::tick);
  const std::int64_t later = case_.jitter ? draw(n.period / 20) : 0;
  if (later == 0) return ping(host, n);
  schedule(now_ + later, host, study_event::send);
}

void study_cluster::ping(std::uint32_t host, study_node& n) {
  const std::uint32_t whom = choose(host, n);
  n.tried[n.attempts % n.tried.size()] = whom;
  ++n.attempts;
  if (watcher_ != nullptr) watcher_->on_ping();
  post({host, whom, false, n.clock.now(), n.cycle}, ages_of(host));
  if (n.attempts <= case_.retries) schedule(now_ + n.period / 4, host, study_event::retry);
}

void study_cluster::retry(std::uint32_t host, study_node& n) {
  if (!n.answered) ping(host, n);
}

std::uint32_t study_cluster::choose(std::uint32_t host, const study_node& n) {
  const bool wants_dead = case_.reprobe_one_in != 0 && random_.chance(1, case_.reprobe_one_in);
  std::uint32_t whom = 0;
  for (int draws = 0; draws < 64; ++draws) {
    whom = static_cast<std::uint32_t>(draw(case_.nodes - 1));
    whom += whom >= host;
    const std::span tried(n.tried.data(), std::min<std::size_t>(n.attempts, n.tried.size()));
    if (std::find(tried.begin(), tried.end(), whom) != tried.end()) continue;
    if (case_.reprobe_one_in == 0) break;
    if (held_dead(host, whom) == (wants_dead && probes_the_dead_)) break;
  }
  return whom;
}

bool study_cluster::held_dead(std::uint32_t host, std::uint32_t whom) {
  return whom < columns_ ? ages_of(host)[whom] > threshold_ : !nodes_[whom].alive;
}

// ---- messages

std::uint32_t study_cluster::loss_ppm(const letter& l) const {
  const bool lossy = case_.lossy_node != 0 && (l.from == 0 || l.to == 0);
  return static_cast<std::uint32_t>((lossy ? case_.lossy_node : case_.loss) * certain_ppm);
}

void study_cluster::post(const letter& l, const std::uint8_t* ages) {
  if (random_.below(certain_ppm) < loss_ppm(l)) return;
  const std::uint32_t slot = take_slot();
  letters_[slot] = l;
  std::copy_n(ages, columns_, content_of(slot));
  const std::int64_t latency = study_interval / 100 + draw(study_interval / 50);
  schedule(now_ + latency, slot, study_event::arrive);
}

std::uint32_t study_cluster::take_slot() {
  if (idle_.empty()) {
    letters_.emplace_back();
    contents_.resize(contents_.size() + columns_);
    return static_cast<std::uint32_t>(letters_.size() - 1);
  }
  const std::uint32_t slot = idle_.back();
  idle_.pop_back();
  return slot;
}

void study_cluster::arrive(std::uint32_t slot, study_node& n) {
  const letter l = letters_[slot];
  const std::uint64_t before = n.clock.now();
  n.clock.hear(l.from, l.clock, local(n));
  move_clock(l.to, before, n.clock.now());
  if (watcher_ != nullptr) watcher_->on_arrival(n.clock.now(), l.clock);
  std::uint8_t* const heard = content_of(slot);
  const std::uint64_t behind = n.clock.now() - std::min(l.clock, n.clock.now());
  const int shift = stamps() ? static_cast<int>(std::min<std::uint64_t>(behind, old_age)) : 1;
  merge_ages(ages_of(l.to), heard, columns_, shift);
  keep_own_age(l.to);
  if (l.reply) {
    if (l.cycle == n.cycle) n.answered = true;
  } else {
    answer(l, heard, shift);
  }
  idle_.push_back(slot);
}

/// The answer leaves out entries that the other node already has, or has nearly as fresh.
void study_cluster::answer(const letter& l, std::uint8_t* heard, int shift) {
  const int least = (stamps() ? 1 : 2) + static_cast<int>(case_.fudge);
  const std::uint8_t* const own = ages_of(l.to);
  keep_fresher_ages(heard, own, columns_, stamps() ? shift : 0, least);
  if (watcher_ != nullptr) watcher_->on_answer({heard, columns_});
  reply_.assign(heard, heard + columns_);  // `heard` moves when a letter is added
  post({l.to, l.from, true, nodes_[l.to].clock.now(), l.cycle}, reply_.data());
}

}  // namespace scoll::sim
