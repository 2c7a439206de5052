#include "gossip/core.hpp"

#include <algorithm>
#include <bit>

#include "gossip/core_log.hpp"
#include "gossip/liveness/merge.hpp"
#include "gossip/threshold.hpp"
#include "scoll/coro/mutants.hpp"

namespace scoll::gossip {
namespace {

// more cycles of stealth, because verdicts are not given all at once
constexpr std::uint32_t beyond_threshold = 3;
constexpr std::uint32_t answers_after_gap = 2;
constexpr std::uint32_t gap_cycles = 2;
constexpr std::uint32_t calm_before_lower = 32;
constexpr int recent_cycles = 8;
constexpr participant_index looked_at_once = 64;
constexpr std::int64_t jitter_share = 20;  // pings leave up to 1/20 of an interval late

/// The same seed may be given to all participants; each derives its own from it.
std::uint64_t own_seed(std::uint64_t shared, participant_index self) noexcept {
  return shared ^ (self + std::uint64_t{1}) * 0xd1342543de82ef95;
}

std::size_t place(liveness state) noexcept {
  return static_cast<std::size_t>(state);
}

bool all_calm(const std::uint8_t* ages, const std::uint8_t* restless, std::size_t count,
              std::uint32_t threshold) noexcept {
  return none_older(restless, count, 0) &&
         none_older(ages, count, static_cast<std::uint8_t>(std::min<std::uint32_t>(threshold, old_age)));
}

}  // namespace

core::core(configuration_ptr shared, participant_index self, const options& chosen, std::size_t most_bytes,
           time_point now, core_output& out)
    : shared_(std::move(shared)),
      self_(self),
      options_(chosen),
      most_bytes_(most_bytes),
      out_(out),
      random_(own_seed(chosen.seed, self)),
      digest_(shortened(shared_->digest())),
      claim_(claim_of(*shared_)),
      clock_(chosen.clock, shared_->interval()),
      agreement_(shared_->size()),
      lives_(shared_->size()),
      peers_(shared_->size(), self, chosen.reprobe_one_in),
      rails_(static_cast<std::uint32_t>(shared_->addresses(self).size())),
      ages_(shared_->size(), never_heard),
      heard_(shared_->size(), never_heard),
      records_(shared_->size()),
      restless_(shared_->size(), 1),
      outgoing_(
          std::min<std::size_t>(most_bytes, least_bytes(chosen.seal) + std::size_t{shared_->size()} * 9)),
      incoming_(chosen.seal != nullptr ? most_bytes : 0),
      last_tick_(now),
      full_left_(shared_->size()) {
  ages_[self_] = 0;
  lives_.learn(self_, options_.incarnation);
  counts_by_state_[place(liveness::unknown)] = shared_->size() - 1;
  records_[self_].state = liveness::alive;
  restless_[self_] = 0;
  threshold_ = computed_threshold(options_.expected_loss);
  stealth_left_ = threshold_ + beyond_threshold;
  const auto interval = static_cast<std::uint64_t>(shared_->interval().count());
  next_tick_ = now + nanoseconds(options_.jitter ? static_cast<std::int64_t>(random_.below(interval)) : 0);
  if (!options_.stealth || SCOLL_MUTANT(gossip_no_stealth, "a start is not silent")) begin();
}

// ---- time

void core::on_timer(time_point now) noexcept {
  if (stage_ == participation::stopped) return;
  if (now >= next_tick_) tick(now);
  if (stage_ == participation::active && now >= next_ping_) ping();
}

/// There is one tick after a pause, however many were missed: no participant can be blamed for cycles that
/// this process slept through.
void core::tick(time_point now) noexcept {
  notice_gap(now);
  conclude_cycle();
  const std::uint64_t before = clock_.now();
  counts_.clock_held += clock_.tick(now, others_alive());
  move_ages(before);
  if (relative()) shift_ages(ages_.data(), ages_.size(), 1);
  ages_[self_] = 0;
  ++counts_.cycles;
  adapt_threshold();
  if (stage_ == participation::stealth) go_on_in_stealth();
  judge();
  const nanoseconds interval = shared_->interval();
  next_tick_ = std::max(next_tick_ + interval, now + interval / 2);
  attempts_ = 0;
  replied_ = false;
  const auto latest = static_cast<std::uint64_t>(interval.count() / jitter_share);
  const auto later = options_.jitter ? static_cast<std::int64_t>(random_.below(latest)) : 0;
  next_ping_ = stage_ == participation::active ? now + nanoseconds(later) : never;
}

void core::notice_gap(time_point now) noexcept {
  const bool gap = ticked_ && now - last_tick_ > gap_cycles * shared_->interval();
  ticked_ = true;
  last_tick_ = now;
  if (!gap) return;
  ++counts_.gaps;
  answers_needed_ = answers_after_gap;
  log(log_level::warning, log_sink::no_clock,
      "this process stood still: verdicts wait for two answered cycles");
}

void core::conclude_cycle() noexcept {
  if (attempts_ == 0) return;
  if (full_left_ != 0) --full_left_;
  silent_cycles_ = static_cast<std::uint8_t>((unsigned{silent_cycles_} << 1) | (replied_ ? 0U : 1U));
  if (replied_ && answers_needed_ != 0) --answers_needed_;
  counts_.cycles_without_reply += !replied_;
  if (!replied_) rails_.unanswered();
}

void core::go_on_in_stealth() noexcept {
  if (stealth_left_ != 0) --stealth_left_;
  if (stealth_left_ == 0) begin();
}

void core::begin() noexcept {
  stage_ = participation::active;
  begun_ = counts_.cycles;
  clock_.settle();
  answers_needed_ = answers_after_gap;
  log(log_level::info, log_sink::no_clock, "takes part in life {}", options_.incarnation);
}

/// Ages are relative to the clock, so they move with it.
void core::move_ages(std::uint64_t before) noexcept {
  const std::uint64_t after = clock_.now();
  if (relative() || after == before) return;
  const auto moved = static_cast<std::int64_t>(after - before);
  shift_ages(ages_.data(), ages_.size(), static_cast<int>(std::clamp<std::int64_t>(moved, -254, 254)));
  ages_[self_] = 0;
  if (stage_ == participation::active && moved > std::int64_t{gap_cycles}) {
    answers_needed_ = answers_after_gap;
    log(log_level::info, log_sink::no_clock, "the cluster clock went {} cycles at once", moved);
  }
}

// ---- the threshold

std::uint32_t core::computed_threshold(double loss) const noexcept {
  if (SCOLL_MUTANT(gossip_threshold_low, "the threshold is four cycles")) return 4;
  if (options_.threshold_cycles != 0) return options_.threshold_cycles;
  if (options_.threshold == threshold_rule::logarithm) return logarithm_threshold(shared_->size());
  threshold_input in;
  in.participants = shared_->size();
  in.loss = loss;
  in.interval = shared_->interval();
  in.false_verdicts_per_year = options_.false_verdicts_per_year;
  in.forgiven_pause = options_.forgiven_pause;
  in.retries = options_.retries;
  in.ages = options_.ages;
  return threshold_cycles(in);
}

/// The threshold rises at once. It falls only after a long calm.
void core::adapt_threshold() noexcept {
  loss_.conclude(clock_.now(), 2 * std::uint64_t{threshold_}, [&](participant_index who) {
    const std::uint64_t age = ages_[who];
    return age < old_age && age <= clock_.now() ? clock_.now() - age : 0;
  });
  const std::uint32_t wanted = computed_threshold(std::max(options_.expected_loss, loss_.value()));
  if (wanted >= threshold_) {
    if (wanted > threshold_)
      log(log_level::info, log_sink::no_clock, "threshold {} instead of {}: {:.0f} % of messages are lost",
          wanted, threshold_, 100 * loss_.value());
    threshold_ = wanted;
    calm_cycles_ = 0;
  } else if (++calm_cycles_ >= calm_before_lower) {
    --threshold_;
    calm_cycles_ = 0;
  }
}

/// Entries older than this are no evidence of life, nor are they in the original protocol.
std::uint32_t core::obsolete_after() const noexcept {
  return relative() ? logarithm_threshold(shared_->size()) : threshold_;
}

// ---- verdicts

withheld core::reason() const noexcept {
  if (stage_ != participation::active || counts_.cycles < begun_ + threshold_) return withheld::stealth;
  if (std::popcount(silent_cycles_) > recent_cycles / 2 &&
      !SCOLL_MUTANT(gossip_silence_unnoticed, "verdicts are given although no participant answers"))
    return withheld::no_replies;
  if (answers_needed_ != 0) return withheld::gap;
  return withheld::no;
}

/// For participants held alive only the age matters, until it exceeds the threshold. So this reads one byte
/// each.
void core::judge() noexcept {
  const withheld why = reason();
  unconfirmed_ = nobody;
  counts_.withheld_cycles += why != withheld::no;
  const auto count = static_cast<participant_index>(ages_.size());
  for (participant_index first = 0; first < count; first += looked_at_once) {
    const participant_index end = std::min(first + looked_at_once, count);
    if (all_calm(ages_.data() + first, restless_.data() + first, end - first, threshold_)) continue;
    for (participant_index who = first; who < end; ++who) {
      if (who != self_) look_at(who, why);
    }
  }
}

void core::look_at(participant_index who, withheld why) noexcept {
  const std::uint8_t age = ages_[who];
  const bool long_awake = counts_.cycles > 2 * std::uint64_t{threshold_};
  const bool silent = age > threshold_ && (age != never_heard || long_awake);
  const liveness seen = age == never_heard ? liveness::unknown
                        : age > threshold_ ? liveness::dead
                                           : liveness::alive;
  if (silent != peers_.is_silent(who)) peers_.set_silent(who, silent);
  const record& r = records_[who];
  if (seen != r.state || (seen == liveness::alive && r.announced != lives_.of(who))) judge(who, why);
  const bool calm = !silent && r.state == liveness::alive && r.announced == lives_.of(who);
  restless_[who] = calm ? 0 : 1;
}

/// A participant stays `unknown` until its life is known; otherwise the end of that life could not be told
/// from the next one.
void core::judge(participant_index who, withheld why) noexcept {
  const record& r = records_[who];
  const std::uint64_t incarnation = lives_.of(who);
  if (ages_[who] == never_heard) return;
  const bool dead = ages_[who] > threshold_;
  if (incarnation == 0) {
    if (!dead) unconfirmed_ = std::min(unconfirmed_, who);
    return;
  }
  if (dead && (r.state == liveness::dead || why != withheld::no)) return;
  if (dead) {
    become(who, liveness::dead);
    records_[who].confirmed = false;
    return announce(who, event_kind::dead);
  }
  if (stage_ != participation::active || (answers_needed_ != 0 && r.state != liveness::alive)) return;
  const bool other_life = r.announced != 0 && r.announced != incarnation &&
                          !SCOLL_MUTANT(gossip_reboot_unnoticed, "a new life is taken for the one before");
  if (r.state == liveness::alive && !other_life) return;
  if (r.state == liveness::dead && !other_life && !r.confirmed) {
    unconfirmed_ = std::min(unconfirmed_, who);
    return;
  }
  if (r.state == liveness::dead || other_life) ++records_[who].aliveness;
  become(who, liveness::alive);
  announce(who, other_life ? event_kind::rebooted : event_kind::alive);
}

void core::become(participant_index who, liveness state) noexcept {
  record& r = records_[who];
  --counts_by_state_[place(r.state)];
  ++counts_by_state_[place(state)];
  r.state = state;
  r.since = clock_.now();
  r.age_then = ages_[who];
  r.threshold_then = static_cast<std::uint8_t>(threshold_);
  r.loss_then = loss_.value();
}

void core::announce(participant_index who, event_kind kind) noexcept {
  record& r = records_[who];
  // The life that died is the one last announced, whatever is known of the next one by now.
  if (kind != event_kind::dead || r.announced == 0) r.announced = lives_.of(who);
  ++(kind == event_kind::alive  ? counts_.alive_events
     : kind == event_kind::dead ? counts_.dead_events
                                : counts_.rebooted_events);
  log(log_level::info, log_sink::no_clock, "{} {}: age {}, threshold {}, life {}", shared_->address(who),
      to_string(kind), ages_[who], threshold_, r.announced);
  out_.changed({kind, who, r.announced, r.aliveness, ++epoch_, clock_.now()});
}

void core::fail(const error& why) noexcept {
  if (stage_ == participation::stopped) return;
  stage_ = participation::stopped;
  failure_ = why;
  log(log_level::error, log_sink::no_clock, "stops: {}", why.text());
}

// ---- what is known

reachability core::reach(participant_index who) const noexcept {
  const record& r = records_[who];
  if (who == self_) return reachability::reachable;
  if (r.unanswered != 0) return reachability::unreachable;
  return r.last_direct == verdict::never && r.last_tried == verdict::never ? reachability::untried
                                                                           : reachability::reachable;
}

verdict core::explain(participant_index who) const noexcept {
  const record& r = records_[who];
  verdict v;
  v.who = who;
  v.state = r.state;
  v.incarnation = lives_.of(who);
  v.aliveness = r.aliveness;
  if (ages_[who] != never_heard) {
    v.age = ages_[who];
    v.last_heard = clock_.now() - std::min<std::uint64_t>(ages_[who], clock_.now());
  }
  v.last_direct = r.last_direct;
  v.since = r.since;
  if (r.since != verdict::never) v.age_then = r.age_then;
  v.threshold_then = r.threshold_then;
  v.loss_then = r.loss_then;
  v.threshold = threshold_;
  v.loss = loss_.value();
  v.reason = reason();
  v.reach = reach(who);
  v.last_tried = r.last_tried;
  v.unanswered = r.unanswered;
  return v;
}

snapshot core::take_snapshot() const {
  snapshot s;
  s.epoch = epoch_;
  s.stage = stage_;
  s.self = self_;
  s.incarnation = options_.incarnation;
  s.clock = clock_.now();
  s.cycles = counts_.cycles;
  s.threshold = threshold_;
  s.loss = loss_.value();
  s.rail = rail();
  s.reason = reason();
  s.unknown = counts_by_state_[place(liveness::unknown)];
  s.alive = counts_by_state_[place(liveness::alive)];
  s.dead = counts_by_state_[place(liveness::dead)];
  s.counts = counts_;
  s.members.reserve(records_.size());
  for (participant_index who = 0; who < records_.size(); ++who) s.members.push_back(explain(who));
  return s;
}

}  // namespace scoll::gossip
