#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "bcast.hpp"
#include "bench/kit/asking.hpp"
#include "bench/kit/backend.hpp"
#include "bench/kit/caller.hpp"
#include "bench/kit/compose.hpp"
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

class process;

/// The service: every member answers with its rank plus one.
struct add_ranks {
  static constexpr service_id id{0x0100};
  static constexpr bool short_execute = true;
  using request = wire::borrowed_bytes;
  using reply = sum<std::uint64_t>;
  process* self;
  reply execute(const request&, bcast_context& c);
};

class process {
 public:
  process(member& me, const setting& s, found_links* measured)
      : me_(me),
        setting_(s),
        measured_(measured),
        ring_(make_reactor()),
        rail_(*ring_, rail_options(s.congestion_control)),
        node_(*ring_, rail_, node_identity(me.index(), s.keys)),
        background_(*ring_) {
    node_.serve(add_ranks{this}).value();
    if (measured_ != nullptr) serve_link_probe(node_).value();
    node_.listen("127.0.0.1:0").value();
    introduce(me, node_.listen_address(),
              [this](node_id id, const std::string& address) { node_.add_peer(id, address).value(); });
  }

  void run() {
    if (me_.index() == 0) background_.spawn(obey());
    ring_->run();
  }

  void executed() noexcept {
    me_.page().reached_ns.store(now_ns(), std::memory_order_relaxed);
    if (me_.index() != 0) count().show_on(me_.page());
  }

 private:
  counts count() noexcept { return counts::now(*ring_, node_.wire()); }

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
    auto created = co_await node_.create_group<add_ranks>(targets, {.tree = setting_.tree});
    if (!created) me_.give_up(describe(created.error()));
    const group<add_ranks>& g = *created;
    // The payload has as many bytes as the encoded request needs to reach the requested size.
    const std::size_t overhead = wire::encoded_size(wire::borrowed_bytes{});
    payload_.resize(setting_.size > overhead ? setting_.size - overhead : 0);
    while (true) {
      (co_await async_poll(*ring_, me_.orders(), POLLIN)).ignore();
      const auto next = me_.next_order();
      if (!next) break;
      co_await carry_out(g, *next);
    }
    ring_->stop();
  }

  task<void> carry_out(const group<add_ranks>& g, order o) {
    scope streams(*ring_);
    background_wanted_ = o.background != 0;
    if (background_wanted_) start_streams(streams);
    const counts before = count();
    next_operation_ = 0;
    if (o.in_flight <= 1) {
      co_await broadcast_in_turn(g, o);
    } else {
      std::vector<task<void>> at_once;
      at_once.reserve(o.in_flight);
      for (std::uint32_t i = 0; i < o.in_flight; ++i) at_once.push_back(broadcast_in_turn(g, o));
      co_await when_all(std::move(at_once));
    }
    count().add_to(me_.page(), before);
    background_wanted_ = false;
    co_await streams.join();
    me_.done(o.operations);
  }

  task<void> broadcast_in_turn(const group<add_ranks>& g, order o) {
    const wire::borrowed_bytes request{payload_};
    bcast_options options{.trace = o.stamped != 0};
    if (o.repaired != 0) options.on_failure = repair;
    if (o.quorum != 0) {
      options.until = quorum{o.quorum};
      options.rest = stragglers::abort;
    }
    while (next_operation_ < o.operations) {
      const std::uint32_t i = next_operation_++;
      const std::int64_t began = now_ns();
      const auto r = co_await scoll::bcast(g, request, options);
      me_.note(i, began, now_ns());
      if (!r.ok()) me_.give_up(describe(r.outcome()));
      if (o.quorum == 0 && r->value != setting_.expected_sum()) me_.give_up("the sum is wrong");
      if (o.quorum != 0 && r.outcome().merged().size() < o.quorum) me_.give_up("the quorum is too small");
      if (o.stamped != 0 && r.trace().spans().size() != me_.count()) me_.give_up("the trace is not whole");
      if (o.trace != 0) me_.note_last_reached(i, began);
    }
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
      (co_await request).ignore();
      me_.page().background_bytes += bytes.size();
    }
  }

  member& me_;
  setting setting_;
  found_links* measured_;
  std::unique_ptr<reactor> ring_;
  tcp_rail rail_;
  node node_;
  scope background_;
  std::vector<std::byte> payload_;
  std::uint32_t next_operation_ = 0;
  bool background_wanted_ = false;
};

add_ranks::reply add_ranks::execute(const request&, bcast_context& c) {
  self->executed();
  return {std::uint64_t{c.rank()} + 1};
}

}  // namespace

void play_scoll(member& me, const setting& s) {
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new process(me, s, nullptr))->run();
}
void play_measuring(member& me, const setting& s, found_links& into) {
  (new process(me, s, &into))->run();
}

}  // namespace bench::bcast
