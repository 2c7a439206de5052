#include "pool_question.hpp"

#include "../services/pool.hpp"
#include "ask_group.hpp"
#include "collectives.hpp"

namespace shard {

/// The group is not kept between calls. Holding it costs no message, and so each call sees the pool as it is
/// now.
scoll::task<json> ask_pool(scoll::node& self, const command& c, scoll::stop_token stop) {
  const auto group = co_await self.out_of_band<pool>(c.pool);
  if (!group) co_return failure(group.error());
  scoll::bcast_options options;
  options.deadline = c.until;
  options.stop = stop;
  const pool::request request;
  auto answered = co_await ask_group<pool>(*group, request, options);
  if (collectives::knows_a_stale_group(answered.account.outcome))  // a server was started anew meanwhile
    answered = co_await ask_group<pool>(*group, request, options);
  json all = to_json(answered);
  all["root"] = self.id();
  if (answered.value) all["value"]["pool"] = c.pool;
  co_return all;
}

}  // namespace shard
