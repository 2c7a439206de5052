#include "clients.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"

namespace shard {

using scoll::errc;

void client_list::merge(const client_list& from) noexcept {
  cut = cut || from.cut;
  for (const known_client& other : from.each) {
    const auto at = std::ranges::lower_bound(each, other.client, {}, &known_client::client);
    if (at == each.end() || at->client != other.client) {
      each.insert(at, other);
      continue;
    }
    at->refused_by += other.refused_by;
    at->uploads += other.uploads;
    if (at->note.empty()) at->note = other.note;
  }
  if (each.size() <= most) return;
  each.resize(most);
  cut = true;
}

scoll::task<scoll::result<clients::reply>> clients::execute(const request& asked,
                                                            scoll::bcast_context& call) {
  reply mine;
  mine.servers.value = 1;
  if (asked.step == client_step::evict) {
    eviction why{call.root(), asked.note};
    const auto ended = co_await desk->evict(asked.client, std::move(why));
    if (!ended) co_return ended.error();
    mine.uploads.value = ended->uploads;
    mine.calls.value = ended->calls;
  } else if (asked.step == client_step::admit) {
    const auto admitted = co_await desk->admit(asked.client);
    if (!admitted) co_return admitted.error();
  }
  if (asked.step != client_step::show) co_return mine;
  for (const auto& [client, why] : desk->evicted().all()) mine.known.each.push_back({client, 1, 0, why.note});
  client_list busy;
  for (const auto& [client, uploads] : desk->uploads()) busy.each.push_back({client, 0, uploads, {}});
  mine.known.merge(busy);
  co_return mine;
}

}  // namespace shard
