#include "scoll/collective/measure_links.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "scoll/collective/engine.hpp"
#include "scoll/collective/link_probe.hpp"
#include "scoll/collective/measure_bulk.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/node_access.hpp"

namespace scoll {
namespace {

using detail::link_probe;
using detail::probe_watch;

constexpr std::size_t met_at_once = 32;  // peers that are asked for their hosts at once
constexpr std::uint32_t alone = 4;       // peers of a class that are timed alone
constexpr std::size_t together = 64;     // the most peers that are timed together
// Broadcasts come in pairs: one is timed by the clock, the other by the processors.
constexpr std::uint32_t most_pairs = 400;
constexpr std::uint32_t least_pairs = 3;

/// The medians of a series of broadcasts, in ns.
struct series_medians {
  double took = 0;   // from start to end, with no other clock being read
  double total = 0;  // the part of that for which this node's processor worked
  double sent = 0;   // this node's processor time until all requests were handed over
  double first = 0;  // its processor time until the first reply was there
  double child = 0;  // the processor time of one child
  double apart = 0;  // the time from one reply to the next
  std::uint32_t samples = 0;
};

class series {
 public:
  std::vector<double> took, total, sent, first, child, apart;

  /// Drops the first quarter. By the time of the later ones, all memory has been touched.
  void forget_first() {
    for (std::vector<double>* each : {&took, &total, &sent, &first, &child, &apart})
      each->erase(each->begin(), each->begin() + static_cast<std::ptrdiff_t>(each->size() / 4));
  }
  series_medians medians() const {
    return {median(took),
            median(total),
            median(sent),
            median(first),
            median(child),
            median(apart),
            static_cast<std::uint32_t>(took.size())};
  }
  void append(const series& more) {
    const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    add(took, more.took);
    add(total, more.total);
    add(sent, more.sent);
    add(first, more.first);
    add(child, more.child);
    add(apart, more.apart);
  }

 private:
  static double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
};

double in_ns(nanoseconds d) {
  return static_cast<double>(d.count());
}
std::uint64_t rounded(double ns) {
  return ns <= 0 ? 0 : static_cast<std::uint64_t>(std::llround(ns));
}

/// Fits LogP parameters to broadcasts to one member and to `k` at once. A request usually wakes its receiver,
/// and most replies arrive while the root is awake. The difference in cost is the wake-up.
link_costs fit(const series_medians& one, const series_medians& many, std::uint32_t k, bool same_host) {
  link_costs costs;
  costs.latency = rounded((one.took - one.total - one.child) / 2);
  double send = one.total / 2;
  double both = one.total;
  if (k > 1) {
    both = (many.total - one.total) / (k - 1);
    if (both < 0) both = one.total / 2;  // noise: such a slope means nothing
    send = (many.sent - one.sent) / (k - 1);
    // Where handing over takes no time, as in the simulator, the cost of sends appears before the first
    // reply.
    if (send <= 0) send = (many.first - one.first) / (k - 1);
    if (send < 0 || send > both) send = both / 2;
  }
  const double merge = both - send;
  costs.send = rounded(send);
  costs.merge = rounded(merge);
  const double receive = (k > 1 ? many : one).child - send;
  costs.receive = rounded(receive);
  costs.wake = rounded(receive - merge);
  // Between processes of one host only processors can be busy.
  const double apart = many.apart;
  costs.gap = !same_host && k > 1 && apart > std::max(send, merge) * 9 / 8 ? rounded(apart) : costs.send;
  return costs;
}

/// The size of the filler that brings a probe's request to `request_bytes`.
std::size_t filler_bytes(std::size_t request_bytes) {
  constexpr std::size_t flag = 1, length = 4;
  return request_bytes - std::min(request_bytes, flag + length);
}

/// One measurement by a node that serves the probe.
class link_measurement {
 public:
  link_measurement(node& self, const link_probe& probe, std::vector<node_id> peers, measure_options options)
      : self_(self),
        probe_(probe),
        peers_(std::move(peers)),
        options_(std::move(options)),
        filler_(filler_bytes(options_.request_bytes)) {
    probe_.watch->measuring = true;
  }
  ~link_measurement() { probe_.watch->measuring = false; }
  link_measurement(const link_measurement&) = delete;
  link_measurement& operator=(const link_measurement&) = delete;

