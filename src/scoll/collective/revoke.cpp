#include "scoll/collective/revoke.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/admissions.hpp"
#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/journal.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {

static_assert(wire::fixed_size<notice_head> == 159);

// ---- a revoke begins here

notice_head revoker::notice_of(const group_state& group, notice_kind kind) const noexcept {
  notice_head notice;
  notice.kind = static_cast<std::uint8_t>(kind);
  notice.ends_with = static_cast<std::uint8_t>(group.ends_with);
  notice.group = group.id;
  notice.by = owner_.options_.id;
  notice.life = owner_.options_.incarnation;
  notice.tree_kind = owner_.options_.revoke_tree.kind;
  notice.tree = owner_.options_.revoke_tree.params;
  notice.initiator = group.self_rank;
  return notice;
}

task<result<revoke_report>> revoker::revoke(std::shared_ptr<group_state> group, notice_head notice) {
  if (owner_.work_.closed()) co_return error(errc::closed, "this node is shutting down");
  if (group->forgotten) co_return error(errc::unknown_group, "the group has been destroyed");
  const gate_pass inside = owner_.work_.pass();
  begin(group, notice, 0);
  const shared news = find(group->id, notice_kind::revoked);
  if (news == nullptr) co_return revoke_report{};  // it was revoked with the group that it is within
  deadline_stop over{deadline(saturating_add(owner_.executor_.now(), owner_.options_.revoke_emission))};
  while (news->connecting() != 0 && !over.stop_requested()) {
    news->progress.reset();
    const status moved = co_await news->progress.wait(over.token());
    moved.ignore();
  }
  co_return news->report();
}

void revoker::announce_end(const std::shared_ptr<group_state>& group) {
  end_by_notice(group, notice_of(*group, notice_kind::ended), 0);
}

/// Takes the first news of a revoke. In this turn the group is marked, every notice is queued, and everything
/// that the revoke covers ends. Later news of the same revoke changes nothing.
void revoker::begin(const std::shared_ptr<group_state>& group, const notice_head& notice, node_id sender) {
  shared news = find(group->id, notice_kind::revoked);
  if (group->revoked != nullptr) {
    if (news != nullptr && sender != 0) news->knows(sender);
    return;
  }
  if (news == nullptr) news = make_news(notice);
  if (news->over || news->apart) news->knowing.clear();  // of a group that was adopted before
  leaving_ -= std::exchange(news->over, false);
  news->apart = false;
  std::erase(unknown_, group->id);
  news->notice = notice;
  news->group = group;
  if (sender != 0) news->knows(sender);
  group->revoked = std::make_unique<const error>(revoked_by(notice));
  ++owner_.statistics_.revoked;
  owner_.journal_->group_revoked(*group);
  spread(*news, sender);
  owner_.end_all_of(*group, *group->revoked);
}

/// Ends a group with the first notice of its end, and passes the notice on as that of a revoke. No notice is
/// owed to a dead member, because members ask each other whether such a group has ended. For the same reason
/// no notice is sent if notices about too many groups are under way.
void revoker::end_by_notice(const std::shared_ptr<group_state>& group, const notice_head& notice,
                            node_id sender) {
  if (find(group->id, notice_kind::ended) != nullptr || leaving_ >= max_leaving_revokes) return;
  const shared news = make_news(notice);
  news->group = group;
  leave(*news);
  if (sender != 0) news->knows(sender);
  spread(*news, sender);
  forget_if_done(*news);
}

void revoker::spread(revocation& news, node_id sender) {
  const membership& members = *news.group->members;
  const revoke_targets to = targets_of(*news.group, news.notice, owner_.dead_ranks(*news.group), sender);
  for (const std::uint32_t rank : to.dead) owe(news, members.node(rank));
  const std::size_t at_once =
      sender == 0 ? to.living.size() : to.children;  // whoever begins goes on to plan B
  for (std::size_t i = 0; i < to.living.size(); ++i) {
    const node_id node = members.node(to.living[i]);
    if (!news.is_told(node)) (i < at_once ? news.to_tell : news.others).push_back(node);
  }
  pump_or_wait(news);
  if (news.others.empty() ||
      SCOLL_MUTANT(revoke_tree_alone, "a revoke goes down its tree, and to nobody else"))
    return;
  spreading_.emplace_back(news.notice.group, news.kind());
  if (!rest_.scheduled()) owner_.executor_.schedule_late(rest_);
}

