#include "scoll/collective/sweeper.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "scoll/collective/creation_statement.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

/// The number of questions in a row without an answer after which an unused group is taken for the rest of a
/// failed creation whose creator is gone.
constexpr int patience = 3;

counter_ranges counters_of(const std::vector<std::shared_ptr<group_state>>& groups) {
  counter_ranges counters;
  for (const auto& group : groups) add_counter(counters, group->id.counter);
  return counters;
}

bool outlives_creator(const group_state& group) noexcept {
  return group.ends_with == lifetime::members;
}

}  // namespace

engine::sweeper::sweeper(engine& owner, nanoseconds lease)
    : owner_(owner), schedule_(lease, owner.options_.id * 0x9e3779b97f4a7c15 + owner.options_.incarnation) {}

void engine::sweeper::stop() noexcept {
  schedule_.clear();
  for (auto& [key, q] : questions_) {
    if (q->pending()) q->cancel();
  }
  questions_.clear();
  rearm();
}

void engine::sweeper::watch(const group_state& group) {
  const bool own = group.id.creator == owner_.options_.id;
  if (group.id.creator == 0 || (own && !outlives_creator(group))) return;
  schedule_.watch({group.id.creator, group.id.incarnation}, owner_.executor_.now());
  rearm();
}

void engine::sweeper::rearm() noexcept {
  if (timer_.armed()) owner_.executor_.disarm(timer_);
  const time_point due = schedule_.due();
  if (due != never && !SCOLL_MUTANT(sweep_never_asked, "a member never asks whether its groups still exist"))
    owner_.executor_.arm(timer_, due);
}

void engine::sweeper::on_timer() noexcept {
  while (const auto of = schedule_.next(owner_.executor_.now())) ask(*of);
  rearm();
}

/// The groups of that life that this node holds, in the order of their counters.
engine::sweeper::held_groups engine::sweeper::held_of(const creator_life& of) const {
  return owner_.groups_.of_life(of.creator, of.incarnation);
}

// ---- the question

void engine::sweeper::ask(const creator_life& of) {
  drop_hopeless(of);
  const held_groups groups = held_of(of);
  if (groups.empty()) {
    schedule_.end(of);
    take_back(of);
    return;
  }
  const counter_ranges about = schedule_.portion(of, counters_of(groups), max_sweep_bytes);
  const bool own = of.creator == owner_.options_.id;
  if (!own && !owner_.lives_.is_over(of.creator, of.incarnation)) ask_one(of, of.creator, about);
  if (const node_id other = next_member(of, groups); other != 0) ask_one(of, other, about);
}

/// One question to the creator and one to another member may be under way.
void engine::sweeper::ask_one(const creator_life& of, node_id node, const counter_ranges& about) {
  auto& q = questions_[{of, node == of.creator}];
  if (q == nullptr) q = std::make_unique<question>();
  if (q->pending()) q->cancel();
  q->owner = this;
  q->of = of;
  q->about = about;
  q->asked = node;
  send(*q);
}

void engine::sweeper::take_back(const creator_life& of) noexcept {
  for (const bool creator : {false, true}) {
    const auto last = questions_.find({of, creator});
    if (last == questions_.end()) continue;
    if (last->second->pending()) last->second->cancel();
    questions_.erase(last);
  }
}

/// Drops the groups whose creator cannot be asked any more.
void engine::sweeper::drop_hopeless(const creator_life& of) {
  if (SCOLL_MUTANT(used_group_expires, "a group is dropped when its lease ends, used or not"))
    return drop(held_of(of), [](const group_state&) { return true; });
  if (owner_.lives_.is_over(of.creator, of.incarnation)) return drop_of_creator(of);
  const bool impatient =
      SCOLL_MUTANT(sweep_silence_is_gone, "one question without an answer ends the groups it was about");
  const bool silent = schedule_.unanswered(of) >= (impatient ? 1 : patience);
  if (!silent || owner_.lives_.is_reported(of.creator, of.incarnation)) return;
  drop(held_of(of),
       [&](const group_state& group) { return (group.tentative && !outlives_creator(group)) || impatient; });
}

/// Drops all groups of that life except those that outlive it.
void engine::sweeper::drop_of_creator(const creator_life& of) {
  drop(held_of(of), [](const group_state& group) { return !outlives_creator(group); });
}

template <class Which>
void engine::sweeper::drop(const held_groups& groups, Which&& which) {
  for (const auto& group : groups) {
    if (which(*group)) owner_.end_group(group, {group_fate::destroyed, group->id.creator, 0});
  }
}

/// The member to ask about groups that outlive their creator: another member of another group each time. 0 if
/// there is no such group, or nobody to ask.
node_id engine::sweeper::next_member(const creator_life& of, const held_groups& groups) const {
  held_groups lasting;
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(lasting),
               [](const auto& group) { return outlives_creator(*group); });
  if (lasting.empty()) return 0;
  const std::uint64_t turn = schedule_.questions(of);
  const group_state& group = *lasting[turn % lasting.size()];
  const std::uint32_t n = group.members->size();
  for (std::uint32_t step = 1; step < n; ++step) {
    const std::uint64_t place = (turn / lasting.size() + step - 1) % (n - 1);
    const node_id node = group.members->node((group.self_rank + 1 + static_cast<std::uint32_t>(place)) % n);
    if (node != of.creator && !owner_.lives_.is_dead(node)) return node;
  }
  return 0;
}