  task<result<measured_links>> run() {
    began_ = now();
    until_ = options_.deadline.from(began_);
    facts_.resize(peers_.size());
    const status met = co_await meet_all();
    if (!met) co_return met.error();
    place_members();
    timing_ends_ = now() + options_.budget;
    for (std::uint32_t i = 0; i < found_.map.classes.size(); ++i) {
      const nanoseconds share = (timing_ends_ - now()) / static_cast<int>(found_.map.classes.size() - i);
      const status timed = co_await time_class(i, now() + share);
      if (!timed) co_return timed.error();
    }
    found_.took = now() - began_;
    co_return std::move(found_);
  }

 private:
  time_point now() const { return detail::node_access::engine(self_).get_executor().now(); }
  nanoseconds processor_time() const {
    return detail::node_access::engine(self_).get_executor().processor_time();
  }

  group_options creation() const {
    group_options how;
    how.tree = flat{};
    how.deadline = until_;
    return how;
  }
  link_probe::request request(bool timed) const { return {timed, {filler_}}; }

  task<status> meet_all() {
    std::vector<error> why;
    for (std::size_t first = 0; first < peers_.size(); first += met_at_once) {
      const std::size_t last = std::min(first + met_at_once, peers_.size());
      std::vector<task<error>> asked;
      for (std::size_t i = first; i != last; ++i) asked.push_back(meet(i));
      const auto answers = co_await when_all(std::move(asked));
      why.insert(why.end(), answers.begin(), answers.end());
    }
    co_return everybody_answered(why);
  }

  task<error> meet(std::size_t peer) {
    std::vector<target> both(2);
    both[0].node = self_.id();
    both[1].node = peers_[peer];
    const auto created = co_await self_.create_group<link_probe>(both, creation());
    if (!created) co_return created.error();
    const link_probe::request asked = request(false);
    const auto answered = co_await ask(*created, asked);
    (co_await self_.destroy(*created)).ignore();
    if (!answered) co_return answered.error();
    facts_[peer] = {answered->host.value, answered->processors.value};
    co_return error();
  }

  task<result<link_probe::reply>> ask(group<link_probe> all, const link_probe::request& asked) {
    bcast_options how;
    how.deadline = until_;
    how.dead = dead_members::refuse;
    auto answered = co_await bcast(all, asked, how);
    if (!answered.ok()) co_return answered.status().error();
    co_return *answered;
  }

  /// Names the peers that have not answered, as many as fit an error.
  status everybody_answered(const std::vector<error>& why) const {
    std::string names;
    std::uint32_t silent = 0;
    for (std::size_t i = 0; i < why.size(); ++i) {
      if (!why[i]) continue;
      if (++silent <= 4) names += fmt::format("{}{}", silent == 1 ? "" : ", ", peers_[i]);
      if (silent == 5) names += " ...";
    }
    if (silent == 0) return {};
    const error& first = *std::ranges::find_if(why, [](const error& e) { return static_cast<bool>(e); });
    return make_error(first.code(), "node{} {} of {}: {}", silent == 1 ? "" : "s", names, peers_.size(),
                      first.text());
  }

