#include "tools/scoll-sim/gossip/gossip_swarm.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "gossip/participant.hpp"
#include "gossip/threshold.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/scope.hpp"
#include "transport/sim/sim_datagram.hpp"

namespace scoll::sim {
namespace {

using namespace gossip;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr nanoseconds interval = least_interval;
constexpr nanoseconds step = milliseconds(50);
constexpr nanoseconds starting = seconds(1);
constexpr nanoseconds faults_begin = seconds(12);
constexpr nanoseconds faults_end = seconds(45);
constexpr nanoseconds calm = seconds(8);
constexpr nanoseconds forever = seconds(1'000'000);
constexpr std::size_t followed = 3;          // participants whose clock all others move to
constexpr double longest_stall = 16;         // cycles
constexpr double following_pace = 12;        // cycles in which a cycle is caught up with, clocks 1 % off
constexpr std::uint32_t stealth_beyond = 3;  // cycles more than the threshold
constexpr double slowest = 1.02;             // for clocks up to 1 % slow that tick up to 1 % late
constexpr std::size_t isolated_turns = 100'000;
constexpr std::uint32_t least_for_odd = 5;    // without the odd one, most are still there
constexpr std::uint32_t least_for_fast = 12;  // with few live participants, all are followed

nanoseconds cycles(double count) {
  return nanoseconds(static_cast<std::int64_t>(count * static_cast<double>(interval.count())));
}

/// Says which faults a seed has. Under gentle faults no false verdict is forgiven.
struct weather {
  bool gentle = true;
  std::uint32_t loss_ppm = 0, duplicate_ppm = 0, reorder_ppm = 0, corrupt_ppm = 0, late_ppm = 0;
  bool crashes = false, quick = false, stalls = false, isolation = false, partitions = false;
  bool skewed = false, fast = false, odd_one = false;
};

class swarm;

/// One life of a host.
struct life_of final : event_listener {
  life_of(swarm& s, std::uint32_t host, std::uint64_t incarnation, nanoseconds now);

  void on_liveness(const liveness_event& e) noexcept override;

  swarm& owner;
  std::uint32_t host;
  std::uint64_t incarnation;
  nanoseconds born;
  nanoseconds died = forever;
  nanoseconds stalled_until{0};  // the latest time at which it stood still
  testing::sim_executor home;
  testing::sim_datagram_port port;
  participant member;
  stop_source stop;
  scope work;
  std::optional<status> ended;
  std::uint64_t epoch = 0;
  struct view {
    liveness state = liveness::unknown;
    std::uint64_t incarnation = 0;
    std::uint64_t told_dead = 0;  // the life of the latest verdict
  };
  std::vector<view> views;
};

class swarm {
 public:
  swarm(const plan& p, testing::sim_world::observer observer)
      : hosts_(p.hosts),
        faults_(p.faults),
        random_(p.seed * 0x9e3779b97f4a7c15 + 77),
        world_(p.seed, p.hosts),
        network_(world_, 4096),
        datagrams_(network_),
        lives_(p.hosts, nullptr),
        isolated_until_(p.hosts, nanoseconds(0)) {
    world_.observe(observer);
    draw_weather();
    std::vector<std::string> names;
    names.reserve(hosts_);
    for (std::uint32_t i = 0; i < hosts_; ++i) names.push_back(testing::sim_network::address_of(i));
    shared_ = configuration::make(names, interval).value();
    other_ = configuration::make(names, interval + milliseconds(50)).value();
    threshold_input in;
    in.participants = hosts_;
    threshold_ = threshold_cycles(in);
    testing::sim_path& way = network_.common_path();
    way.model.latency = milliseconds(1) + nanoseconds(draw(3'000'000));
    way.model.jitter = milliseconds(1);
  }
  ~swarm() {
    for (life_of& l : all_) {
      if (l.home.attached()) end(l);
    }
  }

