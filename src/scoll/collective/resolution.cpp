#include "scoll/collective/resolution.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "scoll/collective/admissions.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/hook_name.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/member_questions.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/transfer.hpp"

// The searches for the members of groups that are not known here yet. Each runs in a step of its own, never
// inside the arrival of a request.
namespace scoll::detail {
namespace {

group_id without_digest(service_id service, std::uint64_t id) noexcept {
  return out_of_band_group(service, id, {});
}

result<membership_ptr> members_of(std::vector<target> targets, const membership_digest& expected) {
  auto members = membership::make(std::move(targets));
  if (members && (*members)->digest() != expected)
    return error(errc::malformed, "the membership does not have the digest of its group id");
  return members;
}

result<membership_ptr> members_in(std::span<const std::byte> encoded, const membership_digest& expected) {
  auto targets = decode_membership(encoded);
  if (!targets) return targets.error();
  return members_of(std::move(*targets), expected);
}

}  // namespace

bool engine::admissions::asking() const noexcept {
  return std::ranges::any_of(searches_, [](const auto& search) { return search->by_hook(); });
}

void engine::admissions::add_running_hooks(std::vector<std::string>& names) const {
  for (const auto& search : searches_) {
    if (search->by_hook()) names.push_back(hook_name(*search->service->table, "members"));
  }
}

std::shared_ptr<resolution> engine::admissions::ask(const std::shared_ptr<service_entry>& service,
                                                    std::uint64_t id) {
  const group_id wanted = without_digest(service->table->id, id);
  for (const auto& search : searches_) {
    if (search->by_hook() && search->of == wanted &&
        !SCOLL_MUTANT(resolution_per_request, "each request asks for the members of its group by itself"))
      return search;
  }
  auto search = std::make_shared<resolution>();
  search->of = wanted;
  search->service = service;
  search->in_node = owner_.work_.pass();
  search->in_service = service->users.pass();
  searches_.push_back(search);
  owner_.scope_->spawn(run_hook(search));
  return search;
}

/// The search for the members of a group that this node does not ask its service for. Null if there is none,
/// or only one that has been stopped.
std::shared_ptr<resolution> engine::admissions::search_of_members(const group_id& group) const {
  const auto found = std::ranges::find_if(searches_, [&](const auto& search) {
    return !search->by_hook() && search->of == group && !search->stop.stop_requested();
  });
  return found == searches_.end() ? nullptr : *found;
}

error engine::admissions::why_no_pull(std::uint64_t bytes) const {
  if (bytes == 0 || bytes > max_pulled_membership_bytes) {
    return make_error(errc::too_large, "a membership of {} bytes: at most {} are pulled", bytes,
                      max_pulled_membership_bytes);
  }
  std::uint64_t under_way = bytes;
  for (const auto& search : searches_) under_way += search->from.length;
  if (under_way <= max_pulled_membership_bytes_at_once) return {};
  return make_error(errc::busy, "memberships of {} bytes are under way here: at most {} fit", under_way,
                    max_pulled_membership_bytes_at_once);
}

std::shared_ptr<resolution> engine::admissions::ask_member(const group_id& group, node_id member) {
  if (auto known = search_of_members(group)) return known;
  auto search = std::make_shared<resolution>();
  search->of = group;
  search->asked = member;
  search->in_node = owner_.work_.pass();
  searches_.push_back(search);
  owner_.scope_->spawn(run_question(search));
  return search;
}

result<std::shared_ptr<resolution>> engine::admissions::pull(const group_id& group,
                                                             const transport::region_descriptor& from) {
  if (auto known = search_of_members(group)) return known;
  if (const error full = why_no_pull(from.length)) return full;
  auto search = std::make_shared<resolution>();
  search->of = group;
  search->from = from;
  search->in_node = owner_.work_.pass();
  searches_.push_back(search);
  owner_.scope_->spawn(run_pull(search));
  return search;
}

task<void> engine::admissions::run_hook(std::shared_ptr<resolution> search) {
  std::optional<membership_ptr> named;
  const service_entry& service = *search->service;
  const status ended = co_await service.table->members(service.instance, search->of.counter, &named);
  if (!ended) {
    search->failed = ended.error();
  } else if (*named == nullptr) {
    search->failed = {errc::hook_failed, "members returned a null membership"};
  } else {
    search->members = std::move(*named);
  }
  finish(search);
}

task<void> engine::admissions::run_pull(std::shared_ptr<resolution> search) {
  co_await pull_members(*search);
  finish(search);
}

task<void> engine::admissions::run_question(std::shared_ptr<resolution> search) {
  const group_id group = search->of;
  auto said = co_await owner_.member_questions_->ask(group, search->asked, search->stop.token());
  if (!said) {
    search->failed = said.error();
  } else if (said->elsewhere && said->elsewhere->node != search->asked) {
    search->failed = {errc::malformed, "a member offers members that lie elsewhere"};
  } else if (said->elsewhere) {
    search->failed = why_no_pull(said->elsewhere->length);
    search->from = search->failed ? search->from : *said->elsewhere;
    if (!search->failed) co_await pull_members(*search);
  } else if (auto members = members_of(std::move(said->targets), group.digest); !members) {
    search->failed = members.error();
  } else {
    search->members = std::move(*members);
  }
  finish(search);
}

/// Pulls the encoded members, and offers them here.
task<void> engine::admissions::pull_members(resolution& search) {
  std::vector<std::byte> encoded(search.from.length);
  transport::transfer_options options;
  options.stop = search.stop.token();
  options.checked = true;
  if (search.asked != 0) options.deadline = offer_time;  // no request limits the time of such a search
  const status pulled = co_await transport::pull(owner_.endpoint_, search.from, 0, encoded, options);
  if (!pulled) {
    search.failed = pulled.error();
  } else if (auto members = members_in(encoded, search.of.digest); !members) {
    search.failed = members.error();
  } else if (auto offered = offer_members(owner_.endpoint_, std::move(encoded)); !offered) {
    search.failed = offered.error();
  } else {
    search.members = std::move(*members);
    search.offered = std::move(*offered);
  }
}

/// A search has ended: the requests that have waited for it are checked again, in the order in which they
/// arrived. Without members they are refused, except for those that can still pull from another parent.
void engine::admissions::finish(const std::shared_ptr<resolution>& search) noexcept {
  std::erase(searches_, search);
  if (search->members != nullptr && search->by_hook()) owner_.hold_mapped(*search);
  intrusive_list<pending_admission> answered;
  for (pending_admission* at = waiting_.first(); at != nullptr;) {
    pending_admission& waiting = *std::exchange(at, waiting_.next(*at));
    if (waiting.members != search) continue;
    take_out(waiting);
    answered.push_back(waiting);
  }
  while (!answered.empty()) {
    pending_admission& waited = answered.pop_front();
    const bool alone = search->by_hook() || waited.offered == search->from;
    if (search->failed && alone) {
      refuse(waited, search->failed);
    } else {
      admit_again(waited);
    }
  }
  rearm();
  search->in_node.leave();
  search->in_service.leave();
  search->done.set();
}

void engine::admissions::admit_again(pending_admission& waited) noexcept {
  const error refused = owner_.admit_safely(admission_request(waited), waited.head);
  if (waited.list_hook<>::linked()) return;
  if (!waited.open()) return give_back(waited);
  refuse(waited, refused);
}

}  // namespace scoll::detail
