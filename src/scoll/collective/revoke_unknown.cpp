#include <algorithm>
#include <utility>

#include "scoll/collective/admissions.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/revoke.hpp"
#include "scoll/coro/mutants.hpp"

// This file keeps revokes of groups that this node does not hold: those of which it knows no more than a notice, and
// out-of-band groups that were dropped.
namespace scoll::detail {
namespace {

/// Makes a group that this node does not hold, but whose members it knows.
std::shared_ptr<group_state> members_of(const group_state& group) {
  auto known = std::make_shared<group_state>();
  known->id = group.id;
  known->members = group.members;
  known->self_rank = group.self_rank;
  return known;
}

}  // namespace

/// Keeps the notice, and asks for the list of members, so that the notice can be passed on. The list may also
/// come with the creation, if that is still on its way, or with a group that this node adopts. The group is
/// not installed, and nothing of it begins here.
void revoker::hear_of_unknown(const notice_head& notice, node_id sender) {
  if (SCOLL_MUTANT(revoke_unknown_dropped, "a notice about a group that is not known yet is dropped")) return;
  const auto kind = static_cast<notice_kind>(notice.kind);
  if (const shared known = find(notice.group, kind)) {
    known->knows(sender);
    return ask_for_members(known);
  }
  const bool ends = kind == notice_kind::ended;
  const group_ending known = owner_.groups_.refusal_of(notice.group);
  if (known && (known.gone || !ends)) return;
  const group_fate fate = ends ? group_fate::destroyed : group_fate::revoked;
  const auto ends_with = static_cast<lifetime>(notice.ends_with);
  // A tombstone is kept for known creators only, because a notice may name any number.
  const bool possible =
      ends_with == lifetime::members || owner_.endpoint_.find(notice.group.creator) != nullptr;
  // If there is no room for a tombstone, the notice is passed on all the same.
  if (possible)
    static_cast<void>(owner_.groups_.bury(notice.group, ends_with, {fate, notice.by, notice.reason, ends}));
  owner_.admissions_->end_group(
      notice.group, ends ? error(errc::unknown_group, "the group ended before its members were known")
                         : revoked_by(notice));
  if (ends) return;
  make_room_for_unknown();
  const shared news = make_news(notice);
  news->apart = true;
  news->knows(sender);
  unknown_.push_back(notice.group);
  ask_for_members(news);
}

void revoker::ask_for_members(const shared& news) {
  if (!news->apart || news->group != nullptr || news->asking || owner_.work_.closed()) return;
  if (SCOLL_MUTANT(revoke_creation_silent, "a member that does not know a revoked group passes nothing on"))
    return;
  news->asking = true;
  owner_.spawn(find_members(news));
}

/// Asks the members that have told of the revoke for the list of members, one after the other.
task<void> revoker::find_members(shared news) {
  const group_id id = news->notice.group;
  while (news->group == nullptr && news->asked < news->knowing.size()) {
    const node_id member = news->knowing[news->asked++];
    const service_id service{static_cast<std::uint32_t>(id.incarnation)};  // if it is an out-of-band group
    auto found = co_await owner_.find_members(id, service, member);
    if (found) owner_.learn_members(id, std::move(*found));
  }
  news->asking = false;
}

std::shared_ptr<group_state> revoker::told_of(const group_id& group) const {
  const shared news = find(group, notice_kind::revoked);
  return news == nullptr || !news->apart ? nullptr : news->group;
}

void revoker::make_room_for_unknown() {
  while (unknown_.size() >= max_unknown_revokes) {
    erase({unknown_.front(), notice_kind::revoked});
    unknown_.pop_front();
  }
}

void revoker::members_known(const std::shared_ptr<group_state>& group) {
  const shared news = find(group->id, notice_kind::revoked);
  if (news == nullptr || news->group != nullptr) return;
  news->group = group;
  if (fits(news->notice, *group, news->notice.by)) spread(*news, news->knowing.front());
  forget_if_done(*news);
}

void revoker::held(const std::shared_ptr<group_state>& group) {
  const shared news = find(group->id, notice_kind::revoked);
  if (news != nullptr && news->apart) begin(group, notice_head(news->notice), 0);
}

error revoker::refusal_of_unknown(const group_id& group) const noexcept {
  const shared news = find(group, notice_kind::revoked);
  return news == nullptr || !news->apart ? error() : revoked_by(news->notice);
}

error revoker::why_not_held(const group_id& group) {
  const shared news = find(group, notice_kind::revoked);
  if (news == nullptr || !news->apart) return {};
  if (news->group == nullptr || !is_done(*news)) return revoked_by(news->notice);
  std::erase(unknown_, group);
  erase({group, notice_kind::revoked});
  return {};
}

bool revoker::make_room_in_cache() {
  const auto idle = std::ranges::find_if(all_, [this](const auto& each) {
    const revocation& news = *each.second;
    return !news.apart && !news.over && news.group != nullptr && news.group->mapped && is_done(news) &&
           owner_.groups_.only_here(news.group->id, 1);  // the other reference is this one
  });
  if (idle == all_.end()) return false;
  const shared news = idle->second;
  make_room_for_unknown();
  const std::shared_ptr<group_state> group = std::exchange(news->group, members_of(*news->group));
  news->apart = true;
  unknown_.push_back(group->id);
  owner_.mapped_.drop(*group);
  return true;
}

}  // namespace scoll::detail
