#include "plan.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "scoll/coro/random.hpp"
#include "scoll/tree/any_tree.hpp"

namespace scoll::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

struct kind_description {
  event_kind kind;
  std::string_view name;
  std::size_t operands;
  bool fault;
};
constexpr std::array kinds{
    kind_description{event_kind::wires, "wires", 6, false},
    kind_description{event_kind::clock, "clock", 3, false},
    kind_description{event_kind::group, "group", 6, false},
    kind_description{event_kind::bcast, "bcast", 8, false},
    kind_description{event_kind::hooks, "hooks", 5, false},
    kind_description{event_kind::cancel, "cancel", 1, false},
    kind_description{event_kind::cut, "cut", 2, true},
    kind_description{event_kind::half_open, "half_open", 2, true},
    kind_description{event_kind::block, "block", 3, true},
    kind_description{event_kind::partition, "partition", 2, true},
    kind_description{event_kind::slow, "slow", 4, true},
    kind_description{event_kind::narrow, "narrow", 4, true},
    kind_description{event_kind::corrupt, "corrupt", 3, true},
    kind_description{event_kind::refuse, "refuse", 3, true},
    kind_description{event_kind::stall, "stall", 2, true},
    kind_description{event_kind::crash, "crash", 2, true},
    kind_description{event_kind::boot, "boot", 1, false},
    kind_description{event_kind::cut_after, "cut_after", 3, true},
    kind_description{event_kind::storm, "storm", 1, true},
    kind_description{event_kind::destroy, "destroy", 2, false},
    kind_description{event_kind::stray, "stray", 3, false},
    kind_description{event_kind::verdict, "verdict", 3, true},
    kind_description{event_kind::subset, "subset", 2, false},
    kind_description{event_kind::call, "call", 8, false},
    kind_description{event_kind::call_stop, "call_stop", 1, false},
    kind_description{event_kind::haul, "haul", 8, false},
};
static_assert([] {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (static_cast<std::size_t>(kinds[i].kind) != i) return false;
  }
  return true;
}());
const kind_description& describe(event_kind kind) noexcept {
  return kinds[static_cast<std::size_t>(kind)];
}

/// Draws one run. Each draw is a statement of its own, so that the order never depends on the compiler.
class drawing {
 public:
  explicit drawing(const plan_options& options)
      : options_(options),
        random_(options.seed * 2 + 1),
        liveness_random_(options.seed * 2 + 2),
        haul_random_(~options.seed) {
    plan_.seed = options.seed;
    plan_.hosts = options.hosts;
  }

  plan draw() {
    const std::array horizons{milliseconds(800), milliseconds(2500), milliseconds(8000)};
    const std::uint64_t pick = random_.below(horizons.size());
    horizon_ = horizons[pick];
    // Some seeds of a swarm have no faults, so that properties that hold only without faults are checked too.
    quiet_ = options_.faults == fault_profile::none || random_.chance(1, 8);
    draw_wires();
    draw_clocks();
    draw_groups();
    if (options_.work == workload::ship) {
      draw_calls();
    } else {
      draw_broadcasts();
    }
    if (mixed()) draw_strays();
    if (!quiet_) draw_faults();
    if (mixed()) draw_subsets();
    if (options_.work == workload::ship) draw_hauls();
    if (options_.faults == fault_profile::swarm && !quiet_) draw_liveness();
    sort_by_time();
    return std::move(plan_);
  }

 private:
  using operands = std::array<std::uint64_t, 8>;

