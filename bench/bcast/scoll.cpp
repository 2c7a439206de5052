#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "bcast.hpp"
#include "bench/kit/asking.hpp"
#include "bench/kit/backend.hpp"
#include "bench/kit/caller.hpp"
#include "bench/kit/compose.hpp"
#include "job.hpp"
#include "prediction.hpp"
#include "scoll/collective/measure_links.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/node.hpp"
#include "transport/io/io_awaitables.hpp"
#include "transport/session/endpoint.hpp"

namespace bench::bcast {
namespace {

using namespace scoll;
using namespace scoll::transport;

template <class Job>
class process {
 public:
  using group_of_all = group<typename Job::service>;

  process(member& me, const setting& s, found_links* measured)
      : me_(me),
        setting_(s),
        measured_(measured),
        ring_(make_reactor()),
        rail_(*ring_, rail_options(s.congestion_control)),
        node_(*ring_, rail_, options_of(me, s)),
        job_(s),
        witness_{me, *ring_, node_},
        background_(*ring_) {
    node_.serve(job_.service_for(witness_)).value();
    if (measured_ != nullptr) serve_link_probe(node_).value();
    node_.listen("127.0.0.1:0").value();
    introduce(me, node_.listen_address(),
              [this](node_id id, const std::string& address) { node_.add_peer(id, address).value(); });
  }

  void run() {
    if (me_.index() == 0) background_.spawn(obey());
    ring_->run();
  }

 private:
  static node_options options_of(const member& me, const setting& s) {
    node_options o = node_identity(me.index(), s.keys);
    o.default_tree = s.tree;
    return o;
  }

  task<void> measure() {
    std::vector<node_id> peers;
    for (std::uint32_t i = 1; i < me_.count(); ++i) peers.push_back(i + 1);
    measure_options options;
    options.request_bytes = setting_.size;
    const auto found = co_await scoll::measure_links(node_, peers, options);
    if (!found) me_.give_up(describe(found.error()));
    const link_class& all = found->map.classes[0];
    *measured_ = {all.costs, all.bulk, found->map.processors[0]};
  }

  task<void> obey() {
    if (measured_ != nullptr) co_await measure();
    std::vector<target> targets;
    targets.reserve(me_.count());
    for (std::uint32_t i = 0; i < me_.count(); ++i) targets.push_back({i + 1, {}, setting_.zone_of(i)});
    auto created = co_await node_.template create_group<typename Job::service>(targets);
    if (!created) me_.give_up(describe(created.error()));
    const group_of_all& g = *created;
    while (true) {
      const auto readable = co_await async_poll(*ring_, me_.orders(), POLLIN);
      readable.ignore();
      const auto next = me_.next_order();
      if (!next) break;
      co_await carry_out(g, *next);
    }
    ring_->stop();
  }

  task<void> carry_out(const group_of_all& g, order o) {
    scope streams(*ring_);
    background_wanted_ = o.background != 0;
    if (background_wanted_) start_streams(streams);
    const counts before = witness_.count();
    next_operation_ = 0;
    if (o.gap_ns != 0) {
      co_await broadcast_at_rate(g, o);
    } else if (o.in_flight <= 1) {
      co_await broadcast_in_turn(g, o);
    } else {
      std::vector<task<void>> at_once;
      at_once.reserve(o.in_flight);
      for (std::uint32_t i = 0; i < o.in_flight; ++i) at_once.push_back(broadcast_in_turn(g, o));
      co_await when_all(std::move(at_once));
    }
    witness_.count().add_to(me_.page(), before);
    background_wanted_ = false;
    co_await streams.join();
    me_.done(o.operations);
  }

  task<void> broadcast_at_rate(const group_of_all& g, order o) {
    const bcast_options options = options_of(o);
    at_rate operations(*ring_);
    co_await operations.run(me_, o, [&](std::uint32_t) { return broadcast(g, o, options); });
  }

  task<void> broadcast_in_turn(const group_of_all& g, order o) {
    const auto& request = job_.request();
    const bcast_options options = options_of(o);
    while (next_operation_ < o.operations) {
      const std::uint32_t i = next_operation_++;
      const std::int64_t began = now_ns();
      const auto r = co_await scoll::bcast(g, request, options);
      me_.note(i, began, now_ns());
      check(r, o);
      if (o.trace != 0) me_.note_last_reached(i, began);
    }
  }

  task<void> broadcast(const group_of_all& g, const order& o, const bcast_options& options) {
    const auto& request = job_.request();
    const auto r = co_await scoll::bcast(g, request, options);
    check(r, o);
  }

  static bcast_options options_of(const order& o) {
    bcast_options options{.trace = o.stamped != 0};
    if (o.repaired != 0) options.on_failure = repair;
    if (o.quorum != 0) {
      options.until = quorum{o.quorum};
      options.rest = stragglers::abort;
    }
    return options;
  }

  template <class Reply>
  void check(const bcast_result<Reply>& r, const order& o) const {
    if (!r.ok()) me_.give_up(describe(r.outcome()));
    if (o.quorum == 0 && !Job::is_right(*r, setting_)) me_.give_up("the sum is wrong");
    if (o.quorum != 0 && r.outcome().merged().size() < o.quorum) me_.give_up("the quorum is too small");
    if (o.stamped != 0 && r.trace().spans().size() != me_.count()) me_.give_up("the trace is not whole");
  }

  /// Sends bulk data to every child of the root, with several messages under way at any time. The receivers
  /// refuse them for their empty head after they have arrived, which costs little there.
  void start_streams(scope& streams) {
    constexpr std::uint32_t per_child = 8;
    const auto tree = any_tree::resolve(setting_.tree, me_.count());
    for (std::uint32_t i = 0; i < tree->fan_out(me_.count(), 0); ++i) {
      session& child = *node_.wire().find(tree->child(me_.count(), 0, i) + 1);
      for (std::uint32_t k = 0; k < per_child; ++k) streams.spawn(stream(child));
    }
  }
  task<void> stream(session& to) {
    const std::vector<std::byte> bytes(max_payload_bytes);
    while (background_wanted_) {
      asking request(to, traffic_class::bulk, compose(node_.wire(), bytes), 0);
      const auto arrived = co_await request;
      arrived.ignore();
      me_.page().background_bytes += bytes.size();
    }
  }

  member& me_;
  setting setting_;
  found_links* measured_;
  std::unique_ptr<reactor> ring_;
  tcp_rail rail_;
  node node_;
  Job job_;
  witness witness_;
  scope background_;
  std::uint32_t next_operation_ = 0;
  bool background_wanted_ = false;
};

}  // namespace

void play_scoll(member& me, const setting& s) {
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new process<tuned>(me, s, nullptr))->run();
}
void play_plain(member& me, const setting& s) {
  (new process<plain>(me, s, nullptr))->run();
}
void play_measuring(member& me, const setting& s, found_links& into) {
  (new process<tuned>(me, s, &into))->run();
}

}  // namespace bench::bcast