/// Tells the neighbours in the graph, once the children in the tree have been told. Most of them hear from
/// others first, so threads of this processor that have not heard at all go first.
void revoker::spread_rest() noexcept {
  owner_.executor_.give_way();
  for (const key& one : std::exchange(spreading_, {})) {
    const shared news = find(one.first, one.second);
    if (news == nullptr) continue;  // it has been given up
    news->to_tell.insert(news->to_tell.end(), news->others.begin(), news->others.end());
    news->others.clear();
    pump_or_wait(*news);
    news->progress.set();
    forget_if_done(*news);
  }
}

// ---- receipts

namespace {

bool makes_sense(const notice_head& notice) noexcept {
  return notice.kind <= static_cast<std::uint8_t>(notice_kind::ended) &&
         notice.ends_with <= static_cast<std::uint8_t>(lifetime::members);
}

}  // namespace

bool revoker::fits(const notice_head& notice, const group_state& group, node_id sender) {
  const membership& members = *group.members;
  const bool ends = notice.kind == static_cast<std::uint8_t>(notice_kind::ended);
  return members.rank_of(sender) && notice.initiator < members.size() &&
         members.node(notice.initiator) == notice.by && (!ends || group.ends_with == lifetime::members);
}

bool revoker::hear(transport::session& from, std::span<const std::byte> bytes) {
  const auto notice = wire::decode_from<notice_head>(bytes);
  if (!notice || !makes_sense(*notice)) return false;
  auto group = owner_.groups_.find(notice->group);
  // A notice about a group shows that it exists, as a request does.
  if (group == nullptr && owner_.agreements_->hold_voted(notice->group))
    group = owner_.groups_.find(notice->group);
  if (group == nullptr) {
    hear_of_unknown(*notice, from.peer());
    return true;
  }
  if (!fits(*notice, *group, from.peer())) return false;
  if (notice->kind == static_cast<std::uint8_t>(notice_kind::revoked)) {
    if (!group->forgotten) begin(group, *notice, from.peer());
    return true;
  }
  end_by_notice(group, *notice, from.peer());
  owner_.end_group(group, {group_fate::destroyed, notice->by, 0});
  return true;
}

void revoker::hear_refusal(const std::shared_ptr<group_state>& group, const error& why, node_id from) {
  if (group->revoked != nullptr || group->forgotten) return;
  notice_head notice = notice_of(*group, notice_kind::revoked);
  notice.by = from;
  notice.life = 0;
  read_revoked(why, notice);
  // The tree begins at the node that has revoked the group, or at least where the news came from.
  const auto rank = group->members->rank_of(notice.by);
  notice.by = rank ? notice.by : from;
  notice.initiator = rank ? *rank : group->members->rank_of(from).value_or(group->self_rank);
  begin(group, notice, from);
}

revoker::shared revoker::make_news(const notice_head& notice) {
  const shared made = std::make_shared<revocation>(*this, notice);
  all_.emplace(key(notice.group, made->kind()), made);
  return made;
}

revoker::shared revoker::find(const group_id& group, notice_kind kind) const {
  const auto found = all_.find({group, kind});
  return found == all_.end() ? nullptr : found->second;
}

// ---- notices

/// Hands notices to the sessions until this node has as many as it may have. Returns false if some are left.
bool revoker::pump(revocation& news) {
  while (news.next < news.to_tell.size()) {
    if (!send(news, news.to_tell[news.next])) return false;
    ++news.next;
  }
  return true;
}

void revoker::pump_or_wait(revocation& news) {
  if (news.stalled || pump(news)) return;
  news.stalled = true;
  stalled_.emplace_back(news.notice.group, news.kind());
}

/// Returns false if there is no room for the notice now.
bool revoker::send(revocation& news, node_id node) {
  transport::session* const peer = owner_.endpoint_.find(node);
  if (peer == nullptr) {
    owe(news, node);
    return true;
  }
  if (peer->notices_queued() >= max_notices_of_member) {
    behind_[node].emplace_back(news.notice.group, news.kind());
    ++news.behind;
    return true;
  }
  transport::message& m = owner_.endpoint_.acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), news.notice));
  member_notice& ticket = news.telling.emplace_back(
      [](transport::emission& told, transport::notice_state state, const error&) noexcept {
        auto& self = static_cast<member_notice&>(told);
        self.of->by->on_progress(self, state);
      },
      news, node);
  const status sent = peer->notify(m, ticket);
  if (sent) return true;
  news.telling.pop_back();
  if (sent.error() == errc::busy) return false;
  owe(news, node);
  return true;
}

void revoker::owe(revocation& news, node_id node) {
  if (!news.over && !news.owes(node)) news.owed.push_back(node);
}

