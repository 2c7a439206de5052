#include <poll.h>

#include <memory>
#include <vector>

#include "bench/kit/node_process.hpp"
#include "bulk_bcast.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/node.hpp"
#include "transport/io/io_awaitables.hpp"

namespace bench::bulk_bcast {
namespace {

using namespace scoll;
using namespace scoll::transport;

class process;

/// The service: every member gives the same place each time, and answers with its rank plus one.
struct install {
  static constexpr service_id id{0x0100};
  static constexpr bool short_execute = true;
  struct request {
    std::uint32_t nothing = 0;
  };
  using reply = sum<std::uint64_t>;
  process* self;
  task<status> prepare(request&, bcast_context& c);
  reply execute(const request&, bcast_context& c);
  void replied(bcast_context& c) noexcept;
};

class process final : public node_process {
 public:
  process(member& me, const setting& s)
      : node_process(me, s.what.congestion_control), setting_(s), bytes_(s.what.size, std::byte{0x5a}) {
    node_.serve(install{this}).value();
    join();
  }

  /// The place is free again when nobody reads the bytes of the broadcast before. That is nearly always so.
  task<status> prepare(bcast_context& c) {
    co_await place_free_.wait();
    place_free_.reset();
    co_return c.is_root() ? status() : c.receive_bulk(bytes_);
  }
  void executed() noexcept { me_.page().reached_ns.store(now_ns(), std::memory_order_relaxed); }
  void replied() noexcept {
    place_free_.set();
    if (me_.index() != 0) count().show_on(me_.page());
  }

 private:
  task<void> obey() override {
    const group<install> g = co_await make_group<install>();
    if (const status used = g.use_bulk_costs(setting_.links); !used) me_.give_up(describe(used.error()));
    while (true) {
      (co_await async_poll(*ring_, me_.orders(), POLLIN)).ignore();
      const auto next = me_.next_order();
      if (!next) break;
      const counts before = count();
      for (std::uint32_t i = 0; i < next->operations; ++i) co_await broadcast(g, i);
      count().add_to(me_.page(), before);
      me_.done(next->operations);
    }
    ring_->stop();
  }

  task<void> broadcast(const group<install>& g, std::uint32_t i) {
    bcast_options how;
    how.bulk = bytes_;
    how.bulk_plan = setting_.plan;
    how.bulk_piece_bytes = setting_.piece;
    how.bulk_time = std::chrono::seconds(60);  // machines on which tests run may be busy
    const install::request nothing;
    const std::int64_t began = now_ns();
    const auto r = co_await scoll::bcast(g, nothing, how);
    me_.note(i, began, now_ns());
    if (!r.ok()) me_.give_up(describe(r.outcome()));
    if (r->value != setting_.what.expected_sum()) me_.give_up("the sum is wrong");
    const bulk_report& said = r.bulk().value();
    me_.page().plan = said.plan;
    me_.page().piece_bytes = said.piece_bytes;
    me_.page().predicted_ns = static_cast<std::uint64_t>(said.predicted.count());
  }

  setting setting_;
  std::vector<std::byte> bytes_;  // the object at the root, elsewhere its place
  event place_free_{true};
};

task<status> install::prepare(request&, bcast_context& c) {
  return self->prepare(c);
}

install::reply install::execute(const request&, bcast_context& c) {
  self->executed();
  return {std::uint64_t{c.rank()} + 1};
}

void install::replied(bcast_context&) noexcept {
  self->replied();
}

}  // namespace

void play_scoll(member& me, const setting& s) {
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new process(me, s))->run();
}

}  // namespace bench::bulk_bcast
