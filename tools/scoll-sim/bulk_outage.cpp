#include "bulk_outage.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/memory/transfer.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/named_rails.hpp"

namespace scoll::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::sim_network;

constexpr std::string_view bulk_alone = "losing the bulk transport ends bulk alone";
constexpr std::uint32_t two_hosts = 2;
constexpr std::size_t outage_store_bytes = 40'000;
constexpr int outages = 3;
constexpr nanoseconds question_pause = milliseconds(20);
constexpr nanoseconds transfer_pause = milliseconds(15);
// A transfer that lives through the end of an outage has a new grace in the next one.
constexpr nanoseconds longest_transfer = outages * seconds(1) + milliseconds(500);
constexpr nanoseconds coming_to_rest = seconds(15);

/// A small request over the control lane, which nothing that happens to bulk may harm.
struct question final : transport::exchange {
  question() noexcept : exchange(&heard) {}
  static void heard(transport::exchange& e, transport::reply_event& event) noexcept {
    static_cast<question&>(e).outcome = event.outcome;
  }
  std::optional<status> outcome;
};

struct outage_host final : transport::endpoint_events {
  outage_host(testing::sim_world& world, sim_network& net, sim_network& fast, std::uint32_t index)
      : host(index), home(world, index, {}), messages(net, home), bulk(fast, home), work(home) {
    rails.add("msg", messages).value();
    rails.add("fast", bulk).value();
    transport::endpoint_options options;
    options.self = host + 1;
    options.cluster = "sim";
    options.incarnation = 1;
    options.transfer_segment_bytes = sim_segment_bytes;
    home.enter([&] {
      wire.emplace(home, rails, options, *this);
      wire->listen(address(host)).value();
      wire->add_peer(peer() + 1, address(peer())).value();
      region = std::move(
          transport::memory_region::expose(*wire, std::span(store), transport::memory_access::read_write)
              .value());
    });
  }

  static std::string address(std::uint32_t host) {
    const std::string place = sim_network::address_of(host);
    return "msg://" + place + ";bulk=fast://" + place;
  }
  std::uint32_t peer() const noexcept { return 1 - host; }
  transport::session& session() { return *wire->find(peer() + 1); }

  void on_request(transport::request_view& request) noexcept override {
    transport::incoming work_on_it;
    request.accept(work_on_it);
    transport::message& answer = wire->acquire_message();
    answer.set_head_bytes(0);
    work_on_it.reply(answer);
  }
  void on_cancelled(transport::incoming&, bool) noexcept override {}
  void on_session_lost(transport::session&, const error&) noexcept override {}

  void ask() {
    home.enter([&] {
      transport::message& m = wire->acquire_message();
      m.set_head_bytes(0);
      question& q = questions.emplace_back();
      const status sent = session().request(q, transport::traffic_class::call, m, 0);
      if (!sent) q.outcome = sent;
    });
  }

  std::uint32_t host;
  testing::sim_executor home;
  testing::sim_rail messages;
  testing::sim_rail bulk;
  transport::named_rails rails;
  std::vector<std::byte> store = std::vector<std::byte>(outage_store_bytes);
  std::vector<std::byte> local = std::vector<std::byte>(outage_store_bytes);
  std::optional<transport::endpoint> wire;
  transport::memory_region region;
  std::deque<question> questions;
  bool stopping = false;
  std::uint32_t failed = 0;
  nanoseconds longest{0};
  status latest;
  std::optional<status> drained;
  scope work;
};

/// Pulls and pushes until it is told to stop.
task<void> carry_on(outage_host& self, transport::region_descriptor there) {
  while (!self.stopping) {
    const time_point began = self.home.now();
    self.latest = co_await transport::pull(*self.wire, there, 0, std::span(self.local));
    const time_point between = self.home.now();
    const transport::push_status pushed =
        co_await transport::push(*self.wire, there, 0, std::span<const std::byte>(self.local));
    self.longest = std::max({self.longest, between - began, self.home.now() - between});
    self.failed += !self.latest || !pushed;
    if (self.latest) self.latest = pushed;
    co_await sleep_for(transfer_pause);
  }
}

task<void> end_outage_host(outage_host& self) {
  self.region.unexpose();
  status drained = co_await self.wire->drain(seconds(5));
  self.drained = drained;
}

class outage_run {
 public:
  explicit outage_run(std::uint64_t seed) : random_(seed), world_(seed, two_hosts) {
    for (std::uint32_t host = 0; host < two_hosts; ++host) hosts_.emplace_back(world_, net_, fast_, host);
    for (outage_host& h : hosts_) {
      h.home.enter([&] { h.work.spawn(carry_on(h, hosts_[h.peer()].region.descriptor())); });
    }
  }

