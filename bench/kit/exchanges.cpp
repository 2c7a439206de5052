#include "exchanges.hpp"

#include <memory>
#include <vector>

#include "asking.hpp"
#include "caller.hpp"
#include "compose.hpp"
#include "coro/error_format.hpp"
#include "coro/scope.hpp"

namespace bench {
namespace {

using namespace scoll;
using namespace scoll::transport;

class exchanger final : private endpoint_events {
 public:
  exchanger(member& me, std::uint32_t size, const std::string& congestion_control)
      : me_(me),
        bytes_(size),
        ring_(reactor::create().value()),
        rail_(*ring_, rail_options(congestion_control)),
        endpoint_(*ring_, rail_, identity(me.index()), *this),
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

  task<void> ask(node_id peer) {
    asking request(*endpoint_.find(peer), traffic_class::call, compose(endpoint_, bytes_),
                   static_cast<std::uint32_t>(bytes_.size()));
    const status answered = co_await request;
    if (!answered) me_.give_up(describe(answered.error()));
  }

 private:
  static endpoint_options identity(std::uint32_t index) {
    endpoint_options o = endpoint_identity(index);
    o.queue_limit = 4096;
    return o;
  }

  void on_request(request_view& r) noexcept override {
    incoming work;
    r.accept(work);
    work.reply(compose(endpoint_, bytes_));
    count().show_on(me_.page());
  }
  void on_cancelled(incoming&, bool) noexcept override {}
  void on_session_lost(session&, const error&) noexcept override {}

  member& me_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<reactor> ring_;
  tcp_rail rail_;
  endpoint endpoint_;
  scope background_;
};

}  // namespace

void play_exchanges(member& me, std::uint32_t size, const std::string& congestion_control) {
  // Not destroyed: the process ends without taking leave.
  (new exchanger(me, size, congestion_control))->run();
}

}  // namespace bench