  run_report run() {
    for (std::uint32_t i = 0; i < hosts_; ++i) schedule_boot(i, nanoseconds(draw(starting.count())));
    run_until(faults_begin);
    if (calm_so_far()) check_everybody("everybody is alive after a cold start");
    break_things();
    run_until(faults_end);
    if (calm_so_far()) settle();
    for (life_of& l : all_) count(l);
    report_.trace_hash = world_.trace_hash();
    report_.events = world_.events();
    report_.lives = all_.size();
    if (world_.livelocked() != hosts_) violated("no livelock", "a host ran without end");
    return std::move(report_);
  }

 private:
  friend struct life_of;

  bool calm_so_far() const { return report_.found.empty(); }

  void settle() {
    heal();
    const nanoseconds healed = world_.now();
    // Thresholds that rose because of loss come down one step at a time.
    const double bound = highest_threshold_heard() + (threshold_ + stealth_beyond) +
                         2 * std::bit_width(hosts_ - 1) + catching_up();
    run_until(healed + cycles(bound * slowest));
    if (calm_so_far()) check_everybody("every living pair is alive again in time");
    settled_ = true;
    run_until(world_.now() + calm);
    last_death();
  }

  /// Returns the cycles that clocks need to come together. After a partition, all participants of one side
  /// may have restarted and lost the time. Participants that kept the time are then followed at once only if
  /// they are enough; otherwise the clocks catch up a tenth faster than they run.
  double catching_up() const {
    std::vector<std::uint64_t> clocks;
    for (const life_of* l : lives_) {
      if (l != nullptr && !odd(l->host) && l->member.stage() == participation::active)
        clocks.push_back(l->member.clock());
    }
    std::sort(clocks.begin(), clocks.end(), std::greater<>());
    if (!weather_.partitions || clocks.size() < 2) return 0;
    const auto behind = static_cast<double>(clocks.front() - clocks[std::min(followed, clocks.size() - 1)]);
    return behind > longest_stall ? behind * following_pace : 0;
  }

  // ---- the seed's weather

