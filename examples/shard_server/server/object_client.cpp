#include "object_client.hpp"

namespace shard {

scoll::task<scoll::status> object_client::connect() {
  if (owner_ == self_.id()) co_return scoll::status{};
  std::vector<scoll::target> both(2);
  both[0].node = self_.id();
  both[1].node = owner_;
  scoll::group_options options;
  options.deadline = deadline_;
  auto group = co_await self_.create_group<object_io>(both, options);
  if (!group) co_return group.error();
  group_ = *group;
  co_return scoll::status{};
}

scoll::task<scoll::result<object_reply>> object_client::ask(object_request& request, scoll::stop_token stop) {
  request.owner = owner_;
  if (owner_ == self_.id()) co_return co_await own_.handle(owner_, request, stop);
  scoll::bcast_options options;
  options.deadline = deadline_;
  options.stop = stop;
  auto answered = co_await scoll::bcast(group_, request, options);
  if (!answered.ok()) {
    constexpr std::uint32_t owner_rank = 1;
    const scoll::error& why = answered.outcome().why(owner_rank).what;
    co_return why ? why : answered.status().error();
  }
  co_return std::move(*answered);
}

scoll::task<void> object_client::close() {
  if (!group_.valid()) co_return;
  const auto group = std::exchange(group_, {});
  (co_await self_.destroy(group)).ignore();
}

}  // namespace shard
