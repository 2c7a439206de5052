#include "maintenance.hpp"

#include "scoll/coro/error_format.hpp"

namespace shard {

using scoll::errc;

bool maintenance_desk::under_way() const {
  return self_ != nullptr && self_->find_group<maintenance>(group_).has_value();
}

scoll::status maintenance_desk::begin(scoll::node& self, const scoll::group_id& group, std::string note) {
  if (under_way()) {
    return scoll::make_error(errc::already_exists, "node {} has begun a maintenance before: {}", begun_by(),
                             note_);
  }
  self_ = &self;
  group_ = group;
  note_ = std::move(note);
  refused_ = 0;
  leader_.reset();
  return {};
}

scoll::status maintenance_desk::allow_write() {
  if (!under_way()) return {};
  ++refused_;
  return scoll::make_error(errc::closed, "node {} has closed the servers for maintenance: {}", begun_by(),
                           note_);
}

scoll::task<scoll::result<maintenance::reply>> maintenance::execute(const request& asked,
                                                                    scoll::bcast_context& call) {
  reply mine;
  mine.servers.value = 1;
  switch (asked.step) {
    case maintenance_step::begin: {
      const auto begun = desk->begin(*self, asked.group, asked.note);
      if (!begun) co_return begun.error();
      co_return mine;
    }
    case maintenance_step::elect: co_return co_await elect(asked, call);
    case maintenance_step::end: mine.refused.value = desk->refused(); co_return mine;
  }
  co_return scoll::error(errc::invalid_argument, "there is no such step of a maintenance");
}

/// Every server makes this call, with itself as the candidate; all of them get the same leader.
scoll::task<scoll::result<maintenance::reply>> maintenance::elect(const request& asked,
                                                                  scoll::bcast_context& call) {
  const auto group = self->find_group<maintenance>(asked.group);
  if (!group) co_return group.error();
  candidate mine;
  mine.bytes = store->bytes();
  mine.node = call.self();
  scoll::agree_options options;
  options.deadline = call.remaining().left(call.get_executor().now()) / 4 * 3;  // the rest is for the answer
  options.stop = call.stop();
  const auto agreed = co_await group->agree(asked.term, mine, options);
  if (!agreed.ok()) co_return agreed.status().error();
  desk->lead({asked.term, *agreed, agreed.failed()});
  reply answer;
  answer.servers.value = 1;
  answer.leaders.insert(agreed->node);
  co_return answer;
}

}  // namespace shard
