#include <poll.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bench/kit/node_process.hpp"
#include "scoll/bulk/bulk.hpp"
#include "scoll/collective/gather.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/node.hpp"
#include "stream.hpp"
#include "transport/io/io_awaitables.hpp"

namespace bench::stream {
namespace {

using namespace scoll;
using namespace scoll::transport;

using block = std::vector<std::byte>;
constexpr std::size_t block_bytes = 32'000;

/// Streams the bytes of each member.
struct blocks {
  static constexpr service_id id{0x0100};
  static constexpr nanoseconds processing_bound = std::chrono::seconds(60);
  struct request {
    std::uint64_t bytes = 0;
  };
  using reply = parts<block>;

  task<status> execute(const request& r, bcast_context& c, part_sink<block>& out) {
    block next(block_bytes, std::byte{0x5a});
    for (std::uint64_t left = c.is_root() ? 0 : r.bytes; left != 0; left -= next.size()) {
      if (left < next.size()) next.resize(left);
      const status taken = co_await out.put(next);
      if (!taken) co_return taken;
    }
    co_return status();
  }
};

/// Says where the bytes of each member lie.
struct places {
  static constexpr service_id id{0x0101};
  struct request {
    std::uint64_t nothing = 0;
  };
  using reply = concatenation<region_descriptor>;
  const memory_region* region;

  reply execute(const request&, bcast_context& c) {
    reply mine;
    mine.parts.push_back({c.rank(), false, region->descriptor()});
    return mine;
  }
};

class process final : public node_process {
 public:
  process(member& me, const setting& s)
      : node_process(me, s.congestion_control),
        setting_(s),
        bytes_(s.pulls && me.index() != 0 ? s.size : 1, std::byte{0x5a}) {
    region_ = expose(node_, std::span<const std::byte>(bytes_)).value();
    node_.serve(blocks{}).value();
    node_.serve(places{&region_}).value();
    join();
  }

 private:
  task<void> obey() override {
    const auto streaming = co_await make_group<blocks>({.tree = setting_.tree});
    const auto asking = co_await make_group<places>();
    const places::request nothing;
    auto where = co_await scoll::bcast(asking, nothing);
    if (!where.ok()) me_.give_up(describe(where.outcome()));
    if (setting_.pulls) places_.resize(me_.count(), block(setting_.size));
    while (true) {
      (co_await async_poll(*ring_, me_.orders(), POLLIN)).ignore();
      const auto next = me_.next_order();
      if (!next) break;
      const counts before = count();
      for (std::uint32_t i = 0; i < next->operations; ++i) {
        const std::int64_t began = now_ns();
        if (setting_.pulls) {
          co_await pull_all(*where);
        } else {
          co_await stream_all(streaming);
        }
        me_.note(i, began, now_ns());
      }
      count().add_to(me_.page(), before);
      me_.done(next->operations);
    }
    ring_->stop();
  }

  task<void> stream_all(const group<blocks>& g) {
    const blocks::request all{setting_.size};
    auto items = gather(g, all);
    std::uint64_t bytes = 0;
    for (;;) {
      const auto item = co_await items.next();
      if (!item) break;
      bytes += item->value.size();
    }
    if (!items.ok()) me_.give_up(describe(items.outcome()));
    if (bytes != setting_.size * (me_.count() - 1)) me_.give_up("bytes are missing");
  }

  task<void> pull_all(const places::reply& from) {
    std::vector<task<void>> at_once;
    for (const auto& part : from.parts) {
      if (part.rank != 0) at_once.push_back(pull_one(part.value, places_[part.rank]));
    }
    co_await when_all(std::move(at_once));
  }
  task<void> pull_one(const region_descriptor& from, block& into) {
    const status pulled = co_await pull(node_, from, 0, std::span(into));
    if (!pulled) me_.give_up(describe(pulled.error()));
  }

  setting setting_;
  block bytes_;  // that the first process pulls
  memory_region region_;
  std::vector<block> places_;  // into which it pulls
};

}  // namespace

void play(member& me, const setting& s) {
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new process(me, s))->run();
}

}  // namespace bench::stream