  void place_members() {
    const host_facts here = probe_.facts;
    link_map& map = found_.map;
    std::map<std::uint64_t, std::uint32_t> hosts{{here.host, 0}};
    map.host_of = {0};
    map.processors = {here.processors};
    map.class_of = {0};
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      const auto [at, is_new] = hosts.emplace(facts_[i].host, static_cast<std::uint32_t>(hosts.size()));
      if (is_new) map.processors.push_back(facts_[i].processors);
      map.host_of.push_back(at->second);
      map.class_of.push_back(class_named(class_name(i)));
      if (at->second == 0) map.local = map.class_of.back();
      if (at->second != 0 && is_near(i)) map.near = map.class_of.back();
    }
    for (const member_place& each : options_.places) map.zone_of.push_back(each.zone);
  }
  /// True if the peer is known to be in this node's zone.
  bool is_near(std::size_t peer) const {
    if (options_.places.empty() || options_.places[0].zone == 0) return false;
    return options_.places[peer + 1].zone == options_.places[0].zone;
  }
  std::string class_name(std::size_t peer) const {
    const std::string& address = detail::node_access::engine(self_).wire().find(peers_[peer])->address();
    for (const link_class_rule& rule : options_.classes) {
      if (address.starts_with(rule.address_prefix)) return rule.name;
    }
    if (facts_[peer].host == probe_.facts.host) return "same host";
    return is_near(peer) ? "same zone" : "network";
  }
  std::uint32_t class_named(const std::string& name) {
    auto& classes = found_.map.classes;
    const auto at = std::ranges::find(classes, name, &link_class::name);
    if (at != classes.end()) return static_cast<std::uint32_t>(at - classes.begin());
    classes.push_back({name, {}});
    found_.by_class.emplace_back();
    return static_cast<std::uint32_t>(classes.size() - 1);
  }

  task<status> time_class(std::uint32_t index, time_point ends) {
    const std::vector<node_id> members = members_of(index);
    const std::vector<node_id> few = spread(members, alone);
    const bool same_host = is_of_this_host(index);
    if (options_.bulk) {
      const time_point bulk_ends = now() + (ends - now()) / 4;
      found_.map.classes[index].bulk = co_await time_bulk(few.front(), same_host, bulk_ends);
    }
    series one;
    for (std::size_t i = 0; i < few.size(); ++i) {
      const nanoseconds share = (ends - now()) / static_cast<int>(2 * few.size() - i);
      const std::vector<node_id> only(1, few[i]);
      const auto timed = co_await time_broadcasts(only, now() + share);
      if (!timed) co_return timed.error();
      one.append(*timed);
    }
    const std::vector<node_id> many = spread(members, together);
    series at_once = one;
    if (many.size() > 1) {
      auto timed = co_await time_broadcasts(many, ends);
      if (!timed) co_return timed.error();
      at_once = std::move(*timed);
    }
    const auto k = static_cast<std::uint32_t>(many.size());
    const series_medians of_one = one.medians();
    found_.map.classes[index].costs = fit(of_one, at_once.medians(), k, same_host);
    found_.by_class[index] = {static_cast<std::uint32_t>(members.size()), k, of_one.samples,
                              nanoseconds(static_cast<std::int64_t>(of_one.took))};
    co_return status{};
  }

  /// Measures the cost of bulk data to one peer. If that fails, the costs of the class stay unknown: bulk data
  /// may have a network of its own, and trees can be chosen without it.
  task<std::optional<bulk_costs>> time_bulk(node_id peer, bool same_host, time_point ends) {
    std::vector<target> both(2);
    both[0].node = self_.id();
    both[1].node = peer;
    const auto created = co_await self_.create_group<link_probe>(both, creation());
    if (!created) co_return std::nullopt;
    const detail::bulk_measurement how{ends, until_, same_host, probe_.facts.processors};
    const auto found = co_await detail::measure_bulk(*created, how);
    (co_await self_.destroy(*created)).ignore();
    if (!found) co_return std::nullopt;
    co_return *found;
  }

  /// True if all members of the class share this node's host.
  bool is_of_this_host(std::uint32_t index) const {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (found_.map.class_of[i + 1] == index && found_.map.host_of[i + 1] != 0) return false;
    }
    return true;
  }

