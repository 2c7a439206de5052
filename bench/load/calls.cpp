#include <vector>

#include "bench/kit/node_process.hpp"
#include "load.hpp"
#include "scoll/ship/ship.hpp"

namespace bench::load {
namespace {

using namespace scoll;

constexpr remote_function<wire::borrowed_bytes, std::uint64_t> length{"bench.length"};

class caller final : public node_process {
 public:
  caller(member& me, const bcast::setting& s) : node_process(me, s.congestion_control), bytes_(s.size) {
    node_
        .serve(length,
               [this](const wire::borrowed_bytes& b, call_context&) {
                 node_process::count().show_on(me_.page());
                 return std::uint64_t{b.view.size()};
               })
        .value();
    join();
  }

  task<void> ask(node_id peer) {
    const auto got = co_await scoll::ship(node_, peer, length, wire::borrowed_bytes{bytes_});
    if (!got) me_.give_up(describe(got.error()));
    if (*got != bytes_.size()) me_.give_up("the length is wrong");
  }
  counts count() noexcept { return node_process::count(); }

 private:
  task<void> obey() override { return bench::obey(*this, me_, *ring_); }

  std::vector<std::byte> bytes_;
};

}  // namespace

void play_calls(member& me, const bcast::setting& s) {
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new caller(me, s))->run();
}

}  // namespace bench::load
