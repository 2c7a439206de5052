#include "scoll/collective/member_questions.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/limits.hpp"
#include "scoll/collective/revoke.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

transport::message& make_question(transport::endpoint& at, const group_id& group) {
  collective_head head;
  head.kind = static_cast<std::uint8_t>(collective_kind::members);
  head.group = group;
  transport::message& m = at.acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  m.copy_payload({}, wire::checksum({}));
  return m;
}

}  // namespace

engine::member_questions::~member_questions() {
  stop();
}

// ---- the node that asks

task<result<creation_section>> engine::member_questions::ask(group_id group, node_id member,
                                                             stop_token stop) {
  transport::session* const peer = owner_.endpoint_.find(member);
  if (peer == nullptr) co_return make_error(errc::unreachable, "no address is known for node {}", member);
  question q;
  const status sent =
      peer->request(q, transport::traffic_class::urgent, make_question(owner_.endpoint_, group),
                    static_cast<std::uint32_t>(max_collective_payload_bytes));
  if (!sent) co_return sent.error();
  deadline_stop limit{deadline(owner_.executor_.now() + offer_time / 2), stop};
  const status waited = co_await q.done.wait(limit.token());
  if (q.pending()) q.cancel();
  if (!waited) co_return limit.explain(waited.error());
  co_return std::move(q.heard);
}

void engine::member_questions::on_answer(transport::exchange& self, transport::reply_event& event) noexcept {
  if (!event.final) return;
  auto& q = static_cast<question&>(self);
  if (event.outcome) {
    q.heard = decode_creation(event.payload.bytes);
  } else {
    q.heard = event.outcome.error();
  }
  q.done.set();
}

// ---- the member

error engine::member_questions::answer(transport::request_view& request, const collective_head& head) {
  auto group = owner_.groups_.find(head.group);
  if (group == nullptr) group = owner_.revokes_->told_of(head.group);
  if (group == nullptr) {
    return make_error(errc::unknown_group, "node {} does not hold group {} of node {}", owner_.options_.id,
                      head.group.counter, head.group.creator);
  }
  if (!group->members->rank_of(request.from().peer()))
    return make_error(errc::not_member, "node {} is not in the group", request.from().peer());
  if (request.reply_capacity() < max_collective_payload_bytes)
    return {errc::malformed, "a question for members with no room for the answer"};
  transport::buffer_ref buffer = owner_.endpoint_.acquire_payload();
  if (!buffer) return owner_.wire().no_payload_left("the members of a group");
  const auto size = encode(*group, {buffer.data(), max_collective_payload_bytes});
  if (!size) return size.error();
  transport::message& m = owner_.endpoint_.acquire_message();
  m.set_head_bytes(0);
  const std::span<const std::byte> bytes(buffer.data(), *size);
  m.share_payload({std::move(buffer), bytes}, wire::checksum(bytes));
  transport::incoming work;
  request.accept(work);
  work.reply(m);
  return {};
}

result<std::size_t> engine::member_questions::encode(group_state& group, std::span<std::byte> into) {
  auto size = encode_creation(group.terms(), *group.members, into);
  if (size || group.inline_only) return size;
  auto offered = group.offer(owner_.endpoint_);
  if (!offered) return offered.error();
  size = encode_creation(group.terms(), (*offered)->region.descriptor(), into);
  if (!size) return size;
  if (const error full = keep(std::move(*offered))) return full;
  return size;
}

/// Keeps members exposed for a while.
error engine::member_questions::keep(std::shared_ptr<offered_members> members) {
  const time_point until = owner_.executor_.now() + offer_time;
  std::erase_if(offers_, [&](const offer& known) { return known.members == members; });
  if (offers_.size() >= max_offers_to_questions) {
    return make_error(errc::busy, "the members of {} groups are offered here to nodes that have asked",
                      offers_.size());
  }
  offers_.push_back({std::move(members), until});
  if (!timer_.armed()) owner_.executor_.arm(timer_, offers_.front().until);
  return {};
}

void engine::member_questions::on_timer() noexcept {
  const time_point now = owner_.executor_.now();
  std::erase_if(offers_, [&](const offer& known) { return known.until <= now; });
  if (!offers_.empty()) owner_.executor_.arm(timer_, offers_.front().until);
}

void engine::member_questions::stop() noexcept {
  offers_.clear();
  if (timer_.armed()) owner_.executor_.disarm(timer_);
}

}  // namespace scoll::detail