  std::vector<node_id> members_of(std::uint32_t index) const {
    std::vector<node_id> members;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (found_.map.class_of[i + 1] == index) members.push_back(peers_[i]);
    }
    return members;
  }
  /// Chooses at most `most` nodes, spread over the list.
  static std::vector<node_id> spread(const std::vector<node_id>& from, std::size_t most) {
    const std::size_t count = std::min(from.size(), most);
    std::vector<node_id> some;
    some.reserve(count);
    for (std::size_t i = 0; i < count; ++i) some.push_back(from[i * from.size() / count]);
    return some;
  }

  /// Times a few broadcasts at least, and as many as there is time for.
  task<result<series>> time_broadcasts(std::vector<node_id> to, time_point ends) {
    std::vector<target> targets(to.size() + 1);
    targets[0].node = self_.id();
    for (std::size_t i = 0; i < to.size(); ++i) targets[i + 1].node = to[i];
    const auto created = co_await self_.create_group<link_probe>(targets, creation());
    if (!created) co_return created.error();
    series all;
    error failed;
    children_before_ = 0;
    for (std::uint32_t i = 0; i < most_pairs && !failed; ++i) {
      if (i >= least_pairs && now() >= ends) break;
      failed = co_await time_pair(*created, static_cast<double>(to.size()), all);
    }
    (co_await self_.destroy(*created)).ignore();
    if (failed) co_return failed;
    all.forget_first();
    co_return std::move(all);
  }

  /// Reading processor times takes time itself, so the total time is measured with a separate broadcast.
  task<error> time_pair(group<link_probe> all, double children, series& into) {
    const time_point began = now();
    const link_probe::request plain = request(false);
    const auto first = co_await ask(all, plain);
    if (!first) co_return first.error();
    const time_point ended = now();

    probe_watch& watch = *probe_.watch;
    watch.replies = 0;
    watch.timed = true;
    const nanoseconds before = processor_time();
    const link_probe::request looked_at = request(true);
    const auto second = co_await ask(all, looked_at);
    const nanoseconds after = processor_time();
    watch.timed = false;
    if (!second) co_return second.error();

    const auto children_now = static_cast<double>(second->processor_ns.value);
    const double two_rounds = children_now - children_before_;
    const bool warm = children_before_ != 0 || children_now == 0;
    children_before_ = children_now;
    if (!warm) co_return error();
    into.took.push_back(in_ns(ended - began));
    into.total.push_back(in_ns(after - before));
    into.sent.push_back(in_ns(watch.sent_processor_time - before));
    into.first.push_back(in_ns(watch.first_processor_time - before));
    into.child.push_back(two_rounds / 2 / children);
    into.apart.push_back(children > 1 ? in_ns(watch.last - watch.first) / (children - 1) : 0);
    co_return error();
  }

  node& self_;
  const link_probe& probe_;
  std::vector<node_id> peers_;
  measure_options options_;
  std::vector<std::byte> filler_;
  std::vector<host_facts> facts_;  // one for each peer
  deadline until_;
  time_point began_{};
  time_point timing_ends_{};
  double children_before_ = 0;  // the children's processor time at the timed broadcast before
  measured_links found_;
};

status check_peers(node& self, const std::vector<node_id>& peers) {
  std::vector<target> all(peers.size() + 1);
  all[0].node = self.id();
  for (std::size_t i = 0; i < peers.size(); ++i) all[i + 1].node = peers[i];
  if (peers.empty()) return error(errc::invalid_argument, "no peers: there are no links to measure");
  if (const auto members = membership::make(std::move(all)); !members) return members.error();
  for (const node_id peer : peers) {
    if (detail::node_access::engine(self).wire().find(peer) == nullptr)
      return make_error(errc::unreachable, "node {} was never added as a peer", peer);
  }
  return {};
}

}  // namespace

task<result<measured_links>> measure_links(node& self, std::vector<node_id> peers, measure_options options) {
  if (!options.places.empty() && options.places.size() != peers.size() + 1)
    co_return error(errc::invalid_argument, "the places are not those of this node and its peers");
  if (const status good = check_peers(self, peers); !good) co_return good.error();
  const auto entry = detail::node_access::engine(self).find_service(link_probe::id);
  if (entry == nullptr)
    co_return error(errc::unknown_service, "this node does not serve the link probe (serve_link_probe)");
  const auto& probe = *static_cast<const link_probe*>(entry->instance);
  if (probe.watch->measuring) co_return error(errc::busy, "this node measures its links already");
  link_measurement measurement(self, probe, std::move(peers), std::move(options));
  auto found = co_await measurement.run();
  co_return std::move(found);
}

}  // namespace scoll
