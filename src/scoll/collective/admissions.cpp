#include "scoll/collective/admissions.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "scoll/collective/bulks.hpp"
#include "scoll/collective/operation/times.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"

// The requests that wait: how they are kept, and how they end without an operation.
namespace scoll::detail {
namespace {

template <class Head>
std::optional<Head> copy_of(const Head* from) {
  return from == nullptr ? std::nullopt : std::optional<Head>(*from);
}

}  // namespace

void pending_admission::on_parent_cancelled(const transport::cancel_reason& reason) noexcept {
  owner->cancelled(*this, reason);
}

engine::admissions::~admissions() {
  SCOLL_ASSERT(waiting_.empty(), "a node was destroyed while requests waited for admission");
}

error engine::admissions::await_hook(const admission_request& request, const collective_head& head,
                                     const std::shared_ptr<service_entry>& service) {
  if (const error full = why_full()) return full;
  keep(request, head, ask(service, head.group.counter));
  return {};
}

error engine::admissions::await_pull(const admission_request& request, const collective_head& head,
                                     const transport::region_descriptor& from) {
  if (const error full = why_full()) return full;
  auto search = pull(head.group, from);
  if (!search) return search.error();
  keep(request, head, std::move(*search)).offered = from;
  return {};
}

error engine::admissions::why_full() const {
  const std::size_t most = owner_.options_.max_pending_admissions;
  if (waiting_count_ < most) return {};
  return make_error(errc::busy, "{} requests wait for admission: node.max_pending_admissions is {}",
                    waiting_count_, most);
}

/// Enters a request, for which there is a place.
pending_admission& engine::admissions::keep(const admission_request& request, const collective_head& head,
                                            std::shared_ptr<resolution> members) {
  pending_admission* waiting = request.waited();
  if (waiting == nullptr) {
    waiting = &free_place();
    waiting->head = head;
    waiting->bulk = copy_of(request.bulk());
    waiting->caller = copy_of(request.caller());
    waiting->parent = request.from();
    waiting->reply_capacity = request.reply_capacity();
    waiting->arrived = request.arrived();
    waiting->expires = time_to_admit(request.arrived(), head);
    waiting->payload = owner_.endpoint_.keep(std::move(request.payload()));
    request.accept(*waiting);
    waiting->release_credit();
  }
  waiting->members = std::move(members);
  waiting_.push_back(*waiting);
  ++waiting_count_;
  rearm();
  return *waiting;
}

pending_admission& engine::admissions::free_place() {
  if (free_.empty()) {
    places_.push_back(std::make_unique<pending_admission>());
    places_.back()->owner = this;
    return *places_.back();
  }
  return free_.pop_front();
}

void engine::admissions::take_out(pending_admission& waiting) noexcept {
  waiting.list_hook<>::unlink();
  --waiting_count_;
}

void engine::admissions::give_back(pending_admission& waiting) noexcept {
  waiting.payload = {};
  waiting.members.reset();
  free_.push_front(waiting);
}

void engine::admissions::refuse(pending_admission& waiting, const error& why) noexcept {
  ++owner_.statistics_.refused;
  if (waiting.bulk) owner_.bulks_->refused(waiting.head);
  waiting.refuse(why);
  give_back(waiting);
}

template <class Ends>
void engine::admissions::refuse_if(const error& why, Ends&& ends) noexcept {
  for (pending_admission* at = waiting_.first(); at != nullptr;) {
    pending_admission& waiting = *std::exchange(at, waiting_.next(*at));
    if (!ends(waiting)) continue;
    take_out(waiting);
    refuse(waiting, why);
  }
  stop_unwanted_pulls();
}

/// Stops the pulls from parents whose own requests do not wait any more. The other requests for the same
/// group then pull from their own parents.
void engine::admissions::stop_unwanted_pulls() noexcept {
  for (const auto& search : searches_) {
    bool wanted = search->by_hook() || search->asked != 0;
    for (pending_admission* at = waiting_.first(); at != nullptr && !wanted; at = waiting_.next(*at))
      wanted = at->members == search && at->offered == search->from;
    if (!wanted) search->stop.request_stop();
  }
}

void engine::admissions::cancelled(pending_admission& waiting,
                                   const transport::cancel_reason& reason) noexcept {
  take_out(waiting);
  if (reason.answer_awaited) {
    refuse(waiting, {reason.why, "the request was cancelled before its group was known"});
  } else {
    waiting.drop();
    give_back(waiting);
  }
  stop_unwanted_pulls();
}

void engine::admissions::end_group(const group_id& group, const error& why) noexcept {
  refuse_if(why, [&](const pending_admission& one) { return one.head.group == group; });
}

void engine::admissions::end_root(node_id root, std::uint64_t last_incarnation) noexcept {
  refuse_if(make_error(errc::peer_died, "node {}, the root of the broadcast, is dead", root),
            [&](const pending_admission& one) {
              const operation_id& id = one.head.operation;
              return id.root == root && id.incarnation <= last_incarnation;
            });
}

void engine::admissions::end_service(const service_entry& service) noexcept {
  const auto id = static_cast<std::uint32_t>(service.table->id);
  refuse_if(make_error(errc::unknown_service, "node {} does not serve {:#06x}", owner_.options_.id, id),
            [&](const pending_admission& one) { return one.head.service == id; });
}

void engine::admissions::end_all(const error& why) noexcept {
  refuse_if(why, [](const pending_admission&) { return true; });
  for (const auto& search : searches_) search->stop.request_stop();
}

time_point engine::admissions::due() noexcept {
  time_point first = never;
  for (pending_admission* at = waiting_.first(); at != nullptr; at = waiting_.next(*at))
    first = std::min(first, at->expires);
  return first;
}

void engine::admissions::rearm() noexcept {
  const time_point next = due();
  if (timer_.armed()) owner_.executor_.disarm(timer_);
  if (next != never && !SCOLL_MUTANT(pending_never_expires, "a request waits for its group without an end"))
    owner_.executor_.arm(timer_, next);
}

void engine::admissions::on_timer() noexcept {
  const time_point now = owner_.executor_.now();
  refuse_if({errc::deadline_exceeded, "the members of the group were not known in time"},
            [&](const pending_admission& one) { return one.expires <= now; });
  rearm();
}

}  // namespace scoll::detail
