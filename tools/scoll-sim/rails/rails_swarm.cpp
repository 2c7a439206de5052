#include "tools/scoll-sim/rails/rails_swarm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/plan/draws.hpp"
#include "tools/scoll-sim/rails/rails_bounds.hpp"
#include "tools/scoll-sim/rails/rails_claimant.hpp"
#include "tools/scoll-sim/rails/rails_faults.hpp"
#include "tools/scoll-sim/rails/rails_guards.hpp"
#include "tools/scoll-sim/rails/rails_hints.hpp"
#include "tools/scoll-sim/rails/rails_host.hpp"
#include "tools/scoll-sim/rails/rails_sightings.hpp"
#include "tools/scoll-sim/rails/rails_transfers.hpp"
#include "tools/scoll-sim/rails/rails_verdicts.hpp"
#include "tools/scoll-sim/verbs/verbs_devices.hpp"

namespace scoll::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using transport::path_health;
using transport::traffic_class;

constexpr nanoseconds rails_step = milliseconds(5);
constexpr nanoseconds calm_before_end = seconds(25);
// The moves of one side of a session while a rail flaps for 24 s: each doubling of the proof allows two.
constexpr std::uint64_t most_moves = 14;
constexpr std::size_t most_under_way = 8;

/// One run: the calls go on while rails fail, and for a while after.
class rails_swarm {
 public:
  rails_swarm(const plan& p, testing::sim_world::observer observer)
      : plan_(draw_rails(p)),
        guards_(p.seed, plan_),
        world_(p.seed, guards_.all_hosts(), false),  // addresses are more than hosts
        network_(world_, 4096, guards_.all_hosts() * plan_.rails),
        random_(p.seed, "rails calls") {
    world_.observe(observer);
    network_.common_path().model.latency = microseconds(static_cast<std::int64_t>(random_.between(5, 500)));
    set_speeds(network_, plan_);
    for (std::uint32_t h = 0; h < plan_.hosts; ++h)
      hosts_.push_back(std::make_unique<rails_host>(world_, network_, particulars_of(h)));
    if (plan_.claimed) claimant_.emplace(world_, network_, plan_, guards_.made_for_claimant());
    guards_.begin(world_, network_);
    for (std::uint32_t h = 0; h < plan_.hosts; ++h)
      hosts_[h]->home.enter([&] { hosts_[h]->introduce(plan_.misled == h); });
    bulk_ = random_.chance(1, 2) && !plan_.transfers;
    if (plan_.transfers)
      transfers_ = std::make_unique<rails_transfers>(
          world_, hosts_, p.seed,
          [this](std::string_view property, std::string what) { violated(property, std::move(what)); });
  }

  run_report run() {
    auto next = plan_.faults.begin();
    while (world_.now() < plan_.faults_end && nothing_found()) {
      for (; next != plan_.faults.end() && next->at <= world_.now(); ++next) begin(*next);
      go_on();
    }
    if (nothing_found()) halves_agree();
    const nanoseconds end = world_.now() + calm_before_end;
    while (world_.now() < end && nothing_found()) go_on();
    if (nothing_found()) settle();
    return conclude();
  }

 private:
  bool nothing_found() const noexcept { return report_.found.empty(); }
  void violated(std::string_view property, std::string what) {
    if (report_.found.size() < 20)
      report_.found.push_back(
          {std::string(property), fmt::format("{} ms: {}", world_.now() / milliseconds(1), what)});
  }

  rails_host::particulars particulars_of(std::uint32_t host) {
    rails_host::particulars who{host, plan_.hosts, plan_.rails, plan_.transfers};
    who.security = guards_.made_for(host);
    who.visited = guards_.has_outsiders();
    who.devices = devices_.of(host);
    who.windows = plan_.windows;
    return who;
  }

  void begin(const rails_fault& f) {
    ++report_.faults;
    if (f.kind == rails_fault_kind::stall) return hosts_[f.host]->home.stall_until(f.until);
    carry_out(f, network_, plan_);
  }

