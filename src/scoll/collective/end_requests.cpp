#include "scoll/collective/end_requests.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

/// A creator tells the members twice, for 5 s each at most.
constexpr nanoseconds longest_wait = std::chrono::seconds(11);

/// The head of a creator's answer; the payload is the text of its error.
struct end_answer_head {
  std::uint16_t code = 0;
};

transport::message& make_request(transport::endpoint& at, const group_id& id) {
  collective_head head;
  head.kind = static_cast<std::uint8_t>(collective_kind::end);
  head.group = id;
  transport::message& m = at.acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  m.copy_payload({}, wire::checksum({}));
  return m;
}

/// The answer of a creator that has done what it could.
status read_answer(std::span<const std::byte> head, std::span<const std::byte> text) {
  const auto said = wire::decode_from<end_answer_head>(head);
  if (!said) return said.error();
  if (said->code == 0) return {};
  // The bytes are characters. NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  const std::string_view words(reinterpret_cast<const char*>(text.data()), text.size());
  return error(static_cast<errc>(said->code), words);
}

/// True if a creator that refused for this reason has ended the group, or is in another life.
bool shows_ended(const error& why) noexcept {
  return why == errc::unknown_group || why == errc::peer_rebooted;
}

}  // namespace

// ---- the member

task<engine::end_requests::answer> engine::end_requests::ask(group_id id) {
  transport::session* const creator = owner_.endpoint_.find(id.creator);
  if (creator == nullptr) {
    co_return answer{std::nullopt,
                     make_error(errc::unreachable, "no address is known for node {}", id.creator)};
  }
  question q;
  const status sent = creator->request(q, transport::traffic_class::urgent,
                                       make_request(owner_.endpoint_, id), error::text_capacity);
  if (!sent) co_return answer{std::nullopt, sent.error()};
  asking_.push_back(q);
  deadline_stop limit{deadline(owner_.executor_.now() + longest_wait)};
  const status waited = co_await q.done.wait(limit.token());
  if (q.pending()) q.cancel();
  if (!waited) q.heard.missed = {errc::deadline_exceeded, "the creator has not answered"};
  co_return q.heard;
}

void engine::end_requests::on_answer(transport::exchange& self, transport::reply_event& event) noexcept {
  if (!event.final) return;
  auto& q = static_cast<question&>(self);
  if (event.outcome) {
    q.heard.creator_says = read_answer(event.head, event.payload.bytes);
  } else if (event.refused && shows_ended(event.outcome.error())) {
    q.heard.creator_says = status();
  } else {
    q.heard.missed = event.outcome.error();
  }
  q.done.set();
}

void engine::end_requests::stop() noexcept {
  for (question* q = asking_.first(); q != nullptr; q = asking_.next(*q)) {
    if (!q->pending()) continue;
    q->cancel();
    q->heard.missed = {errc::closed, "this node is shutting down"};
    q->done.set();
  }
}

// ---- the creator

error engine::end_requests::serve(transport::request_view& request, const collective_head& head) {
  if (head.group.creator != owner_.options_.id)
    return make_error(errc::malformed, "node {} has not created the group", owner_.options_.id);
  if (head.group.incarnation != owner_.options_.incarnation)
    return make_error(errc::peer_rebooted, "node {} is in another life", owner_.options_.id);
  const auto group = owner_.find_group(head.group);
  if (group == nullptr) return {errc::unknown_group, "the creator has ended the group"};
  if (!group->members->rank_of(request.from().peer()))
    return make_error(errc::not_member, "node {} is not in the group", request.from().peer());
  if (group->creating) return {errc::busy, "the group is being created"};
  const auto work = serving_.emplace(serving_.end());
  request.accept(*work);
  work->release_credit();
  owner_.spawn(end(work, group));
  return {};
}

task<void> engine::end_requests::end(std::list<served>::iterator work, std::shared_ptr<group_state> group) {
  const gate_pass in_node = owner_.work_.pass();
  const status ended = co_await owner_.destroy_group(std::move(group));
  if (work->open()) reply(*work, ended);
  serving_.erase(work);
}

void engine::end_requests::reply(transport::incoming& work, const status& ended) {
  const end_answer_head head{ended ? std::uint16_t{0} : static_cast<std::uint16_t>(ended.error().code())};
  const std::string_view text = ended ? std::string_view() : ended.error().text();
  transport::message& m = owner_.endpoint_.acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  const auto bytes = std::as_bytes(std::span(text));
  m.copy_payload(bytes, wire::checksum(bytes));
  work.reply(m);
}

bool engine::end_requests::cancelled(transport::incoming& work) noexcept {
  const auto found = std::find_if(serving_.begin(), serving_.end(), [&](const served& s) {
    return static_cast<const transport::incoming*>(&s) == &work;
  });
  if (found == serving_.end()) return false;
  found->drop();
  return true;
}

}  // namespace scoll::detail
