#include "ls.hpp"

namespace shard {

scoll::task<scoll::status> ls::execute(const request& asked, scoll::bcast_context&,
                                       scoll::part_sink<page>& out) {
  page names;
  std::size_t bytes = 0;
  const object_record* object = store->find(asked.prefix);
  if (object == nullptr) object = store->next(asked.prefix);
  while (object != nullptr && object->name.starts_with(asked.prefix)) {
    names.push_back(object->name);
    bytes += object->name.size() + sizeof(std::uint32_t);
    if (bytes >= page_bytes) {
      // Objects may be stored and replaced meanwhile, so the walk goes on from a name.
      const scoll::status taken = co_await out.put(names);
      if (!taken) co_return taken;
      object = store->next(names.back());
      names.clear();
      bytes = 0;
    } else {
      object = store->next(object->name);
    }
  }
  if (names.empty()) co_return scoll::status();
  const scoll::status taken = co_await out.put(names);
  co_return taken;
}

}  // namespace shard