  /// New calls, a step of time, and what must hold at any time.
  void go_on() {
    call();
    if (claimant_) claimant_->call();
    if (bulk_ && plan_.weather <= rails_weather::storm) burst();
    if (transfers_ != nullptr && calling_) transfers_->begin(is_near_fault(plan_, world_.now()));
    world_.run_until(world_.now() + rails_step);
    check_calls();
    if (claimant_) claimant_->check(hosts_, report_.found);
    if (transfers_ != nullptr) transfers_->check(bounds_.of_transfer());
    for (auto& h : hosts_) check_host(*h);
    hints_.pass(world_.now(), report_.found);
    devices_.pass(world_.now());
    devices_.check(report_.found);
    guards_.pass(world_.now());
    guards_.check(network_, hosts_, report_.found);
    verdicts_.check(world_.now(), report_.found);
    note_seen();
  }

  void call() {
    for (std::uint32_t from = 0; from < plan_.hosts; ++from) {
      if (plan_.calls_one_way && from != 0) continue;
      const auto to = static_cast<std::uint32_t>((from + random_.between(1, plan_.hosts - 1)) % plan_.hosts);
      const bool bulk = bulk_ && random_.chance(1, 3);
      const std::size_t bytes = random_.chance(1, 8) ? random_.below(30'000) : random_.below(300);
      const auto busy = std::ranges::count_if(
          calls_, [&](const rails_call& c) { return c.what.from == from && c.what.to == to && c.ends == 0; });
      if (static_cast<std::size_t>(busy) >= most_under_way) continue;
      made_.emplace_back(from, to);
      rails_call& one = calls_.emplace_back(
          world_,
          rails_call::request{++numbers_, from, to, bulk ? traffic_class::bulk : traffic_class::call});
      hosts_[from]->begin(one, bytes);
    }
  }

  /// Several large requests of class bulk at once, so that messages wait for links. One may be kept until its
  /// caller cancels it.
  void burst() {
    if (!random_.chance(1, world_.now() < plan_.faults_end ? 16 : 80)) return;
    const auto from = static_cast<std::uint32_t>(plan_.calls_one_way ? 0 : random_.below(plan_.hosts));
    const auto to = static_cast<std::uint32_t>((from + random_.between(1, plan_.hosts - 1)) % plan_.hosts);
    const auto under_way = std::ranges::count_if(calls_, [&](const rails_call& c) {
      return c.what.from == from && c.what.to == to && c.ends == 0 && c.what.klass == traffic_class::bulk;
    });
    if (static_cast<std::size_t>(under_way) >= most_under_way) return;
    for (std::uint64_t i = random_.between(4, 8); i-- != 0;) {
      made_.emplace_back(from, to);
      const bool kept = random_.chance(1, 10);
      rails_call& one =
          calls_.emplace_back(world_, rails_call::request{++numbers_, from, to, traffic_class::bulk, kept});
      hosts_[from]->begin(one, random_.between(8'200, 30'000));
    }
  }

  /// A request that is kept is cancelled when it has left.
  void cancel(rails_call& c) {
    if (!c.pending() || !c.transmitted()) return;
    hosts_[c.what.from]->home.enter([&] { c.cancel(); });
    c.ends = 1;
    c.ended = world_.now();
  }

  void check_calls() {
    for (rails_call& c : calls_) {
      if (c.what.kept && c.ends == 0) cancel(c);
    }
    while (!calls_.empty() && calls_.front().ends != 0) {
      check(calls_.front());
      calls_.pop_front();
    }
    for (const rails_call& c : calls_) {
      if (c.ends == 0 && world_.now() - c.began > bounds_.of_call(c)) return late(c);
    }
  }
  void late(const rails_call& c) {
    violated("a stall is bounded",
             fmt::format("call {} of class {} from host {} to host {} has waited for {} ms", c.what.number,
                         static_cast<int>(c.what.klass), c.what.from, c.what.to,
                         (world_.now() - c.began) / milliseconds(1)));
  }
  void check(const rails_call& c) {
    const auto seen = hosts_[c.what.to]->seen.find({c.what.from + 1, c.what.number});
    const int times = seen == hosts_[c.what.to]->seen.end() ? 0 : seen->second;
    if (c.outcome && bounds_.may_fail(c, world_.now())) return;
    if (c.what.kept && times <= 1 && !c.outcome) return;
    if (c.outcome || !c.intact)
      return violated(
          "nothing is lost while a rail lives",
          fmt::format("call {} of host {}: {}; {}", c.what.number, c.what.from, describe(c.outcome),
                      describe_paths(hosts_[c.what.from]->to(c.what.to), hosts_[0]->home.now())));
    if (c.ends != 1 || times != 1)
      violated("each once, over all links", fmt::format("call {} arrived {} times", c.what.number, times));
    if (c.ended - c.began > bounds_.of_call(c)) late(c);
  }

  void check_host(rails_host& h) {
    const transport::endpoint_statistics& count = h.wire->statistics();
    const std::uint64_t host = h.wire->options().self;
    for (const auto& [peer, why] : h.losses) {
      if (!bounds_.may_lose(static_cast<std::uint32_t>(host - 1), static_cast<std::uint32_t>(peer - 1),
                            world_.now()))
        return violated("a rail's death is not a node's",
                        fmt::format("node {} lost node {}: {}", host, peer, why));
    }
    const bool may_break =
        plan_.weather == rails_weather::altered &&
        (h.wire->last_violation() == errc::checksum_mismatch || h.wire->last_violation() == errc::malformed ||
         h.wire->last_violation() == errc::not_authentic);
    if (count.links_broken != 0 && !may_break)
      violated("the honest keep the protocol",
               fmt::format("node {}: {}", host, describe(h.wire->last_violation())));
    if (count.answers_missing != 0)
      violated("nobody waits for nothing", fmt::format("node {} waits for more than is worked at", host));
    // A link by RDMA that a host has left unanswered while it paused is told to be over.
    const bool still = (plan_.weather == rails_weather::pauses && plan_.by_rdma.empty()) ||
                       (plan_.faults.empty() && plan_.device_faults.empty());
    if (still && count.path_moves + count.path_suspicions + count.path_deaths + count.link_downs_sent != 0)
      violated("no work for nothing",
               fmt::format("node {}: {} moves, {} suspicions, {} deaths", host, count.path_moves,
                           count.path_suspicions, count.path_deaths));
    if (plan_.weather == rails_weather::calm && count.replays + count.duplicates != 0)
      violated("no work for nothing",
               fmt::format("node {}: {} replays, {} duplicates", host, count.replays, count.duplicates));
    if (plan_.weather == rails_weather::flapping && count.path_moves > most_moves * (plan_.hosts - 1) * 2)
      violated("nobody flaps", fmt::format("node {} moved {} times", host, count.path_moves));
    // Two are left to the other path, and the oldest one may be beyond that.
    if (count.stripe_most > h.wire->options().window[3] - 1)
      violated("within bounds", fmt::format("a path of node {} held {} segments", host, count.stripe_most));
    if (world_.livelocked() != world_.hosts()) violated("no livelock", "a host ran without end");
  }

  /// Whatever a host was asked is a call that the other one has made.
  void nothing_is_made_up() {
    for (std::uint32_t h = 0; h < plan_.hosts; ++h) {
      for (const auto& [asked, times] : hosts_[h]->seen) {
        const auto& [node, number] = asked;
        const bool made = number != 0 && number <= made_.size() &&
                          made_[number - 1] == std::pair(static_cast<std::uint32_t>(node - 1), h);
        if (!made)
          violated("nothing is made up", fmt::format("node {} asked host {} for {}", node, h, number));
      }
    }
  }

  // ---- what was seen to happen

  template <class Use>
  void each_path(Use&& use) {
    for (auto& h : hosts_) {
      h->wire->sessions([&](transport::session& s) {
        for (const transport::path& each : s.paths()) use(s, each);
      });
    }
  }

  void note_seen() {
    each_path([&](const transport::session& s, const transport::path& each) {
      report_.seen.saw(mark::rail_altered, each.why() == errc::checksum_mismatch);
      report_.seen.saw(mark::rail_record_altered, each.why() == errc::not_authentic);
      report_.seen.saw(mark::rail_flapped, each.deaths() + each.suspicions() >= 4);
      if (plan_.weather == rails_weather::returned || plan_.weather == rails_weather::switched ||
          plan_.weather == rails_weather::uneven)
        note_use(s, plan_, world_.now(), report_.seen);
    });
    if (plan_.misled) note_crossed(plan_, hosts_, report_.seen);
    if (claimant_) claimant_->note_seen(report_.seen);
    report_.seen.saw(mark::rail_hinted, hints_.any_heeded());
    report_.seen.saw(mark::rail_dead, verdicts_.any_died());
    report_.seen.saw(mark::rail_alive, verdicts_.any_came_back());
    const bool waits = std::ranges::any_of(calls_, [&](const rails_call& c) {
      return c.ends == 0 && world_.now() - c.began > rails_bounds::longest_in_gentle;
    });
    report_.seen.saw(mark::rail_opposite, plan_.weather == rails_weather::opposite && waits);
  }
  /// Every end of a connection that one side has told belongs to an end that the other side has made.
  void ends_are_told_once() {
    std::uint64_t obeyed = 0;
    std::uint64_t made = 0;
    for (auto& h : hosts_) {
      obeyed += h->wire->statistics().links_ended_as_told;
      made += h->wire->statistics().links_cut;
    }
    if (obeyed > made)
      violated("a told end is that of one link", fmt::format("{} ends were told, {} obeyed", made, obeyed));
  }

  /// Nothing is called any more. When what is under way has settled, both sides have the same connections.
  void halves_agree() {
    calling_ = false;
    for (int i = 0; i < 4000 && transfers_ != nullptr && !transfers_->idle() && nothing_found(); ++i) {
      world_.run_until(world_.now() + rails_step);
      transfers_->check(bounds_.of_transfer());
    }
    calling_ = true;
    world_.run_until(world_.now() + seconds(4));
    check_calls();
    for (std::uint32_t a = 0; a < plan_.hosts; ++a) {
      for (std::uint32_t b = a + 1; b < plan_.hosts; ++b) {
        // A host that names the rails of its peers wrongly names the connections that it has made after them.
        if (plan_.misled != a && plan_.misled != b) compare(a, b);
      }
    }
  }
  void compare(std::uint32_t a, std::uint32_t b) {
    for (std::uint8_t i = 0; i < plan_.rails; ++i) {
      for (std::uint8_t j = 0; j < plan_.rails; ++j) {
        const bool here = hosts_[a]->to(b).connected_by(traffic_class::call, {i, j});
        const bool there = hosts_[b]->to(a).connected_by(traffic_class::call, {j, i});
        if (here != there)
          violated("both halves agree", fmt::format("hosts {} and {}, rails {} and {}", a, b, i, j));
      }
    }
  }

  void settle() {
    if (claimant_) claimant_->check_at_end(report_.found);
    for (auto& h : hosts_) prefers_the_first(*h);
    calling_ = false;
    const nanoseconds end = world_.now() + seconds(12);
    while (world_.now() < end) world_.run_until(world_.now() + rails_step);
    check_calls();
    if (!calls_.empty()) late(calls_.front());
    if (transfers_ != nullptr) transfers_->close();
    devices_.check_at_rest(hosts_, report_.found);
    for (auto& h : hosts_) {
      if (h->kept() != 0)
        violated("every cancel is heard",
                 fmt::format("node {} keeps {} requests", h->wire->options().self, h->kept()));
    }
    ends_are_told_once();
    nothing_is_made_up();
    for (auto& h : hosts_) credit_is_conserved(*h);
  }

  /// A healed rail is used again.
  void prefers_the_first(rails_host& h) {
    // After altered bytes, connections may break so often that a rail is trusted again only a minute later.
    constexpr rails_weather all_heals[]{rails_weather::gentle,   rails_weather::uneven,
                                        rails_weather::switched, rails_weather::lonely,
                                        rails_weather::returned, rails_weather::devices};
    if (std::ranges::find(all_heals, plan_.weather) == std::end(all_heals)) return;
    h.wire->sessions([&](transport::session& s) {
      if (!s.connected(traffic_class::call)) return;
      if (plan_.weather == rails_weather::devices && proves_for_long(s, calm_before_end / 2)) return;
      const transport::path_key key = s.path_of(traffic_class::call);
      if (key != transport::path_key{})
        violated("a healed rail is used again",
                 fmt::format("node {} uses rail {} to node {}: {}", h.wire->options().self, key.own, s.peer(),
                             describe_paths(s, hosts_[0]->home.now())));
    });
  }

  void credit_is_conserved(rails_host& h) {
    if (h.wire->messages_in_use() != 0)
      violated("holds nothing",
               fmt::format("node {}: {} messages", h.wire->options().self, h.wire->messages_in_use()));
    h.wire->sessions([&](transport::session& s) {
      transport::session& other =
          hosts_[s.peer() - 1]->to(static_cast<std::uint32_t>(h.wire->options().self - 1));
      if (s.peer_epoch() == 0 || other.peer_epoch() == 0) return;
      for (const traffic_class klass : {traffic_class::call, traffic_class::bulk}) {
        const transport::credit_window& here = s.credits(klass);
        const transport::credit_window& there = other.credits(klass);
        if (here.sent() != there.received() || here.granted_to_us() != there.granted_by_us())
          violated("credit is conserved",
                   fmt::format("class {} of node {} to node {}: sent {}, received {}, granted {} and {}",
                               static_cast<int>(klass), h.wire->options().self, s.peer(), here.sent(),
                               there.received(), there.granted_by_us(), here.granted_to_us()));
      }
    });
  }

  void note_what_was_seen() {
    note_counts(hosts_, report_.seen);
    guards_.note_seen(report_.seen);
    devices_.note_seen(hosts_, report_.seen);
    report_.seen.saw(mark::memory_moved, transfers_ != nullptr && transfers_->done() != 0);
  }

  run_report conclude() {
    report_.trace_hash = world_.trace_hash();
    report_.events = world_.events();
    report_.bytes = network_.bytes_carried();
    report_.lives = plan_.hosts;
    note_what_was_seen();
    run_report result = std::move(report_);
    result.last_events = describe(plan_);
    if (!result.found.empty()) return result;
    guards_.end();
    if (claimant_) claimant_->end();
    for (auto& h : hosts_) h->home.enter([&] { h->wire.reset(); });
    world_.run_until(world_.now() + seconds(30));
    for (auto& h : hosts_) {
      if (h->open() != 0) {
        result.found.push_back({"every life ends", fmt::format("{} connections are left", h->open())});
        return result;
      }
    }
    devices_.check_at_end(result.found);
    if (!result.found.empty()) return result;
    if (claimant_ && claimant_->open() != 0) {
      result.found.push_back({"every life ends", "connections of the second server are left"});
      return result;
    }
    finished_ = true;
    return result;
  }

 public:
  /// Objects of a run that has failed are left as they are.
  bool finished() const noexcept { return finished_; }

 private:
  rails_plan plan_;
  rails_guards guards_;
  testing::sim_world world_;
  testing::sim_network network_;
  draws random_;
  rails_bounds bounds_{plan_};
  verbs_devices devices_{network_, plan_};
  bool bulk_ = false;
  bool calling_ = true;
  bool finished_ = false;
  std::uint64_t numbers_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> made_;  // who has called whom, by number
  std::deque<rails_call> calls_;
  std::vector<std::unique_ptr<rails_host>> hosts_;
  std::optional<rails_claimant> claimant_;
  rails_verdicts verdicts_{plan_, hosts_};
  rails_hints hints_{plan_, hosts_};
  std::unique_ptr<rails_transfers> transfers_;
  run_report report_;
};

}  // namespace

run_report run_rails(const plan& p, testing::sim_world::observer observer) {
  auto s = std::make_unique<rails_swarm>(p, observer);
  run_report report = s->run();
  if (!s->finished()) static_cast<void>(s.release());
  return report;
}

}  // namespace scoll::sim
