#include <memory>
#include <vector>

#include "../kit/caller.hpp"
#include "bulk.hpp"
#include "coro/error_format.hpp"
#include "coro/scope.hpp"
#include "transport/endpoint.hpp"
#include "transport/memory_region.hpp"
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
        rail_(*ring_, rail_options(s.congestion_control)),
        endpoint_(*ring_, rail_, endpoint_identity(me.index()), *this),
        region_(memory_region::expose(endpoint_, bytes_, memory_access::read_write).value()),
        background_(*ring_) {
    endpoint_.listen("127.0.0.1:0").value();
    introduce(me, endpoint_.listen_address(),
              [this](node_id id, const std::string& address) { endpoint_.add_peer(id, address).value(); });
  }

  void run() {
    if (me_.index() == 0) background_.spawn(obey(*this, me_, *ring_));
    ring_->run();
  }

  counts count() noexcept { return counts::now(*ring_, endpoint_); }

  task<void> ask(node_id of) {
    // Both sides expose one region each, the same way: their descriptors differ in the node alone.
    region_descriptor there = region_.descriptor();
    there.node = of;
    transfer_options how;
    how.window = setting_.depth;
    how.segment_bytes = setting_.chunk;
    how.checked = setting_.verified;
    status moved;
    if (setting_.push) {
      moved = co_await put(endpoint_, there, 0, bytes_, how);
    } else {
      moved = co_await get(endpoint_, there, 0, bytes_, how);
    }
    if (!moved) me_.give_up(describe(moved.error()));
  }

 private:
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