  void play() {
    for (int i = 0; i < outages; ++i) {
      ask_for(time_between(microseconds(200), milliseconds(100)));
      fast_.refuse(0, 1);
      fast_.refuse(1, 0);
      fast_.cut(0, 1);
      // The first outage is longer than the grace, so that bulk is lost.
      ask_for(i == 0 ? time_between(milliseconds(1200), seconds(3))
                     : time_between(milliseconds(1), seconds(2)));
      fast_.heal();
    }
    ask_for(seconds(2));
    for (outage_host& h : hosts_) h.stopping = true;
    world_.run_until(world_.now() + coming_to_rest);
  }

  void check(violations& found) {
    for (outage_host& h : hosts_) {
      check_control(h, found);
      check_bulk(h, found);
      check_held(h, found);
    }
  }

  void end(violations& found) {
    for (outage_host& h : hosts_) h.home.enter([&] { h.work.spawn(end_outage_host(h)); });
    world_.run_until(world_.now() + coming_to_rest);
    for (outage_host& h : hosts_) {
      if (!h.drained || !*h.drained || h.rails.open() != 0) say(found, h, "it has not drained");
    }
    if (!found.empty()) return;
    for (outage_host& h : hosts_) {
      static_cast<void>(h.work.join().await_ready());
      h.home.enter([&] { h.wire.reset(); });
    }
  }

 private:
  nanoseconds time_between(nanoseconds least, nanoseconds most) {
    const auto span = static_cast<std::uint64_t>((most - least).count());
    return least + nanoseconds(static_cast<std::int64_t>(random_.below(span)));
  }

  void ask_for(nanoseconds d) {
    const nanoseconds until = world_.now() + d;
    while (world_.now() < until) {
      for (outage_host& h : hosts_) h.ask();
      world_.run_until(std::min(until, world_.now() + question_pause));
    }
  }

  static void say(violations& found, const outage_host& h, const std::string& what) {
    found.push_back({std::string(bulk_alone), fmt::format("node {}: {}", h.host + 1, what)});
  }

  static void check_control(outage_host& h, violations& found) {
    for (const question& q : h.questions) {
      if (q.outcome && *q.outcome) continue;
      return say(
          found, h,
          "a request over the control lane: " + (q.outcome ? describe(q.outcome->error()) : "no answer"));
    }
    if (h.wire->statistics().sessions_lost != 0 || h.session().epoch() != 1)
      say(found, h, "lost its session");
  }

  static void check_bulk(outage_host& h, violations& found) {
    if (h.wire->statistics().bulk_lost == 0 || h.failed == 0) say(found, h, "no transfer has failed");
    if (h.longest > longest_transfer)
      say(found, h, fmt::format("a transfer took {} ms", h.longest / milliseconds(1)));
    if (h.work.running() != 0) say(found, h, "a transfer has not ended");
    if (!h.latest) say(found, h, "the last transfer: " + describe(h.latest.error()));
  }

  void check_held(outage_host& h, violations& found) {
    if (h.wire->messages_in_use() != 0 || h.session().waiting() != 0 || h.session().owing() != 0)
      say(found, h, fmt::format("{} messages are held", h.wire->messages_in_use()));
    for (std::size_t k = 0; k < transport::class_count; ++k) {
      const auto klass = static_cast<transport::traffic_class>(k);
      const transport::credit_window& here = h.session().credits(klass);
      const transport::credit_window& there = hosts_[h.peer()].session().credits(klass);
      if (here.sent() != there.received() || there.received() != there.disposed() ||
          here.granted_to_us() != there.granted_by_us())
        say(found, h,
            fmt::format("class {}: sent {}, received {}, done with {}, granted {} and {}", k, here.sent(),
                        there.received(), there.disposed(), there.granted_by_us(), here.granted_to_us()));
    }
  }

  random_generator random_;
  testing::sim_world world_;
  sim_network net_{world_, 4096};
  sim_network fast_{world_, 4096};
  std::deque<outage_host> hosts_;
};

}  // namespace

void check_bulk_outage(std::uint64_t seed, violations& found) {
  // A run that has failed is left as it is, because its objects cannot be destroyed in order.
  auto* const r = new outage_run(seed);
  r->play();
  r->check(found);
  if (found.empty()) r->end(found);
  if (found.empty()) delete r;
}

}  // namespace scoll::sim