  /// Events of one moment keep their order. (std::stable_sort makes clang warn about libstdc++.)
  void sort_by_time() {
    std::vector<std::size_t> order(plan_.events.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      const nanoseconds first = plan_.events[a].at, second = plan_.events[b].at;
      return first != second ? first < second : a < b;
    });
    std::vector<plan_event> sorted;
    sorted.reserve(order.size());
    for (const std::size_t i : order) sorted.push_back(plan_.events[i]);
    plan_.events = std::move(sorted);
  }

  void add(nanoseconds at, event_kind kind, const operands& o) { plan_.events.push_back({at, kind, o}); }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + random_.below(high - low + 1); }
  nanoseconds moment(nanoseconds from, nanoseconds to) {
    return from + nanoseconds(static_cast<std::int64_t>(
                      random_.below(static_cast<std::uint64_t>((to - from).count()))));
  }
  /// Small values are more likely: the distribution is uniform in magnitude.
  std::uint64_t magnitude(std::uint64_t low, std::uint64_t high) {
    std::uint64_t scale = low;
    while (scale * 2 <= high && random_.chance(3, 4)) scale *= 2;
    return between(scale, std::min(high, scale * 2));
  }
  std::uint64_t host() { return random_.below(options_.hosts); }
  std::uint64_t other_than(std::uint64_t h) {
    const std::uint64_t step = between(1, options_.hosts - 1);
    return (h + step) % options_.hosts;
  }
  std::uint64_t everybody() const {
    return options_.hosts == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << options_.hosts) - 1;
  }

  void draw_wires() {
    const std::uint64_t near_ns = magnitude(2'000, 100'000);
    const std::uint64_t far_ns = magnitude(near_ns, 2'000'000);
    const std::uint64_t jitter_ns = magnitude(100, near_ns);
    const std::uint64_t ps_per_byte = magnitude(20, 8'000);
    const std::uint64_t rack = between(1, options_.hosts);
    const std::uint64_t chunk = magnitude(64, 65'536);
    add(nanoseconds(0), event_kind::wires, {near_ns, far_ns, jitter_ns, ps_per_byte, rack, chunk});
  }

  void draw_clocks() {
    for (std::uint64_t h = 0; h < options_.hosts; ++h) {
      const std::uint64_t offset = between(1'000'000'000, 1'000'000'000'000);
      const bool wild = options_.faults == fault_profile::swarm && !quiet_ && random_.chance(1, 16);
      const std::uint64_t drift = wild ? between(0, 40'000) : between(19'900, 20'100);
      add(nanoseconds(0), event_kind::clock, {h, offset, 980'000 + drift});
    }
  }

  void draw_groups() {
    const std::uint64_t early = between(3, 6);
    const std::uint64_t later = between(4, 8);
    for (std::uint64_t g = 0; g < early + later; ++g) {
      const nanoseconds spread = horizon_ / static_cast<std::int64_t>(later + 1);
      const nanoseconds at = g < early ? moment(nanoseconds(0), milliseconds(2))
                                       : spread * static_cast<std::int64_t>(g - early + 1);
      draw_group(g, at);
      if (mixed() && g >= 2 && random_.chance(1, 3)) draw_destruction(g, at);
    }
  }

  void draw_destruction(std::uint64_t number, nanoseconds created) {
    const nanoseconds at = moment(created, horizon_);
    const std::uint64_t by = host();
    add(at, event_kind::destroy, {number, by});
  }

  void draw_group(std::uint64_t number, nanoseconds at) {
    const std::uint64_t creator = host();
    std::uint64_t members = everybody();
    if (number != 0 && random_.chance(3, 5)) {
      const std::uint64_t some = random_.next();
      const std::uint64_t more = random_.next();
      members &= random_.chance(1, 2) ? some : some | more;
    }
    members |= std::uint64_t{1} << creator;
    constexpr std::array shapes{flat::kind,    chain::kind,   kary::kind,
                                knomial::kind, knomial::kind, kary::kind};
    const std::uint64_t shape = random_.below(shapes.size());
    const std::uint64_t radix = between(2, 8);
    const bool takes_radix = shapes[shape] == kary::kind || shapes[shape] == knomial::kind;
    const std::uint64_t hooked = random_.below(2);
    add(at, event_kind::group, {number, creator, shapes[shape], takes_radix ? radix : 0, members, hooked});
    groups_.push_back({number, at, members});
  }

  void draw_broadcasts() {
    const std::uint64_t wanted = between(220, 340);
    std::uint64_t number = 0;
    while (number < wanted) {
      nanoseconds at = moment(milliseconds(20), horizon_);
      const bool rush = mixed() && random_.chance(1, 150);  // more than the tables of operations hold
      std::uint64_t burst = random_.chance(1, 3) ? between(2, 12) : 1;
      if (rush) burst = between(32, 64);
      for (std::uint64_t i = 0; i < burst && number < wanted; ++i) {
        draw_broadcast(number++, at, rush);
        at += nanoseconds(static_cast<std::int64_t>(random_.below(50'000)));
      }
    }
  }

  void draw_broadcast(std::uint64_t number, nanoseconds at, bool rush) {
    const drawn_group& g = group_before(at);
    std::uint64_t root = host();
    while ((g.members >> root & 1) == 0) root = (root + 1) % options_.hosts;
    const std::uint64_t bytes = random_.chance(1, 10) ? between(1'000, 4'000) : between(0, 300);
    const bool lasting = mixed() && random_.chance(1, 16);
    std::uint64_t work = random_.chance(1, 2) ? 0 : magnitude(10, 100'000);
    if (lasting) work = between(300'000, 2'000'000);
    if (rush) work = between(20'000, 100'000);
    std::uint64_t deadline = 0, bound = 0, prepare = 0;
    if (mixed()) {
      if (random_.chance(2, 5)) deadline = magnitude(5'000, 2'000'000);
      if (random_.chance(1, 4)) bound = magnitude(10'000, 2'000'000);
      if (random_.chance(1, 6)) prepare = magnitude(10, 10'000);
    }
    add(at, event_kind::bcast, {number, g.number, root, bytes, work, deadline, bound, prepare});
    broadcasts_at_.push_back(at);
    if (mixed()) draw_misbehaviour(number, at, lasting);
  }

  void draw_misbehaviour(std::uint64_t number, nanoseconds at, bool lasting) {
    if (random_.chance(1, lasting ? 2 : 20)) {
      const std::uint64_t later = magnitude(1, 100'000);
      add(at + microseconds(later), event_kind::cancel, {number});
    }
    if (!random_.chance(1, 6)) return;
    operands masks{number};
    for (std::size_t i = 1; i <= 4; ++i) {
      const std::uint64_t a = random_.next();
      const std::uint64_t b = random_.next();
      const std::uint64_t c = random_.next();
      if (random_.chance(1, 3)) masks[i] = a & b & c & everybody();
    }
    // This event comes before the broadcast itself, because events of one moment keep their order.
    plan_event about{at, event_kind::hooks, masks};
    const auto place = std::find_if(plan_.events.begin(), plan_.events.end(), [&](const plan_event& e) {
      return e.kind == event_kind::bcast && e.operands[0] == number;
    });
    plan_.events.insert(place, about);
  }

  /// Draws requests that must be refused, soon after the broadcasts that they imitate.
  void draw_strays() {
    const std::uint64_t wanted = between(4, 16);
    for (std::uint64_t i = 0; i < wanted; ++i) {
      const std::uint64_t number = random_.below(broadcasts_at_.size());
      const std::uint64_t later = magnitude(100, 500'000);
      const std::uint64_t from = host();
      const std::uint64_t how = random_.below(2);
      add(broadcasts_at_[number] + microseconds(later), event_kind::stray, {number, from, how});
    }
  }

  void draw_calls() {
    const std::uint64_t wanted = between(300, 500);
    std::uint64_t number = 0;
    while (number < wanted) {
      nanoseconds at = moment(milliseconds(5), horizon_);
      const bool rush = random_.chance(1, 25);  // more calls to one host than the tables of handlers hold
      std::uint64_t burst = random_.chance(1, 3) ? between(2, 10) : 1;
      if (rush) burst = between(16, 48);
      const std::uint64_t from = host();
      const std::uint64_t to = other_than(from);
      for (std::uint64_t i = 0; i < burst && number < wanted; ++i) {
        const std::uint64_t other = other_than(from);
        draw_call(number++, at, from, rush ? to : other, rush);
        at += nanoseconds(static_cast<std::int64_t>(random_.below(50'000)));
      }
    }
  }

  /// Half of the sizes are small; some are around the eager limit, and some exceed the allowed size.
  std::uint64_t call_bytes() {
    const std::uint64_t which = random_.below(16);
    if (which < 9) return between(0, 280);
    if (which < 13) return between(280, 1'200);
    return which < 15 ? magnitude(1'000, 20'000) : magnitude(10'000, 60'000);
  }

  void draw_call(std::uint64_t number, nanoseconds at, std::uint64_t from, std::uint64_t to, bool rush) {
    const std::uint64_t bytes = call_bytes();
    const std::uint64_t back = call_bytes();
    const bool lasting = random_.chance(1, 16);  // it runs until it is stopped
    std::uint64_t work = random_.chance(1, 2) ? 0 : magnitude(10, 100'000);
    if (rush) work = between(20'000, 100'000);
    if (lasting) work = 60'000'000;
    std::uint64_t behaviour = 0;
    for (std::uint64_t bit = 1; bit <= 64; bit *= 2) {
      if (random_.chance(1, 12)) behaviour |= bit;
    }
    if (lasting) behaviour &= 16 + 64;
    const bool timed = random_.chance(2, 5);
    const std::uint64_t time = magnitude(100, 2'000'000);
    add(at, event_kind::call, {number, from, to, bytes, work, timed ? time : 0, behaviour, back});
    if (!random_.chance(1, 12) && !lasting) return;
    // Some calls are stopped only when all faults are over. Their callers may be gone by then, and the nodes
    // that still work for them have to notice that.
    const bool last_of_all = lasting && random_.chance(1, 2);
    const nanoseconds later = microseconds(magnitude(1, 500'000));
    add(last_of_all ? horizon_ + later : at + later, event_kind::call_stop, {number});
  }

  /// Draws calls that carry descriptors, between a few hosts and sometimes in rushes, so that segments wait
  /// for buffers and for their turn, and connections break while many segments are under way.
  void draw_hauls() {
    const std::uint64_t wanted = 60 + haul_random_.below(61);
    const std::uint64_t first = haul_random_.below(options_.hosts);
    const std::uint64_t hosts = std::min<std::uint64_t>(options_.hosts, 2 + haul_random_.below(4));
    const bool swarm = options_.faults == fault_profile::swarm && !quiet_;
    disturbs_hauls_ = haul_random_.chance(1, 2) && swarm;
    const auto within = static_cast<std::uint64_t>((horizon_ - milliseconds(5)).count());
    std::uint64_t drawn = 0;
    while (drawn < wanted) {
      const auto at = milliseconds(5) + nanoseconds(static_cast<std::int64_t>(haul_random_.below(within)));
      const std::uint64_t one = haul_random_.below(hosts);
      const std::uint64_t other = (one + 1 + haul_random_.below(hosts - 1)) % hosts;
      std::uint64_t burst = haul_random_.chance(1, 8) ? 4 + haul_random_.below(12) : 1;
      for (; burst != 0 && drawn < wanted; --burst)
        draw_haul(drawn++, at, (first + one) % options_.hosts, (first + other) % options_.hosts);
    }
  }

  /// Draws sizes around the limits at which segments travel in another way.
  std::uint64_t haul_bytes() {
    constexpr std::array<std::uint64_t, 4> limits{400, 9'000, 24'000, 80'000};
    const std::uint64_t limit = limits[std::min<std::uint64_t>(haul_random_.below(6), limits.size() - 1)];
    const std::uint64_t bytes = 1 + haul_random_.below(limit);
    return haul_random_.chance(1, 24) ? 0 : bytes;
  }

  void draw_haul(std::uint64_t number, nanoseconds at, std::uint64_t from, std::uint64_t to) {
    number += first_haul;
    const std::uint64_t bytes = haul_bytes();
    const std::uint64_t work = haul_random_.chance(1, 2) ? 0 : std::uint64_t{1} << haul_random_.below(15);
    const std::uint64_t time = haul_random_.chance(1, 4) ? std::uint64_t{100} << haul_random_.below(13) : 0;
    std::uint64_t behaviour = 0;
    for (std::uint64_t bit = 1; bit <= 32; bit *= 2) {
      if (haul_random_.chance(1, 10)) behaviour |= bit;
    }
    const std::uint64_t shape = haul_random_.next();
    add(at, event_kind::haul, {number, from, to, bytes, work, time, behaviour, shape});
    const std::uint64_t later = std::uint64_t{1} << haul_random_.below(17);
    if (disturbs_hauls_ && haul_random_.chance(1, 3)) draw_disturbance(at + microseconds(work), from, to);
    if (!haul_random_.chance(1, 6)) return;
    add(at + microseconds(later), event_kind::call_stop, {number});
  }

  /// Draws a fault that hits the middle of a haul if its time is lucky: either bytes are altered, or the haul
  /// has to continue on another connection.
  void draw_disturbance(nanoseconds at, std::uint64_t from, std::uint64_t to) {
    if (haul_random_.chance(1, 2)) std::swap(from, to);
    const nanoseconds soon = microseconds(std::uint64_t{1} << haul_random_.below(13));
    const std::uint64_t frames = 1 + haul_random_.below(12);
    if (haul_random_.chance(1, 3)) return add(at + soon, event_kind::corrupt, {from, to, 1});
    add(at, event_kind::cut_after, {from, to, frames});
  }

  struct drawn_group {
    std::uint64_t number;
    nanoseconds at;
    std::uint64_t members;
  };
  const drawn_group& group_before(nanoseconds at) {
    std::size_t usable = 0;
    while (usable < groups_.size() && groups_[usable].at + milliseconds(15) <= at) ++usable;
    // Only the latest two thirds are used, because older groups have lost more members.
    const std::uint64_t back = random_.below(std::max<std::size_t>(1, usable * 2 / 3));
    return groups_[usable == 0 ? 0 : usable - 1 - back];
  }

  void draw_faults() {
    const bool swarm = options_.faults == fault_profile::swarm;
    std::vector<event_kind> mix;
    for (const kind_description& k : kinds) {
      if (!k.fault || k.kind == event_kind::verdict) continue;  // verdicts follow from crashes
      const bool mild =
          k.kind == event_kind::cut || k.kind == event_kind::slow || k.kind == event_kind::stall;
      const bool drawn = random_.chance(1, 2);
      if (swarm ? drawn : mild) mix.push_back(k.kind);
    }
    if (mix.empty()) mix.push_back(event_kind::cut);
    const std::uint64_t count = swarm ? between(8, 40) : between(3, 8);
    crashes_left_ = options_.hosts / 3;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t which = random_.below(mix.size());
      const nanoseconds at = moment(milliseconds(10), horizon_);
      draw_fault(mix[which], at, swarm);
    }
    if (swarm && random_.chance(1, 3)) draw_late_greeting();
  }

  /// A host's greeting is under way for so long that its next life is heard first.
  void draw_late_greeting() {
    if (crashes_left_ == 0) return;
    --crashes_left_;
    const nanoseconds at = moment(milliseconds(10), horizon_);
    const std::uint64_t from = host();
    const std::uint64_t to = other_than(from);
    const std::uint64_t extra_us = between(100'000, 400'000);
    const std::uint64_t both = std::uint64_t{1} << from | std::uint64_t{1} << to;
    add(at, event_kind::slow, {from, to, extra_us, 30'000});
    add(at, event_kind::cut, {from, to});
    add(at + milliseconds(5), event_kind::group, {first_late, from, flat::kind, 0, both, 0});
    add(at + milliseconds(35), event_kind::crash, {from, 0});
    add(at + milliseconds(36), event_kind::boot, {from});
    add(at + milliseconds(50), event_kind::group, {first_late + 1, from, flat::kind, 0, both, 0});
  }

  bool mixed() const noexcept { return options_.work == workload::mixed; }
  std::uint64_t duration_us(bool swarm) { return swarm ? magnitude(100, 3'000'000) : magnitude(100, 20'000); }

  void draw_fault(event_kind kind, nanoseconds at, bool swarm) {
    const std::uint64_t a = host();
    const std::uint64_t b = other_than(a);
    const std::uint64_t length = duration_us(swarm);
    const std::uint64_t amount = random_.next();
    switch (kind) {
      case event_kind::partition: return add(at, kind, {amount & everybody(), length});
      case event_kind::slow: return add(at, kind, {a, b, 10 + amount % (swarm ? 500'000 : 5'000), length});
      case event_kind::narrow: return add(at, kind, {a, b, 10 + amount % 1'000, length});
      case event_kind::corrupt: return add(at, kind, {a, b, 1 + amount % 3});
      case event_kind::cut_after: return add(at, kind, {a, b, 1 + amount % 12});
      case event_kind::storm: return add(at, kind, {a});
      case event_kind::stall:
        // Some stalls are long: 0.1 to 30 s.
        return add(at, kind, {a, swarm && amount % 8 == 0 ? 100'000 + amount / 8 % 29'900'000 : length});
      case event_kind::crash: return draw_crash(at, a, amount % 2, amount / 2 % 4 == 0 ? 0 : length);
      default: return add(at, kind, {a, b, length});
    }
  }

  void draw_crash(nanoseconds at, std::uint64_t victim, std::uint64_t silent, std::uint64_t down_us) {
    if (crashes_left_ == 0) return add(at, event_kind::stall, {victim, down_us + 1'000});
    --crashes_left_;
    add(at, event_kind::crash, {victim, silent});
    const bool returns = random_.chance(4, 5);
    if (returns) add(at + microseconds(down_us), event_kind::boot, {victim});
  }

  /// Some broadcasts address only some of the members.
  void draw_subsets() {
    const std::size_t before = plan_.events.size();
    for (std::size_t i = 0; i < before; ++i) {
      const plan_event e = plan_.events[i];
      if (e.kind != event_kind::bcast || !liveness_random_.chance(1, 8)) continue;
      const std::uint64_t some = liveness_random_.next();
      // These events come before all broadcasts, because events of one moment keep their order.
      add(nanoseconds(0), event_kind::subset, {e.operands[0], some & everybody()});
    }
  }

  /// In half of all runs the other nodes hear of most crashes and returns, soon or late; sometimes they hear
  /// of deaths that did not happen.
  void draw_liveness() {
    if (liveness_random_.chance(1, 2)) return;
    const std::size_t before = plan_.events.size();
    for (std::size_t i = 0; i < before; ++i) {
      const plan_event e = plan_.events[i];
      if (e.kind == event_kind::crash) draw_news(e.at, e.operands[0], news::dead, 3'000'000);
      if (e.kind == event_kind::boot) draw_news(e.at, e.operands[0], news::alive, 500'000);
    }
    if (!liveness_random_.chance(1, 4)) return;
    const std::uint64_t wrong = liveness_random_.below(3) + 1;
    for (std::uint64_t i = 0; i < wrong; ++i) {
      const std::uint64_t who = liveness_random_.below(options_.hosts);
      const std::uint64_t about = liveness_random_.below(options_.hosts);
      const nanoseconds at = nanoseconds(
          static_cast<std::int64_t>(liveness_random_.below(static_cast<std::uint64_t>(horizon_.count()))));
      const std::uint64_t corrected_us = liveness_random_.below(1'000'000);
      tell(at, who, about, news::falsely_dead);
      tell(at + microseconds(corrected_us), who, about, news::alive);
    }
  }

  void draw_news(nanoseconds at, std::uint64_t about, news what, std::uint64_t latest_us) {
    for (std::uint64_t who = 0; who < options_.hosts; ++who) {
      const std::uint64_t later = liveness_random_.below(latest_us);
      if (!liveness_random_.chance(1, 8)) tell(at + microseconds(later), who, about, what);
    }
  }
  void tell(nanoseconds at, std::uint64_t who, std::uint64_t about, news what) {
    if (who != about) add(at, event_kind::verdict, {who, about, static_cast<std::uint64_t>(what)});
  }

  static constexpr std::uint64_t first_haul = 100'000;  // numbers of the calls that carry descriptors
  static constexpr std::uint64_t first_late = 1'000;    // numbers of the groups of late greetings

  plan_options options_;
  random_generator random_;
  random_generator liveness_random_;  // separate, so that it does not change the other draws
  random_generator haul_random_;      // for the same reason
  bool disturbs_hauls_ = false;       // true while it draws faults for hauls
  bool quiet_ = false;
  plan plan_;
  nanoseconds horizon_{0};
  std::vector<drawn_group> groups_;
  std::vector<nanoseconds> broadcasts_at_;  // by number
  std::uint64_t crashes_left_ = 0;
};

}  // namespace

std::optional<fault_profile> fault_profile_named(std::string_view name) {
  for (const fault_profile p : {fault_profile::none, fault_profile::light, fault_profile::swarm}) {
    if (to_string(p) == name) return p;
  }
  return std::nullopt;
}
std::optional<workload> workload_named(std::string_view name) {
  for (const workload w : {workload::mixed, workload::plain, workload::ship, workload::gossip}) {
    if (to_string(w) == name) return w;
  }
  return std::nullopt;
}
std::string_view to_string(fault_profile profile) {
  switch (profile) {
    case fault_profile::none: return "none";
    case fault_profile::light: return "light";
    case fault_profile::swarm: return "swarm";
  }
  return "?";
}
std::string_view to_string(workload work) {
  switch (work) {
    case workload::mixed: return "mixed";
    case workload::plain: return "plain";
    case workload::ship: return "ship";
    case workload::gossip: return "gossip";
  }
  return "?";
}

bool is_fault(event_kind kind) noexcept {
  return describe(kind).fault;
}
std::size_t operand_count(event_kind kind) noexcept {
  return describe(kind).operands;
}
std::string_view to_string(event_kind kind) noexcept {
  return describe(kind).name;
}

plan draw_plan(const plan_options& options) {
  if (options.work == workload::gossip)
    return {options.seed, options.hosts, {}, options.work, options.faults};
  return drawing(options).draw();
}

std::string to_text(const plan& p) {
  std::ostringstream out;
  out << "seed " << p.seed << "\nhosts " << p.hosts << "\n";
  for (const plan_event& e : p.events) {
    out << e.at.count() << ' ' << to_string(e.kind);
    for (std::size_t i = 0; i < operand_count(e.kind); ++i) out << ' ' << e.operands[i];
    out << '\n';
  }
  return out.str();
}

plan from_text(std::string_view text) {
  plan p;
  std::istringstream in{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto refuse = [&] {
      throw std::runtime_error("line " + std::to_string(number) + " is no event: " + line);
    };
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    if (line.starts_with("seed ") || line.starts_with("hosts ")) {
      std::string what;
      words >> what;
      if (what == "seed") words >> p.seed;
      if (what == "hosts") words >> p.hosts;
      if (!words || p.hosts < 2 || p.hosts > 64) refuse();
      continue;
    }
    std::int64_t at = 0;
    std::string name;
    words >> at >> name;
    const auto found =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.name == name; });
    if (!words || at < 0 || found == kinds.end()) refuse();
    plan_event e{nanoseconds(at), found->kind, {}};
    for (std::size_t i = 0; i < found->operands; ++i) words >> e.operands[i];
    if (!words) refuse();
    p.events.push_back(e);
  }
  return p;
}

}  // namespace scoll::sim
