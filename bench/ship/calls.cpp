#include <memory>

#include "bench/kit/backend.hpp"
#include "bench/kit/caller.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/ship/ship.hpp"
#include "ship.hpp"
#include "transport/session/endpoint.hpp"

namespace bench::ship {
namespace {

using namespace scoll;
using namespace scoll::transport;

constexpr remote_function<nothing> do_nothing{"bench.nothing"};
constexpr remote_function<wire::borrowed_bytes, std::vector<std::byte>> echo{"bench.echo"};

class caller final {
 public:
  caller(member& me, const setting& s)
      : me_(me),
        bytes_(s.size),
        ring_(make_reactor()),
        rail_(*ring_, rail_options(s.congestion_control)),
        node_(*ring_, rail_, node_identity(me.index())),
        background_(*ring_) {
    node_.serve(do_nothing, [this](const nothing&, call_context&) { count().show_on(me_.page()); }).value();
    node_
        .serve(echo,
               [this](const wire::borrowed_bytes& b, call_context&) {
                 count().show_on(me_.page());
                 return std::vector<std::byte>(b.view.begin(), b.view.end());
               })
        .value();
    node_.listen("127.0.0.1:0").value();
    introduce(me, node_.listen_address(),
              [this](node_id id, const std::string& address) { node_.add_peer(id, address).value(); });
  }

  void run() {
    if (me_.index() == 0) background_.spawn(obey(*this, me_, *ring_));
    ring_->run();
  }

  counts count() noexcept { return counts::now(*ring_, node_.wire()); }

  task<void> ask(node_id peer) {
    if (bytes_.empty()) {
      const auto done = co_await scoll::ship(node_, peer, do_nothing);
      if (!done) me_.give_up(describe(done.error()));
    } else {
      const auto got = co_await scoll::ship(node_, peer, echo, wire::borrowed_bytes{bytes_});
      if (!got) me_.give_up(describe(got.error()));
    }
  }

 private:
  member& me_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<reactor> ring_;
  tcp_rail rail_;
  node node_;
  scope background_;
};

}  // namespace

void play_calls(member& me, const setting& s) {
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new caller(me, s))->run();
}

}  // namespace bench::ship