  std::int64_t draw(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  bool one_in(std::uint64_t n) { return random_.chance(1, n); }

  void draw_weather() {
    weather& w = weather_;
    if (faults_ == fault_profile::none) return;
    w.gentle = faults_ == fault_profile::light || one_in(2);
    const std::uint32_t most_loss = w.gentle ? 50'000 : 200'000;
    if (!one_in(4)) w.loss_ppm = static_cast<std::uint32_t>(draw(most_loss));
    if (one_in(2)) w.duplicate_ppm = 50'000;
    if (one_in(2)) w.reorder_ppm = 100'000;
    if (one_in(2)) w.corrupt_ppm = w.gentle ? 5'000 : 30'000;
    if (one_in(2)) w.late_ppm = 20'000;
    w.crashes = !one_in(4);
    w.quick = one_in(2);
    w.stalls = one_in(2);
    w.isolation = one_in(2);
    w.partitions = !w.gentle && one_in(2);
    w.skewed = !one_in(3);
    w.fast = one_in(4) && hosts_ >= least_for_fast && !w.partitions;
    w.odd_one = one_in(3) && hosts_ >= least_for_odd;
  }

  testing::sim_clock clock_for(std::uint32_t host) {
    testing::sim_clock c;
    if (weather_.skewed) c.drift_ppm = draw(20'001) - 10'000;
    if (weather_.fast && host == 0) c.drift_ppm = 500'000;
    return c;
  }

  bool odd(std::uint32_t host) const { return weather_.odd_one && host + 1 == hosts_; }

  // ---- lives

  struct occasion {
    nanoseconds at;
    std::uint32_t host;
    bool boot;
  };

  void schedule_boot(std::uint32_t host, nanoseconds at) { occasions_.push_back({at, host, true}); }
  void schedule_crash(std::uint32_t host, nanoseconds at) { occasions_.push_back({at, host, false}); }

  void boot(std::uint32_t host) {
    if (lives_[host] != nullptr) return;
    const auto incarnation = static_cast<std::uint64_t>(world_.now().count()) + 1;
    life_of& l = all_.emplace_back(*this, host, incarnation, world_.now());
    lives_[host] = &l;
    l.member.subscribe(l);
    l.home.enter([&] { l.work.spawn(take_part(l)); });
  }

  static task<void> take_part(life_of& l) {
    status s = co_await gossip::run(l.member, l.stop.token());
    l.ended.emplace(s);
  }

  void crash(std::uint32_t host) {
    if (lives_[host] == nullptr) return;
    life_of& l = *std::exchange(lives_[host], nullptr);
    l.died = world_.now();
    end(l);
    ++report_.faults;
  }

  /// Runs it to its end where no participant hears it.
  void end(life_of& l) {
    burying_ = true;
    l.port.crash();
    l.home.detach();
    l.stop.request_stop();
    const bool over = l.home.run_isolated([&] { return l.work.running() == 0; }, isolated_turns);
    if (!over || !l.work.try_join()) violated("every life ends", name(l));
    burying_ = false;
  }

  std::string name(const life_of& l) const { return fmt::format("host {} life {}", l.host, l.incarnation); }

  // ---- time

  void run_until(nanoseconds until) {
    while (world_.now() < until && report_.found.empty()) {
      carry_out();
      nanoseconds next = std::min(until, world_.now() + step);
      for (const occasion& o : occasions_)
        next = std::min(next, std::max(o.at, world_.now() + nanoseconds(1)));
      world_.run_until(next);
      look();
    }
  }

  void carry_out() {
    std::sort(occasions_.begin(), occasions_.end(), [](const occasion& a, const occasion& b) {
      return a.at != b.at ? a.at < b.at : a.host < b.host;
    });
    while (!occasions_.empty() && occasions_.front().at <= world_.now()) {
      const occasion o = occasions_.front();
      occasions_.erase(occasions_.begin());
      o.boot ? boot(o.host) : crash(o.host);
    }
  }

  // ---- faults

  void break_things() {
    const weather& w = weather_;
    testing::sim_path& way = network_.common_path();
    way.loss_ppm = w.loss_ppm;
    way.duplicate_ppm = w.duplicate_ppm;
    way.reorder_ppm = w.reorder_ppm;
    way.corrupt_ppm = w.corrupt_ppm;
    way.spike_ppm = w.late_ppm;
    way.spike = milliseconds(500 + draw(12'000));
    if (faults_ == fault_profile::none) return;
    const nanoseconds time = faults_end - faults_begin;
    for (nanoseconds at = faults_begin; at < faults_end; at += seconds(3)) {
      if (w.crashes && one_in(2)) draw_crash(at);
      if (w.stalls && one_in(2)) stalls_.push_back(at + nanoseconds(draw(time.count() / 10)));
    }
    if (w.isolation) isolate(1 + static_cast<std::uint32_t>(draw(hosts_ - 1)));
    if (w.partitions) partition();
  }

  /// Never more than a third at once.
  void draw_crash(nanoseconds at) {
    const auto host = static_cast<std::uint32_t>(draw(hosts_));
    const nanoseconds down = w_quick() ? nanoseconds(draw(150'000'000)) : seconds(6) + seconds(draw(5));
    if (busy_until_.size() < hosts_) busy_until_.resize(hosts_);
    if (busy_until_[host] > at || odd(host)) return;
    busy_until_[host] = at + down + cycles(2.5 * threshold_);
    schedule_crash(host, at);
    schedule_boot(host, at + down);
  }
  bool w_quick() { return weather_.quick && one_in(2); }

  void stall_somebody() {
    const auto host = static_cast<std::uint32_t>(draw(hosts_));
    if (lives_[host] == nullptr || odd(host) || lives_[host]->stalled_until + seconds(3) > world_.now())
      return;
    const std::int64_t longest = weather_.gentle ? 900 : 3000;
    const nanoseconds until = world_.now() + milliseconds(100 + draw(longest));
    lives_[host]->home.stall_until(until);
    lives_[host]->stalled_until = until;
    ++report_.faults;
  }

  void block(std::uint32_t a, std::uint32_t b, nanoseconds until) {
    for (testing::sim_path* way : {&network_.path(a, b), &network_.path(b, a)})
      way->blocked_until = std::max(way->blocked_until, until);
  }

  void isolate(std::uint32_t host) {
    const nanoseconds until = world_.now() + seconds(5) + seconds(draw(10));
    for (std::uint32_t i = 0; i < hosts_; ++i) {
      if (i != host) block(i, host, until);
    }
    isolated_until_[host] = until;
    ++report_.faults;
  }

  void partition() {
    const nanoseconds until = world_.now() + seconds(5) + seconds(draw(15));
    const auto side = random_.next();
    for (std::uint32_t i = 0; i < hosts_; ++i) {
      for (std::uint32_t j = 0; j < i; ++j) {
        if ((side >> (i % 64) & 1) != (side >> (j % 64) & 1)) block(i, j, until);
      }
    }
    ++report_.faults;
  }

  void heal() {
    occasions_.clear();
    stalls_.clear();
    for (std::uint32_t i = 0; i < hosts_; ++i) {
      if (lives_[i] == nullptr) boot(i);
    }
    network_.heal();
    testing::sim_path& way = network_.common_path();
    const auto model = way.model;
    way = {};
    way.model = model;
    for (std::uint32_t i = 0; i < hosts_; ++i) {
      for (std::uint32_t j = 0; j < hosts_; ++j) {
        if (i != j) network_.path(i, j) = way;
      }
    }
  }

  // ---- what must hold at any time

  void violated(std::string property, std::string what) {
    if (report_.found.size() < 20)
      report_.found.push_back(
          {std::move(property), fmt::format("{} ms: {}", world_.now().count() / 1'000'000, std::move(what))});
  }

  void look() {
    for (auto at = stalls_.begin(); at != stalls_.end();) {
      if (*at > world_.now()) {
        ++at;
        continue;
      }
      at = stalls_.erase(at);
      stall_somebody();
    }
    for (life_of* l : lives_) {
      if (l != nullptr) look_at(*l);
    }
  }

  void look_at(life_of& l) {
    highest_threshold_ = std::max(highest_threshold_, l.member.threshold());
    check_end(l);
    check_stealth(l);
    check_clock(l);
    check_reach(l);
  }

  void check_end(life_of& l) {
    if (!l.ended || odd(l.host)) return;
    violated("nobody stops by itself",
             fmt::format("{}: {}", name(l), *l.ended ? "stopped" : describe(l.ended->error())));
  }

  /// A participant that restarts quickly sends nothing while others may still hold its earlier life to be
  /// alive. A participant that was cut off has not heard that either, and may send.
  void check_stealth(const life_of& l) {
    if (l.member.counts().messages_sent == 0 || weather_.partitions || isolated_until_[l.host] > faults_begin)
      return;
    const auto cut_off = [&](nanoseconds until) {
      return until > faults_begin && world_.now() < until + cycles(threshold_);
    };
    if (std::any_of(isolated_until_.begin(), isolated_until_.end(), cut_off)) return;
    const nanoseconds awake = l.member.stage() == participation::active ? world_.now() - l.born : forever;
    if (l.member.counts().cycles > threshold_ / 2 || awake == forever) return;
    const life_of* before = nullptr;
    for (const life_of& other : all_) {
      if (other.host == l.host && other.born < l.born) before = &other;
    }
    if (before == nullptr) {
      if (l.born < seconds(2)) violated("a start is silent", name(l));
      return;
    }
    if (before->stalled_until >= before->died) return;  // it was silent before it died
    if (!time_is_kept(before->died)) return;            // nor does any participant know for how long
    const double early = weather_.fast ? 0.5 : 0.8;     // of a threshold, for the fastest of others
    if (l.born - before->died < cycles(threshold_ * 0.5) &&
        world_.now() - before->died < cycles(threshold_ * early))
      violated("a start is silent", name(l));
  }

  /// The cycles are those of the cluster: a participant that is too fast drives no other.
  void check_clock(const life_of& l) {
    if (weather_.fast && l.host == 0) return;
    const double passed = static_cast<double>(world_.now().count()) / static_cast<double>(interval.count());
    if (static_cast<double>(l.member.clock()) > passed * 1.13 + 10)
      violated("the cluster clock keeps its pace",
               fmt::format("{}: {} after {:.0f} intervals", name(l), l.member.clock(), passed));
  }

  /// Messages that were under way when a participant died do not make it reachable.
  void check_reach(const life_of& l) {
    for (std::uint32_t i = 0; i < hosts_; ++i) {
      const life_of* gone = latest(i);
      if (gone == nullptr || gone->died == forever) continue;
      const nanoseconds since = world_.now() - gone->died;
      const double bound = highest_threshold_ + 6.0;
      if (since < cycles(2 * bound) || l.born >= gone->died || l.stalled_until > gone->died) continue;
      const verdict v = l.member.explain(i);
      if (v.last_tried == verdict::never || v.reach == reachability::unreachable) continue;
      const double tried_ago = static_cast<double>(l.member.clock() - v.last_tried);
      const double dead_for = static_cast<double>(since.count()) / static_cast<double>(interval.count());
      if (tried_ago * 1.2 + bound < dead_for)
        violated("the dead are not reached",
                 fmt::format("{} reaches host {}, dead for {:.0f} cycles", name(l), i, dead_for));
    }
  }

  const life_of* latest(std::uint32_t host) const {
    const life_of* found = nullptr;
    for (const life_of& l : all_) {
      if (l.host == host) found = &l;
    }
    return found;
  }

  const life_of* find(std::uint32_t host, std::uint64_t incarnation) const {
    for (const life_of& l : all_) {
      if (l.host == host && l.incarnation == incarnation) return &l;
    }
    return nullptr;
  }

  // ---- what must hold of changes

  void on_change(life_of& l, const liveness_event& e) {
    if (burying_) return;
    ++report_.broadcasts;
    highest_threshold_ = std::max(highest_threshold_, l.member.threshold());
    const std::string what =
        fmt::format("{} of host {} life {} by {}", to_string(e.kind), e.who, e.incarnation, name(l));
    if (e.epoch != ++l.epoch) violated("changes come in order", what);
    life_of::view& v = l.views[e.who];
    if (e.incarnation < v.incarnation) violated("lives go forward", what);
    if (e.who == l.host) violated("nobody judges himself", what);
    check_order(v, e, what);
    const life_of* whom = find(e.who, e.incarnation);
    if (whom == nullptr) return violated("only lives that were are told of", what);
    if (odd(e.who)) return violated("who disagrees is nobody's peer", what);
    if (e.kind == gossip::event_kind::dead) {
      check_verdict(l, *whom, what);
      v.told_dead = e.incarnation;
    } else {
      const nanoseconds bound = cycles((highest_threshold_ + 3) * 1.15 + 1);
      // The life after it may be heard before the event about it.
      const nanoseconds died = latest(e.who)->died;
      if (died != forever && world_.now() > died + bound && time_is_kept(died))
        violated("the dead stay dead",
                 fmt::format("{}, which died {} ms before; clock {}", what,
                             (world_.now() - died).count() / 1'000'000, l.member.clock()));
    }
    v.state = e.kind == gossip::event_kind::dead ? liveness::dead : liveness::alive;
    v.incarnation = e.incarnation;
  }

  /// True if some participant has taken part ever since, and neither stood still nor was cut off. Otherwise
  /// the cluster clock has stood still as well, or begun anew, and a late message may know more than all live
  /// participants.
  bool time_is_kept(nanoseconds since) const {
    return std::any_of(lives_.begin(), lives_.end(), [&](const life_of* l) {
      return l != nullptr && l->member.stage() == participation::active && !odd(l->host) &&
             l->born + cycles(threshold_ + stealth_beyond) <= since && l->stalled_until <= since &&
             isolated_until_[l->host] <= since;
    });
  }

  void check_order(const life_of::view& v, const liveness_event& e, const std::string& what) {
    const bool same = v.incarnation == e.incarnation, first = v.incarnation == 0;
    if (e.kind == gossip::event_kind::rebooted && (first || same))
      violated("a new life is told as rebooted", what);
    if (e.kind == gossip::event_kind::alive && !first && (!same || v.state == liveness::alive))
      violated("a new life is told as rebooted", what);
    if (e.kind == gossip::event_kind::dead && !first && v.state == liveness::dead && same)
      violated("changes are changes", what);
  }

  void check_verdict(const life_of& by, const life_of& whom, const std::string& what) {
    if (isolated_until_[by.host] > world_.now() && world_.now() > faults_begin)
      return violated("who hears nobody judges nobody", what);
    if (whom.died != forever) return;           // it is dead, at least that life
    if (weather_.fast && by.host == 0) return;  // its cycles are shorter than those of the one it judges
    const bool cut_off = isolated_until_[whom.host] != nanoseconds(0) &&
                         world_.now() < isolated_until_[whom.host] + cycles(2 * threshold_);
    const bool forgiven = weather_.gentle || world_.now() < faults_begin || settled_;
    if (forgiven && !cut_off) violated("no false verdict in calm", what);
  }

  // ---- what must hold when all is calm

  std::uint32_t highest_threshold_heard() const { return highest_threshold_; }

  void check_everybody(const char* property) {
    for (const life_of* by : lives_) {
      if (by == nullptr || odd(by->host)) continue;
      for (const life_of* of : lives_) {
        if (of == nullptr || of == by || odd(of->host)) continue;
        if (by->member.state(of->host) != liveness::alive ||
            by->member.incarnation(of->host) != of->incarnation)
          violated(property, fmt::format("{} does not hold {} alive", name(*by), name(*of)));
        const auto& v = by->views[of->host];
        if (v.incarnation != of->incarnation)
          violated("reboots are noticed", fmt::format("of {} by {}", name(*of), name(*by)));
      }
    }
    if (weather_.odd_one) check_odd_one();
  }

  /// The participant has been told by name, and has stopped.
  void check_odd_one() {
    const life_of& l = *lives_[hosts_ - 1];
    if (!l.ended || *l.ended || l.ended->error().code() != errc::wrong_cluster)
      violated("who disagrees stops", name(l));
  }

  void last_death() {
    if (!report_.found.empty() || hosts_ < 3) return;  // of two, neither knows which is at fault
    const auto whom = 1 + static_cast<std::uint32_t>(draw(hosts_ - 2));
    crash(whom);
    std::uint32_t highest = 0;
    for (const life_of* l : lives_) {
      if (l != nullptr) highest = std::max(highest, l->member.threshold());
    }
    run_until(world_.now() + cycles((highest + 4) * (weather_.skewed ? slowest : 1)));
    for (const life_of* by : lives_) {
      if (by == nullptr || odd(by->host)) continue;
      if (by->member.state(whom) != liveness::dead)
        violated("a death is noticed by all in time", fmt::format("of host {} by {}", whom, name(*by)));
    }
  }

  void count(const life_of& l) { report_.bytes += l.member.counts().bytes_sent; }

  std::uint32_t hosts_;
  fault_profile faults_;
  random_generator random_;
  testing::sim_world world_;
  testing::sim_network network_;
  testing::sim_datagrams datagrams_;
  configuration_ptr shared_, other_;
  std::uint32_t threshold_ = 0;
  std::uint32_t highest_threshold_ = 0;
  weather weather_;
  std::deque<life_of> all_;
  std::vector<life_of*> lives_;  // by host
  std::vector<nanoseconds> isolated_until_;
  std::vector<nanoseconds> busy_until_;
  std::vector<nanoseconds> stalls_;
  std::vector<occasion> occasions_;
  bool settled_ = false;
  bool burying_ = false;
  run_report report_;
};

options options_for(swarm&, std::uint64_t seed, std::uint64_t incarnation) {
  options o;
  o.seed = seed;
  o.incarnation = incarnation;
  o.rtt = milliseconds(10);
  return o;
}

life_of::life_of(swarm& s, std::uint32_t h, std::uint64_t life, nanoseconds now)
    : owner(s),
      host(h),
      incarnation(life),
      born(now),
      home(s.world_, h, s.clock_for(h)),
      port(s.datagrams_, home),
      member(home, port, s.odd(h) ? s.other_ : s.shared_, testing::sim_network::address_of(h),
             options_for(s, s.random_.next() | 1, life)),
      work(home),
      views(s.hosts_) {}

void life_of::on_liveness(const liveness_event& e) noexcept {
  owner.on_change(*this, e);
}

}  // namespace
}  // namespace scoll::sim

namespace scoll::sim {

run_report run_gossip(const plan& p, testing::sim_world::observer observer) {
  return swarm(p, observer).run();
}

}  // namespace scoll::sim
