#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "../kit/clock.hpp"
#include "../kit/counts.hpp"
#include "bulk.hpp"
#include "coro/error_format.hpp"
#include "coro/scope.hpp"
#include "transport/endpoint.hpp"
#include "transport/io_awaitables.hpp"
#include "transport/memory_region.hpp"
#include "transport/tcp_rail.hpp"
#include "transport/transfer.hpp"

namespace bench::bulk {
namespace {

using namespace scoll;
using namespace scoll::transport;

/// One of the two nodes. The second one exposes memory, the first one reads and writes it.
class peer final : private endpoint_events {
 public:
  peer(member& me, const setting& s)
      : me_(me),
        setting_(s),
        bytes_(s.size),
        ring_(reactor::create().value()),
        rail_(*ring_, options_of(s)),
        endpoint_(*ring_, rail_, identity(me.index()), *this),
        region_(memory_region::expose(endpoint_, bytes_, memory_access::read_write).value()),
        background_(*ring_) {
    endpoint_.listen("127.0.0.1:0").value();
    const std::string address = endpoint_.listen_address();
    me.publish(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    endpoint_.add_peer(2 - me.index(), "127.0.0.1:" + std::to_string(me.port(1 - me.index()))).value();
    me.ready();
  }

  void run() {
    if (me_.index() == 0) background_.spawn(move_when_told());
    ring_->run();
  }

 private:
  static tcp_options options_of(const setting& s) {
    tcp_options o;
    o.congestion_control = s.congestion_control;
    return o;
  }
  static endpoint_options identity(std::uint32_t index) {
    endpoint_options o;
    o.self = index + 1;
    o.cluster = "bench";
    o.incarnation = 1;
    return o;
  }

  task<void> move_when_told() {
    // Both sides expose one region each, the same way: their descriptors differ in the node alone.
    region_descriptor there = region_.descriptor();
    there.node = 2;
    transfer_options how;
    how.window = setting_.depth;
    how.segment_bytes = setting_.chunk;
    how.checked = setting_.verified;
    while (true) {
      static_cast<void>((co_await async_poll(*ring_, me_.orders(), POLLIN)).has_value());
      const auto next = me_.next_order();
      if (!next) break;
      const counts before = counts::now(*ring_, endpoint_);
      for (std::uint32_t i = 0; i < next->operations; ++i) {
        const std::int64_t began = now_ns();
        status moved;
        if (setting_.push) {
          moved = co_await put(endpoint_, there, 0, bytes_, how);
        } else {
          moved = co_await get(endpoint_, there, 0, bytes_, how);
        }
        if (!moved) me_.give_up(describe(moved.error()));
        me_.note(i, began, now_ns());
      }
      counts::now(*ring_, endpoint_).add_to(me_.page(), before);
      me_.done(next->operations);
    }
    ring_->stop();
  }

  void on_request(request_view&) noexcept override {}
  void on_cancelled(incoming&, bool) noexcept override {}
  void on_session_lost(session&, const error&) noexcept override {}

  member& me_;
  setting setting_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<reactor> ring_;
  tcp_rail rail_;
  endpoint endpoint_;
  memory_region region_;
  scope background_;
};

}  // namespace

void play_scoll(member& me, const setting& s) {
  // Not destroyed: the process ends without taking leave.
  (new peer(me, s))->run();
}

}  // namespace bench::bulk
