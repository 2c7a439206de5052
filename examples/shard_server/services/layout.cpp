#include "layout.hpp"

#include <algorithm>

#include "../store/object_name.hpp"
#include "scoll/coro/yield.hpp"

namespace shard {

std::vector<scoll::target> with_slots(std::vector<scoll::target> servers, std::uint64_t slots) {
  constexpr std::uint64_t kind = 0x736c6f74;  // "slot": other kinds of entities would have other numbers
  for (std::uint64_t slot = 0; slot != slots; ++slot)
    servers[slot % servers.size()].entities.push_back({kind, slot});
  return servers;
}

scoll::task<scoll::result<layout::reply>> layout::execute(const request&, scoll::bcast_context& call) {
  constexpr std::uint64_t objects_per_turn = 1024;
  reply mine;
  mine.slots.value = call.entities().size();
  if (mine.slots.value == 0) co_return mine;
  std::vector<std::uint64_t> objects(call.entities().size());
  std::string at;
  while (const object_record* object = store->next(at)) {
    at = object->name;
    ++objects[slot_position(at, call.members().size(), objects.size())];
    if (++mine.objects.value % objects_per_turn != 0) continue;
    if (call.stop().stop_requested()) co_return scoll::errc::cancelled;
    co_await scoll::yield();
  }
  const auto empty = std::count(objects.begin(), objects.end(), std::uint64_t{0});
  mine.used.value = objects.size() - static_cast<std::size_t>(empty);
  mine.fullest.value = *std::max_element(objects.begin(), objects.end());
  co_return mine;
}

}  // namespace shard