void revoker::on_progress(member_notice& notice, transport::notice_state state) {
  revocation& news = *notice.of;
  const node_id node = notice.node;
  const shared kept = find(news.notice.group, news.kind());
  using enum transport::notice_state;
  if (state == lost) {
    news.emitted -= notice.counted;
    owe(news, node);
  } else if (!std::exchange(notice.counted, true)) {
    ++news.emitted;
  }
  if (state == acknowledged) news.knows(node);
  if (state != emitted) news.telling.remove_if([&](const member_notice& m) { return &m == &notice; });
  news.progress.set();
  continue_behind(node);
  continue_stalled();
  forget_if_done(news);
}

/// Goes on with the notices to a member, if there is room for them again.
void revoker::continue_behind(node_id member) {
  const auto found = behind_.find(member);
  if (found == behind_.end()) return;
  const transport::session* const peer = owner_.endpoint_.find(member);
  std::deque<key>& waiting = found->second;
  while (!waiting.empty() && peer->notices_queued() < max_notices_of_member) {
    const shared news = find(waiting.front().first, waiting.front().second);
    waiting.pop_front();
    if (news == nullptr || news->behind == 0) continue;  // it has been given up
    --news->behind;
    if (!news->is_told(member)) news->to_tell.push_back(member);
    pump_or_wait(*news);
    forget_if_done(*news);
  }
  if (waiting.empty()) behind_.erase(found);
}

void revoker::continue_stalled() {
  for (; !stalled_.empty(); stalled_.pop_front()) {
    const shared news = find(stalled_.front().first, stalled_.front().second);
    if (news == nullptr) continue;  // it has been given up
    if (!pump(*news)) return;
    news->stalled = false;
    forget_if_done(*news);
  }
}

// ---- debts

void revoker::tell(const group_id& group, transport::session& peer) {
  const shared news = find(group, notice_kind::revoked);
  if (news == nullptr || news->is_told(peer.peer())) return;
  static_cast<void>(news->settle(peer.peer()));
  news->to_tell.push_back(peer.peer());
  pump_or_wait(*news);
}

void revoker::met(transport::session& peer) {
  returned(peer.peer());
}

void revoker::returned(node_id node) {
  if (SCOLL_MUTANT(revoke_owed_forgotten, "a member that was held dead and lives is not told of a revoke"))
    return;
  for (auto& [id, news] : all_) {
    if (!news->settle(node) || news->is_told(node)) continue;
    news->to_tell.push_back(node);
    pump_or_wait(*news);
  }
}

// ---- the end

group_ending revoker::ending_of(const group_id& group) const noexcept {
  const shared news = find(group, notice_kind::revoked);
  if (news == nullptr) return {};
  return {group_fate::revoked, news->notice.by, news->notice.reason};
}

void revoker::dropped(const group_id& group) noexcept {
  const shared news = find(group, notice_kind::revoked);
  if (news == nullptr) return;
  std::erase(unknown_, group);
  leave(*news);
  news->owed.clear();
  if (leaving_ > max_leaving_revokes) give_up(*news);
  forget_if_done(*news);
}

/// Sends no further notice.
void revoker::give_up(revocation& news) noexcept {
  news.to_tell.resize(news.next);
  news.others.clear();
  news.behind = 0;
}

/// Notes that the group is not held here any more. Notices that are under way go on.
void revoker::leave(revocation& news) noexcept {
  if (!std::exchange(news.over, true)) ++leaving_;
}

/// True if no notice is to be sent or under way.
bool revoker::is_done(const revocation& news) noexcept {
  return news.telling.empty() && news.others.empty() && news.next == news.to_tell.size() && news.behind == 0;
}

void revoker::forget_if_done(revocation& news) noexcept {
  if (!news.over || !is_done(news)) return;
  const key done(news.notice.group, news.kind());
  if (find(done.first, done.second).get() != &news) return;
  if (news.apart) std::erase(unknown_, done.first);
  erase(done);
}

void revoker::erase(const key& which) noexcept {
  const auto found = all_.find(which);
  if (found == all_.end()) return;
  leaving_ -= found->second->over;
  all_.erase(found);
}

void revoker::stop() noexcept {
  for (auto& [id, news] : all_) {
    give_up(*news);
    news->telling.clear();
    news->owed.clear();
    news->progress.set();
  }
  stalled_.clear();
  behind_.clear();
  spreading_.clear();
  if (rest_.scheduled()) owner_.executor_.unschedule_late(rest_);
}

}  // namespace scoll::detail
