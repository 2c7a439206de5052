#include <optional>
#include <vector>

#include "bench/kit/endpoint_process.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/memory/registered_memory.hpp"
#include "transport/memory/transfer.hpp"
#include "verbs.hpp"

namespace bench::verbs {
namespace {

using namespace scoll;
using namespace scoll::transport;

class peer final : public endpoint_process {
 public:
  peer(member& me, const setting& s)
      : endpoint_process(me, "", endpoint_identity(me.index()), s.hosts),
        setting_(s),
        bytes_(places * s.size) {
    region_ = memory_region::expose(endpoint_, std::span(bytes_).first(s.size), memory_access::read).value();
    if (s.registered) background_.spawn(register_all());
  }

  void run() { run_as(*this); }

  task<void> ask(node_id of) {
    // Both sides expose one region each in the same way, so that their descriptors differ in the node alone.
    region_descriptor there = region_.descriptor();
    there.node = of;
    const std::size_t place = next_place_++ % places;
    const auto moved =
        co_await pull(endpoint_, there, 0, std::span(bytes_).subspan(place * setting_.size, setting_.size));
    if (!moved) me_.give_up(describe(moved.error()));
  }

 private:
  static constexpr std::size_t places = 8;  // as many pulls may be under way

  task<void> register_all() {
    auto made = co_await register_memory(endpoint_, bytes_);
    if (!made) me_.give_up(describe(made.error()));
    registered_.emplace(std::move(*made));
  }

  setting setting_;
  std::vector<std::byte> bytes_;
  std::size_t next_place_ = 0;
  memory_region region_;
  std::optional<registered_memory> registered_;
};

}  // namespace

void play_pulls(member& me, const setting& s) {
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new peer(me, s))->run();
}

}  // namespace bench::verbs
