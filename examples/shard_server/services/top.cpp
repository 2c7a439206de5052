#include "top.hpp"

#include "scoll/coro/yield.hpp"

namespace shard {

scoll::task<scoll::result<top::reply>> top::execute(const request&, scoll::bcast_context& call) {
  constexpr std::uint32_t objects_per_turn = 1024;
  reply mine;
  std::string at;
  for (std::uint32_t seen = 1; const object_record* object = store->next(at); ++seen) {
    at = object->name;
    if (mine.values.size() < most || object->size >= mine.values.back().size)
      mine.insert({object->size, at, call.self()});
    if (seen % objects_per_turn != 0) continue;
    if (call.stop().stop_requested()) co_return scoll::errc::cancelled;
    co_await scoll::yield();
  }
  co_return mine;
}

}  // namespace shard
