#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"

namespace scoll::detail {

/// One broadcast, in all its rounds.
struct broadcast_name {
  group_id group;
  std::uint64_t root = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t counter = 0;

  static broadcast_name of(const collective_head& head) noexcept {
    const operation_id& op = head.operation;
    return {head.group, op.root, op.incarnation, op.counter};
  }
  friend auto operator<=>(const broadcast_name&, const broadcast_name&) = default;
};

/// What a member keeps of its own part in a broadcast, for further rounds of it: that it is still at work, its
/// own reply, or why there is none. It knows nothing of the members below.
class own_record {
 public:
  /// The last round that has asked for it.
  std::uint16_t attempt = 0;
  /// The encoded reply, if the state is `merged`.
  std::vector<std::byte> reply;
  /// The reason of any other state. Its reporter is not used.
  cause why;

  bool running() const noexcept { return running_; }
  member_state state() const noexcept { return state_; }
  /// The part has ended. The operations that wait for it go on.
  void end(member_state state) noexcept {
    running_ = false;
    state_ = state;
    for (event* waiter : waiters_) waiter->set();
  }
  /// The operation that does the part can be stopped, until it leaves (null).
  void stop_with(stop_source* stop) noexcept { stop_ = stop; }
  /// The part is to end early, if it is at work.
  void stop() noexcept {
    if (stop_ != nullptr) stop_->request_stop();
  }
  void await(event& end) { waiters_.push_back(&end); }
  void leave(event& end) noexcept { std::erase(waiters_, &end); }

 private:
  bool running_ = true;
  member_state state_ = member_state::unknown;
  std::vector<event*> waiters_;
  stop_source* stop_ = nullptr;
};

/// The records of a node, at most `most_records` of them, within `node_options::repair_memory`. A record is made
/// before its operation is admitted for the first time. It goes when its root says that the broadcast has ended, or
/// when that must be over. A record that is gone does not mean that nothing was done: the replay window remembers
/// longer.
class own_records {
 public:
  static constexpr std::size_t most_records = 1024;

  own_records(executor& ex, std::size_t limit) noexcept : executor_(ex), limit_(limit) {}
  ~own_records();
  own_records(const own_records&) = delete;
  own_records& operator=(const own_records&) = delete;

  std::size_t size() const noexcept { return records_.size(); }
  std::size_t used() const noexcept { return used_; }
  std::size_t limit() const noexcept { return limit_; }
  /// Calls `visit(name, record, until)` for each of them; `until` is when it goes at the latest.
  template <class Visitor>
  void each(Visitor&& visit) const {
    for (const auto& [name, one] : records_) visit(name, std::as_const(*one.record), one.until);
  }

  /// `busy` if there is no room for a record of a reply of so many bytes.
  error why_full(std::size_t reply_bytes) const;
  std::shared_ptr<own_record> make(const broadcast_name& name, std::size_t reply_bytes, time_point until);
  /// Null if there is none.
  std::shared_ptr<own_record> find(const broadcast_name& name) const;
  /// Keeps it until then at least.
  void prolong(const broadcast_name& name, time_point until);

  /// The broadcasts of that life of a root to a group with counters below `counter` have ended.
  void ended_below(const group_id& group, const operation_id& of, std::uint64_t counter) {
    if (!records_.empty()) drop_below(group, of, counter);
  }
  void end_group(const group_id& group);
  /// Drops one whose operation has answered. It is for nothing but a deliberate bug.
  void forget(const broadcast_name& name);

 private:
  struct kept {
    std::shared_ptr<own_record> record;
    std::size_t bytes = 0;
    time_point until;
  };
  using table = std::map<broadcast_name, kept>;

  table::iterator drop(table::iterator at) noexcept;
  void drop_below(const group_id& group, const operation_id& of, std::uint64_t counter);
  void watch(time_point until);
  void on_time() noexcept;

  executor& executor_;
  std::size_t limit_;
  std::size_t used_ = 0;
  table records_;
  member_timer<&own_records::on_time> timer_{*this};
};

}  // namespace scoll::detail
