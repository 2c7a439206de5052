#include "scoll/collective/operation/own_records.hpp"

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"

namespace scoll::detail {
namespace {

constexpr std::size_t beside_the_reply = 128;

}  // namespace

own_records::~own_records() {
  if (timer_.armed()) executor_.disarm(timer_);
}

error own_records::why_full(std::size_t reply_bytes) const {
  const std::size_t bytes = reply_bytes + beside_the_reply;
  if (records_.size() >= most_records) {
    return make_error(errc::busy, "{} replies are kept for further rounds, which is the most",
                      records_.size());
  }
  if (bytes <= limit_ - used_) return {};
  return make_error(errc::busy,
                    "{} bytes are left for replies that are kept, {} needed: node.repair_memory is {}",
                    limit_ - used_, bytes, limit_);
}

std::shared_ptr<own_record> own_records::make(const broadcast_name& name, std::size_t reply_bytes,
                                              time_point until) {
  auto record = std::make_shared<own_record>();
  const std::size_t bytes = reply_bytes + beside_the_reply;
  if (!records_.try_emplace(name, kept{record, bytes, until}).second) return nullptr;
  used_ += bytes;
  watch(until);
  return record;
}

std::shared_ptr<own_record> own_records::find(const broadcast_name& name) const {
  const auto at = records_.find(name);
  return at == records_.end() ? nullptr : at->second.record;
}

void own_records::prolong(const broadcast_name& name, time_point until) {
  const auto at = records_.find(name);
  if (at != records_.end()) at->second.until = std::max(at->second.until, until);
}

void own_records::drop_below(const group_id& group, const operation_id& of, std::uint64_t counter) {
  if (SCOLL_MUTANT(record_outlives_watermark, "a reply is kept though its root says that all is over"))
    return;
  const broadcast_name first{group, of.root, of.incarnation, 0};
  for (auto at = records_.lower_bound(first); at != records_.end();) {
    const broadcast_name& name = at->first;
    const bool ended = name.group == group && name.root == of.root && name.incarnation == of.incarnation &&
                       name.counter < counter;
    if (!ended) break;
    at = drop(at);
  }
}

void own_records::end_group(const group_id& group) {
  for (auto at = records_.lower_bound({group, 0, 0, 0}); at != records_.end() && at->first.group == group;)
    at = drop(at);
}

void own_records::forget(const broadcast_name& name) {
  if (const auto at = records_.find(name); at != records_.end()) drop(at);
}

own_records::table::iterator own_records::drop(table::iterator at) noexcept {
  used_ -= at->second.bytes;
  return records_.erase(at);
}

/// Makes sure that the timer fires at that time or before.
void own_records::watch(time_point until) {
  if (timer_.armed()) {
    if (timer_.at() <= until) return;
    executor_.disarm(timer_);
  }
  if (until != never) executor_.arm(timer_, until);
}

void own_records::on_time() noexcept {
  const time_point now = executor_.now();
  time_point next = never;
  for (auto at = records_.begin(); at != records_.end();) {
    if (at->second.until <= now) {
      at = drop(at);
    } else {
      next = std::min(next, (at++)->second.until);
    }
  }
  watch(next);
}

}  // namespace scoll::detail
