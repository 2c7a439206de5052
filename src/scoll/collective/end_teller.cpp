#include "scoll/collective/end_teller.hpp"

#include <algorithm>
#include <chrono>

#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/size_limits.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

/// A member that is there answers within a round trip.
constexpr nanoseconds longest_answer = std::chrono::seconds(1);
/// How often to see whether the gossip of this node takes part.
constexpr nanoseconds hold_pause = std::chrono::seconds(1);

}  // namespace

engine::end_teller::end_teller(engine& owner) noexcept : owner_(owner) {
  for (telling& request : requests_) request.owner = this;
}

void engine::end_teller::keep(ended_group group) {
  groups_.keep(std::move(group), owner_.executor_.now());
  rearm();
}

void engine::end_teller::died(node_id node) {
  groups_.died(node);
  rearm();
}

void engine::end_teller::heard_of(node_id node) {
  groups_.heard_of(node, owner_.executor_.now());
  rearm();
}

void engine::end_teller::stop() noexcept {
  groups_.clear();
  for (telling& request : requests_) {
    if (request.pending()) request.cancel();
  }
  rearm();
}

void engine::end_teller::on_answer(transport::exchange& self, transport::reply_event& event) noexcept {
  if (!event.final) return;
  const auto& request = static_cast<const telling&>(self);
  end_teller& by = *request.owner;
  const time_point now = by.owner_.executor_.now();
  if (event.outcome || shows_no_group(event.outcome.error())) {
    by.groups_.told(request.turn.id, request.turn.node, now);
  } else {
    by.groups_.missed(request.turn.node, now);
  }
  by.rearm();
}

void engine::end_teller::on_timer() noexcept {
  const time_point now = owner_.executor_.now();
  give_up_silent(now);
  if (owner_.hold_.open()) tell_due(now);
  rearm();
}

/// The request may still arrive and do its work: then the member answers the next one with `unknown_group`.
void engine::end_teller::give_up_silent(time_point now) noexcept {
  for (telling& request : requests_) {
    if (!request.pending() || request.until > now) continue;
    request.cancel();
    groups_.missed(request.turn.node, now);
  }
}

void engine::end_teller::tell_due(time_point now) noexcept {
  for (telling& request : requests_) {
    if (request.pending()) continue;
    const auto turn = groups_.next(now);
    if (!turn) return;
    request.turn = *turn;
    tell(request, now);
  }
}

void engine::end_teller::tell(telling& request, time_point now) noexcept {
  transport::session* const member = owner_.endpoint_.find(request.turn.node);
  request.until = now + longest_answer;
  const bool sent = member != nullptr && member->request(request, transport::traffic_class::collective,
                                                         make_request(request.turn), account_reserve_bytes);
  if (!sent) groups_.missed(request.turn.node, now);
}

/// To the member, this is the end of the group in a flat tree, whose other members it does not see.
transport::message& engine::end_teller::make_request(const ending_groups::turn& turn) {
  const tree_spec tree = flat{};
  collective_head head;
  head.kind = static_cast<std::uint8_t>(collective_kind::forget);
  head.tree_kind = tree.kind;
  head.tree_params = tree.params;
  head.service = static_cast<std::uint32_t>(turn.service);
  head.service_version = owner_.group_service_->table->version;
  head.root_rank = turn.self_rank;
  head.group = turn.id;
  head.operation = {owner_.options_.id, owner_.options_.incarnation, turn.counter, 0};
  head.remaining_ns = static_cast<std::uint64_t>(longest_answer.count());
  transport::message& m = owner_.endpoint_.acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  std::array<std::byte, max_forget_bytes> bytes;
  const std::size_t size = *encode_forget({turn.ends_with, owner_.statement_for(turn.id)}, bytes);
  const auto payload = std::span<const std::byte>(bytes).first(size);
  m.copy_payload(payload, wire::checksum(payload));
  return m;
}

void engine::end_teller::rearm() noexcept {
  const time_point now = owner_.executor_.now();
  time_point next = never;
  bool all_busy = true;
  for (const telling& request : requests_) {
    all_busy = all_busy && request.pending();
    if (request.pending()) next = std::min(next, request.until);
  }
  const time_point due = groups_.due();
  if (!all_busy && due != never)
    next = std::min(next, std::max(due, owner_.hold_.open() ? now : now + hold_pause));
  if (timer_.armed()) owner_.executor_.disarm(timer_);
  if (next != never) owner_.executor_.arm(timer_, next);
}

}  // namespace scoll::detail
