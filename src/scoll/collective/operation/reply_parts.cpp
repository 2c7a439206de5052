#include "scoll/collective/operation/reply_parts.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/limits.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/operation/reply_stream.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

/// Joins sorted ranges that touch.
void join_touching(std::vector<rank_range>& ranges) {
  std::size_t kept = 0;
  for (const rank_range& r : ranges) {
    if (kept != 0 && ranges[kept - 1].last == r.first) {
      ranges[kept - 1].last = r.last;
    } else {
      ranges[kept++] = r;
    }
  }
  ranges.resize(kept);
}

constexpr bool is_lost(const member_report& r) noexcept {
  return r.state != member_state::merged;
}

}  // namespace

std::size_t least_bytes_for_parts(const collective_head& head, const service_table& table,
                                  const any_tree& tree, std::uint32_t members, std::uint32_t relative) {
  const bool streams = head.streams_items();
  const std::uint32_t most = std::min(tree.fan_out(members, relative), members - 1);
  std::size_t children = 0;  // leaves among them send parts if they stream only
  auto cursor = tree.cursor(members, relative);
  for (std::uint32_t i = 0; i < most; ++i) {
    const auto next = cursor.next();
    if (!next) break;
    children += *next < members && (streams || tree.subtree_nodes(members, *next) > 1);
  }
  return streams ? reply_stream::bytes_for(children, 1) : children * most_part_bytes(head, table);
}

std::uint32_t most_answer_bytes(const collective_head& head, std::size_t capacity) noexcept {
  if (head.streams_items()) return transport::max_payload_bytes;
  return static_cast<std::uint32_t>(
      std::min<std::size_t>(transport::max_payload_bytes, account_reserve_bytes + capacity + 64));
}

std::uint32_t most_part_bytes(const collective_head& head, const service_table& table) noexcept {
  return (head.flags & collective_head::tell_all) != 0 ? most_answer_bytes(head, table.reply_capacity)
                                                       : max_part_bytes;
}

status reply_parts::set_aside() {
  const operation_subject& s = op_.subject_;
  reply_memory& memory = op_.memory_for_parts();
  std::size_t bytes = least_bytes_for_parts(s.head, *s.table, s.tree, s.members, s.relative);
  if (const error full = memory.why_full(bytes)) return full;
  if (op_.stream_ != nullptr) {
    const std::size_t children = op_.children_.size();
    const std::uint32_t window = reply_stream::widest_window(children, memory.limit() - memory.used());
    op_.stream_->allow(window);
    bytes = reply_stream::bytes_for(children, window);
  }
  memory.take(bytes);
  op_.reserved_ = bytes;
  return {};
}

void reply_parts::expect(operation_child& c) {
  if (op_.stream_ != nullptr) return op_.stream_->expect(c);
  const bool may_send = op_.subject_.head.answers_in_parts() && c.nodes > 1;
  if (may_send && c.parts == nullptr) c.parts = std::make_unique<child_parts>();
  c.count_parts(may_send ? 1 : 0);
}

// ---- from children

void reply_parts::hear(operation_child& c, const collective_reply_head& head,
                       transport::reply_event& event) noexcept {
  if (op_.stream_ != nullptr) return op_.stream_->hear(c, head, event);
  const bool fits = c.parts != nullptr && !c.parts->waiting &&
                    (head.flags & collective_reply_head::items) == 0 &&
                    event.payload_bytes <= most_part_bytes(op_.subject_.head, op_.table());
  if (fits) {
    c.parts->waiting = true;
    return op_.keep_piece(c.parts->piece, head, event);
  }
  c.cancel(errc::malformed);
  c.lose(error(errc::malformed, "a part of a reply that was not asked for, or is too large"), true);
  op_.progress_.set();
}

void* reply_parts::take(operation_child& c, std::size_t mark) {
  c.parts->waiting = false;
  const status taken = read(c);
  if (taken) return op_.take_values(c, mark, c.parts->piece);
  if (c.at == operation_child::stage::pending) c.cancel(errc::malformed);
  c.at = operation_child::stage::settled;
  c.answer = {};
  op_.reject_answer(c, mark, taken.error(), false);
  return nullptr;
}

status reply_parts::read(operation_child& c) {
  child_parts& parts = *c.parts;
  const auto& [head, payload] = parts.piece;
  if ((head.flags & collective_reply_head::clean) != 0 || head.account_bytes > payload.bytes.size())
    return error(errc::malformed, "the account of a part of a reply has the wrong size");
  if (!parts.begun) {
    op_.collect_ranges(c, parts.unsettled);
    join_touching(parts.unsettled);
    parts.begun = true;
  }
  wire::reader in(payload.bytes.first(head.account_bytes));
  return op_.outcome_.decode_part(in, parts.unsettled);
}

