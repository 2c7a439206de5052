#include "find.hpp"

#include <fnmatch.h>

#include "list_share.hpp"
#include "scoll/coro/yield.hpp"

namespace shard {
namespace {

bool matches(const std::string& pattern, bool glob, const std::string& name) {
  return glob ? ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0 : name.find(pattern) != std::string::npos;
}

}  // namespace

scoll::task<scoll::result<find::reply>> find::execute(const request& asked, scoll::bcast_context& call) {
  constexpr std::uint32_t names_per_turn = 1024;  // after this many, other coroutines may use the thread
  const bool glob = asked.pattern.find_first_of("*?[") != std::string::npos;
  list_share share(reply_capacity, 64, call.members().size());
  reply mine;
  auto& part = mine.names.parts.emplace_back();
  part.rank = call.rank();
  std::string at;
  for (std::uint32_t seen = 1; const object_record* object = store->next(at); ++seen) {
    at = object->name;
    if (matches(asked.pattern, glob, at)) {
      ++mine.matches.value;
      if (share.take(at.size() + sizeof(std::uint32_t))) {
        part.value.push_back(at);
      } else {
        part.cut = true;
      }
    }
    if (seen % names_per_turn != 0) continue;
    if (call.stop().stop_requested()) co_return scoll::errc::cancelled;
    co_await scoll::yield();
  }
  co_return mine;
}

}  // namespace shard