void engine::sweeper::send(question& q) {
  transport::session* const asked = owner_.endpoint_.find(q.asked);
  if (asked == nullptr) return;
  collective_head head;
  head.kind = static_cast<std::uint8_t>(collective_kind::sweep);
  head.group.creator = q.of.creator;
  head.group.incarnation = q.of.incarnation;
  std::array<std::byte, max_sweep_bytes> bytes;
  wire::writer out(bytes);
  put_counters(out, q.about, bytes.size());
  transport::message& m = owner_.endpoint_.acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  if (!fill(m, out.written())) return owner_.endpoint_.release_message(m);
  asked->request(q, transport::traffic_class::urgent, m, max_sweep_bytes + max_statement_bytes).ignore();
}

/// Returns false if no payload buffer is left.
bool engine::sweeper::fill(transport::message& m, std::span<const std::byte> bytes) const {
  const std::uint64_t checksum = wire::checksum(bytes);
  if (bytes.size() <= transport::message::inline_payload_bytes) {
    m.copy_payload(bytes, checksum);
    return true;
  }
  transport::buffer_ref buffer = owner_.endpoint_.acquire_payload();
  if (!buffer) return false;
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  const std::span<const std::byte> kept(buffer.data(), bytes.size());
  m.share_payload({std::move(buffer), kept}, checksum);
  return true;
}

void engine::sweeper::on_answer(transport::exchange& self, transport::reply_event& event) noexcept {
  if (!event.final) return;
  auto& q = static_cast<question&>(self);
  const bool by_creator = q.asked == q.of.creator;
  if (by_creator && (event.outcome || event.refused)) q.owner->schedule_.answered(q.of);
  if (event.outcome) return q.owner->hear(q, event.payload.bytes);
  if (by_creator && event.refused && event.outcome.error() == errc::peer_rebooted)
    q.owner->drop_of_creator(q.of);
  // A node that was not reached is asked again after the next lease.
}

void engine::sweeper::hear(const question& q, std::span<const std::byte> said) {
  wire::reader in(said);
  const auto statement = take_statement(in);
  if (!statement) return;
  const auto gone = take_counters(said.subspan(in.position()));
  if (!gone) return;
  if (q.asked == q.of.creator) owner_.groups_.hear(q.of.creator, q.of.incarnation, *statement);
  if (SCOLL_MUTANT(failed_creation_kept, "a member keeps a group that its creator does not know any more"))
    return;
  drop(held_of(q.of), [&](const group_state& group) {
    return contains(q.about, group.id.counter) && contains(*gone, group.id.counter);
  });
}

// ---- the answer

error engine::sweeper::answer(transport::request_view& request, const collective_head& head) {
  const std::span<const std::byte> asked = request.payload().bytes;
  if (asked.size() > max_sweep_bytes)
    return make_error(errc::malformed, "a question about groups takes {} bytes: at most {} are allowed",
                      asked.size(), max_sweep_bytes);
  const auto counters = take_counters(asked);
  if (!counters) return counters.error();
  const creator_life of{head.group.creator, head.group.incarnation};
  const bool own = of.creator == owner_.options_.id;
  if (own && of.incarnation != owner_.options_.incarnation)
    return make_error(errc::peer_rebooted, "node {} is in another life", of.creator);
  std::array<std::byte, max_sweep_bytes + max_statement_bytes> bytes;
  wire::writer out(bytes);
  put_statement(out, own ? owner_.creations_.statement() : creation_statement());
  put_counters(out, gone_of(of, *counters), max_sweep_bytes);
  transport::message& m = owner_.endpoint_.acquire_message();
  m.set_head_bytes(0);
  if (!fill(m, out.written())) {
    owner_.endpoint_.release_message(m);
    return owner_.endpoint_.no_payload_left("the answer to a question about groups");
  }
  transport::incoming work;
  request.accept(work);
  work.reply(m);
  return {};
}

/// The groups that have ended, as far as this node knows. The creator knows for certain, except for a group
/// that its members have not agreed on yet.
counter_ranges engine::sweeper::gone_of(const creator_life& of, const counter_ranges& asked) const {
  const counter_ranges ended = owner_.groups_.ended_of(of.creator, of.incarnation);
  if (of.creator != owner_.options_.id) return difference(asked, difference(asked, ended));
  // Others may hold a group that this node has proposed and not heard of since.
  std::vector<std::uint64_t> possible;
  owner_.creations_.each_possible([&](std::uint64_t counter) { possible.push_back(counter); });
  std::sort(possible.begin(), possible.end());
  counter_ranges proposed;
  for (const std::uint64_t counter : possible) add_counter(proposed, counter);
  return difference(difference(asked, counters_of(held_of(of))), difference(proposed, ended));
}

}  // namespace scoll::detail