void reply_parts::release(operation_child& c, reply_piece& piece) {
  const bool was_part = &piece != &c.answer;
  piece = {};
  if (was_part && c.at == operation_child::stage::pending) c.allow_part();
}

// ---- to the parent, or the caller

void reply_parts::heard_permission(transport::incoming& self) noexcept {
  static_cast<operation&>(self).progress_.set();
}

std::size_t reply_parts::tell_losses(std::size_t mark) {
  if (!op_.tells_losses() || op_.out_of_time() || op_.result_given()) return mark;
  if (!op_.subject_.is_root()) return send_losses(mark);
  if (op_.fails_fast()) end_by_loss();
  return mark;
}

void reply_parts::end_by_loss() {
  const auto lost = std::ranges::find_if(op_.outcome_.runs(), is_lost);
  if (lost == op_.outcome_.runs().end() ||
      SCOLL_MUTANT(fail_fast_waits, "a broadcast that is to fail fast waits for the other members"))
    return;
  op_.result_.why = op_.outcome_.causes()[lost->cause_index].what;
  op_.end_by(end_cause::failed,
             make_error(errc::cancelled, "the broadcast has ended because member {} is {}",
                        op_.subject_.rank_at(lost->members.first), to_string(lost->state)));
}

std::size_t reply_parts::send_losses(std::size_t mark) {
  outcome_builder& account = op_.outcome_;
  const bool may =
      op_.open() &&
      (op_.parts_left() != 0 || SCOLL_MUTANT(part_window_ignored, "a member sends more parts than allowed"));
  if (!may || std::ranges::none_of(account.runs(), is_lost) ||
      SCOLL_MUTANT(loss_waits, "a member tells of a loss with its answer only"))
    return mark;
  outcome_builder losses;
  mark -= account.move_losses(losses, max_part_bytes, mark);
  if (SCOLL_MUTANT(part_dropped, "a part of an answer does not leave")) return mark;
  const bool again =
      !send_account(losses) ||
      SCOLL_MUTANT(part_settles_twice, "members that a part has settled are settled again by the answer");
  if (again) account.add_all(losses);
  return mark;
}

/// Sends a part that settles the members of an account, without values. False if there is no buffer for it.
bool reply_parts::send_account(const outcome_builder& losses) {
  const std::span<std::byte> into = op_.scratch().first(max_part_bytes);
  wire::writer out(into);
  losses.encode(out);
  SCOLL_ASSERT(out.ok(), "a part of an answer exceeds its room");
  collective_reply_head head;
  head.account_bytes = static_cast<std::uint32_t>(out.needed());
  return send(head, out.written());
}

void reply_parts::tell_all() {
  const bool may =
      op_.open() && (op_.parts_left() != 0 || SCOLL_MUTANT(part_window_ignored)) && !op_.out_of_time();
  if (!may || op_.all_settled() ||
      SCOLL_MUTANT(settled_waits, "a member tells of no other before its answer"))
    return;
  for (operation_child& c : op_.children_.all()) {
    if (std::exchange(c.clean, false)) op_.mark_subtree(c, member_state::merged, 0);
  }
  if (op_.outcome_.empty()) return;
  op_.outcome_.normalise();
  collective_reply_head head;
  std::size_t size = op_.encode_answer(op_.scratch(), head);
  if (size == not_encoded) size = op_.encode_answer(op_.scratch(), head);
  head.dissenters = head.dissenter = 0;  // they come with the last part
  const bool left = SCOLL_MUTANT(part_dropped) || send(head, op_.scratch().first(size));
  if (!left || SCOLL_MUTANT(part_settles_twice)) return;
  op_.outcome_.clear();
  op_.values_.drop_merged();
  op_.values_.opaque.clear();
}

bool reply_parts::send(collective_reply_head head, std::span<const std::byte> payload) {
  transport::message& m = op_.engine_->wire().acquire_message();
  head.flags |= collective_reply_head::parts_follow;
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  if (!op_.put_reply(m, payload)) {
    op_.engine_->wire().release_message(m);
    return false;
  }
  ++op_.statistics().reply_parts;
  op_.reply_part(m);
  return true;
}

}  // namespace scoll::detail
