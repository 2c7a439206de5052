#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bench/kit/endpoint_process.hpp"
#include "bulk.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/memory/registered_memory.hpp"
#include "transport/memory/transfer.hpp"

namespace bench::bulk {
namespace {

using namespace scoll;
using namespace scoll::transport;

/// One of the two nodes. The second one exposes memory, the first one reads and writes it.
class peer final : public endpoint_process {
 public:
  peer(member& me, const setting& s)
      : endpoint_process(me, s.congestion_control, endpoint_identity(me.index(), s.keys), s.hosts),
        setting_(s),
        bytes_(s.places * s.size) {
    region_ = memory_region::expose(endpoint_, place(0), memory_access::read_write).value();
    if (s.registered) background_.spawn(register_all());
  }

  void run() { run_as(*this); }

  task<void> ask(node_id of) {
    // Both sides expose one region each in the same way, so that their descriptors differ in the node alone.
    region_descriptor there = region_.descriptor();
    there.node = of;
    transfer_options how;
    how.window = setting_.depth;
    how.segment_bytes = setting_.chunk;
    how.checked = setting_.verified;
    const std::span<std::byte> here = place(next_place_++ % setting_.places);
    status moved;
    if (setting_.push) {
      moved = co_await push(endpoint_, there, 0, here, how);
    } else {
      moved = co_await pull(endpoint_, there, 0, here, how);
    }
    if (!moved) me_.give_up(describe(moved.error()));
  }

 private:
  std::span<std::byte> place(std::size_t number) noexcept {
    return std::span(bytes_).subspan(number * setting_.size, setting_.size);
  }
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

void play_scoll(member& me, const setting& s) {
  if (s.apart) me.stay_on_own_processor();
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new peer(me, s))->run();
}

}  // namespace bench::bulk
