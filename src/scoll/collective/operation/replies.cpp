#include <algorithm>
#include <utility>

#include "scoll/collective/limits.hpp"
#include "scoll/collective/operation/bulk.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/operation/reply_stream.hpp"
#include "scoll/collective/operation/trace.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/wire.hpp"

// The way up: the children's answers enter the account and are merged.
namespace scoll::detail {

void operation_child::on_reply(transport::exchange& self, transport::reply_event& event) noexcept {
  auto& c = static_cast<operation_child&>(self);
  c.owner->heard(c, event);
}

void operation::heard(child& c, transport::reply_event& event) noexcept {
  collective_reply_head head;
  if (event.outcome) {
    const auto decoded = wire::decode_from<collective_reply_head>(event.head);
    if (decoded && (decoded->flags & ~collective_reply_head::known_flags) == 0 &&
        (decoded->trace_bytes == 0 || (event.final && trace_ != nullptr))) {
      head = *decoded;
    } else {
      event.outcome = error(errc::malformed, "the head of a reply does not decode");
    }
  }
  if (!event.final) {
    if (event.outcome && (head.flags & collective_reply_head::extension) != 0) {
      on_extension(
          c, nanoseconds(static_cast<std::int64_t>(std::min(head.processing_ns, longest_extension_ns))));
    } else if (event.outcome && (head.flags & collective_reply_head::parts_follow) != 0) {
      parts().hear(c, head, event);
    }
    return;
  }
  constexpr std::uint8_t not_last = collective_reply_head::parts_follow | collective_reply_head::items;
  if (event.outcome && (head.flags & not_last) != 0)
    event.outcome = error(errc::malformed, "the last part of a reply says that more follow");
  if (event.outcome && stream_ != nullptr && head.values != 0)
    event.outcome = error(errc::malformed, "a value comes behind the items of a reply");
  if (trace_ != nullptr && event.outcome)
    event.outcome = trace_->heard(subject_, c, children_.index_of(c), head, event.payload.bytes);
  c.at = child::stage::arrived;
  c.reached = event.reached;
  c.refused = event.refused;
  c.lost = !event.outcome.has_value();
  if (c.lost) c.reason = event.outcome.error();
  if (c.refused && c.reason == errc::revoked) hear_of_revoke(c, c.reason);
  keep_piece(c.answer, head, event);
}

/// Keeps an answer, or a part of one, until it is merged: in this very turn, unless `on_reply` runs, perhaps
/// for long.
void operation::keep_piece(reply_piece& at, const collective_reply_head& head,
                           transport::reply_event& event) noexcept {
  const bool waits = hooks_.at(hook_kind::on_reply).running;
  at.head = head;
  at.payload = waits ? engine_->endpoint_.keep(std::move(event.payload)) : std::move(event.payload);
  progress_.set();
}

namespace {

/// The bytes of answers that are merged in one go; it takes about 200 us. Then other work has a turn,
/// because urgent messages must not wait until all answers that have arrived are merged.
constexpr std::size_t merged_in_one_go = std::size_t{256} * 1024;

}  // namespace

/// Enters into the account what children have sent, one after the other. Returns the child at which the caller must
/// wait: for `on_reply`, or because others are to have a turn (`so_far.rests`). Null when there are no news.
operation_child* operation::settle_arrived(settling& so_far) {
  const bool in_place = !table().on_reply.suspends || subject_.is_relay();
  const auto children = children_.all();
  for (; so_far.at < children.size(); ++so_far.at) {
    child& c = children[so_far.at];
    while (c.has_news() && !out_of_time()) {
      if (c.lost && !c.has_part() && asks_again(c)) {
        ask_again(c);
        break;
      }
      so_far.rests = so_far.merged >= merged_in_one_go;
      so_far.merged = so_far.rests ? 0 : so_far.merged + c.next_piece().payload.bytes.size();
      if (so_far.rests || !in_place) return &c;
      settle_now(c);
    }
  }
  so_far.at = 0;
  return nullptr;
}

/// Tells the parent, or the caller, what has been entered, if the broadcast asks for that before its end.
void operation::tell_news() {
  if (tells_losses()) parts().tell_losses(0);
  if (subject_.head.tells_of_all()) parts().tell_all();
  if (stream_ != nullptr) stream_->pass_on();
}

/// Waits for the acknowledgement of an abort. Every child answers with what it knows, or its time runs out;
/// that time allows for no work.
task<void> operation::abort_subtree() {
  const auto over = [this] { return ending_.at_once || !ending_.answer_awaited; };
  if (over()) co_return;
  abort_children();
  const auto is_awaited = [](const child& c) { return c.at == child::stage::pending; };
  while ((std::ranges::any_of(children_.all(), is_awaited) || kept().runs()) && !over()) {
    progress_.reset();
    co_await progress_.wait();
  }
}

bool operation::is_drained() const noexcept {
  return stream_->drained();
}

void operation::settle_own() {
  if (own_.elsewhere) return kept().take();
  own_.settled = true;
  if (executed().outcome && stream_ != nullptr) return stream_->own_returned();
  if (is_kept()) kept().end();
  if (executed().outcome && result_given())
    return mark_self(member_state::executed, note(phase::reply, broadcast_condition::too_late()));
  if (executed().outcome) {
    values_.merge_own();
    return mark_self(member_state::merged);
  }
  const bool no_bulk = bulk_ != nullptr && bulk_->failure();
  const phase where = subject_.is_relay() ? phase::admission : no_bulk ? phase::bulk : phase::execute;
  const error why = own_.closed ? own_.closed : executed().outcome.error();
  mark_self(member_state::failed, note(where, why));
  if (bulk_ != nullptr) tell_bulk_failed(why);
}

/// Enters what a child sent, or its loss, into the account: a part, if one waits, else its last answer.
/// Returns the value, if one came.
void* operation::enter_news(child& c, std::size_t mark) {
  if (c.has_part()) return parts().take(c, mark);
  c.at = child::stage::settled;
  if (!c.lost) return take_answer(c, mark);
  mark_lost(c);
  return nullptr;
}

/// Likewise, while other children are awaited.
void* operation::take_arrived(child& c, std::size_t mark) {
  void* const value = enter_news(c, mark);
  if (c.at != child::stage::settled) return value;
  --children_.unsettled;
  if (bulk_ != nullptr) bulk_->consumer_gone(c.relative);
  return value;
}

void operation::settle_now(child& c) {
  const std::size_t mark = outcome_.runs().size();
  reply_piece& piece = c.next_piece();
  take_arrived(c, mark);
  merge_arrived(c, mark, tell_now(c, mark));
  reply_parts::release(c, piece);
}

/// Like `settle_now`, where `on_reply` is a coroutine.
task<void> operation::settle(child& c) {
  std::size_t mark = outcome_.runs().size();
  reply_piece& piece = c.next_piece();
  void* const value = take_arrived(c, mark);
  arrival_ = {children_.index_of(c), subject_.rank_at(c.relative), value, c.clean, first_reason(c, mark)};
  mark = parts().tell_losses(mark);
  const hook_set::state& hook =
      spawn_hook(table().on_reply(subject_.service->instance, arrival_, context_), hook_kind::on_reply);
  const bool done = co_await until(hook.done);
  const status told = done ? hook.outcome : status(why_ended("on_reply has not returned"));
  if (!done) values_.hold_arrived();
  merge_arrived(c, mark, told);
  reply_parts::release(c, piece);
}

/// Runs `on_reply` if it is a plain function.
status operation::tell_now(child& c, std::size_t mark) {
  if (!table().on_reply.plain() || subject_.is_relay()) return {};
  const raw_arrival told{children_.index_of(c), subject_.rank_at(c.relative), values_.arrived(), c.clean,
                         first_reason(c, mark)};
  return table().on_reply(subject_.service->instance, told, context_).take();
}

/// Merges the value that a child sent, unless `on_reply` failed on it, or the result has been given out.
void operation::merge_arrived(child& c, std::size_t mark, const status& told) {
  const bool late = result_given() && !SCOLL_MUTANT(quorum_value_shared);
  if (told && !late) return values_.merge_arrived();
  if (late && !has_merged(c, mark)) return values_.drop_arrived();
  values_.drop_arrived();
  lose_subtree_value(c, mark, note(phase::reply, late ? broadcast_condition::too_late() : told.error()));
}

/// Adds a child's account and decodes its value. Returns null if there is no value to merge.
void* operation::take_answer(child& c, std::size_t mark) {
  c.clean = (c.answer.head.flags & collective_reply_head::clean) != 0;
  if (const status read = read_account(c); !read) {
    reject_answer(c, mark, read.error(), false);
    return nullptr;
  }
  return take_values(c, mark, c.answer);
}

/// Decodes the values of an answer, or of a part of one, whose account has been added since run `mark`.
void* operation::take_values(child& c, std::size_t mark, const reply_piece& piece) {
  if (subject_.group->holders != nullptr) note_holders(c, mark);
  const std::size_t passed_on = values_.opaque.size();
  status read = decode_values(piece);
  if (read && has_merged(c, mark) != (piece.head.values != 0))
    read = error(errc::malformed, "a reply has values without members, or members without values");
  if (!read) {
    values_.drop_arrived();
    values_.opaque.resize(passed_on);
    reject_answer(c, mark, read.error(), true);
    return nullptr;
  }
  return values_.arrived();
}

status operation::read_account(child& c) {
  const auto& [head, payload] = c.answer;
  if (head.account_bytes > payload.bytes.size() || c.clean != (head.account_bytes == 0))
    return error(errc::malformed, "the account of a reply has the wrong size");
  if (c.clean && c.has_settled_some() && c.parts->unsettled.empty())
    return error(errc::malformed, "the last part of a reply has members that are settled");
  if (head.dissenters != 0) {
    dissent& all = result_.dissenters;
    all.first = all.members == 0 ? head.dissenter : all.first;
    all.members += std::min(head.dissenters, c.nodes);
  }
  if (c.clean) return {};
  std::vector<rank_range>& ranges = engine_->pools_->ranges_;
  ranges.clear();
  collect_ranges(c, ranges);
  wire::reader in(payload.bytes.first(head.account_bytes));
  status read = outcome_.decode(in, ranges);
  if (read && in.remaining() != 0) read = error(errc::malformed, "bytes left over behind an account");
  if (read && (head.flags & collective_reply_head::revoked) != 0) {
    const auto said =
        std::ranges::find_if(outcome_.causes(), [](const cause& why) { return why.what == errc::revoked; });
    if (said != outcome_.causes().end()) hear_of_revoke(c, said->what);
  }
  return read;
}

/// A child has ended early because the group is revoked there.
void operation::hear_of_revoke(const child& c, const error& why) {
  const node_id from = subject_.group->members->node(subject_.rank_at(c.relative));
  engine_->hear_of_revoke(subject_.group, why, from);
}

/// Rejects a malformed reply, which fails its subtree only. If the account was readable, it is known which
/// members executed.
void operation::reject_answer(child& c, std::size_t mark, const error& why, bool account_known) {
  const std::uint16_t index = note(phase::reply, why);
  if (account_known) return lose_subtree_value(c, mark, index);
  c.clean = false;
  outcome_.truncate(mark);
  mark_subtree(c, member_state::unknown, index);
}

/// Decodes the values, each after its length. A relay's subtree may answer with several; they are merged with
/// each other first.
status operation::decode_values(const reply_piece& piece) {
  std::span<const std::byte> bytes = piece.payload.bytes.subspan(piece.head.account_bytes);
  if (piece.head.values > max_values_per_reply) return error(errc::malformed, "too many values in one reply");
  for (std::uint16_t i = 0; i < piece.head.values; ++i) {
    if (bytes.size() < value_length_bytes) return error(errc::malformed, "a reply ends before its value");
    const auto size = wire::detail::load_little<std::uint32_t>(bytes.data());
    bytes = bytes.subspan(value_length_bytes);
    if (size > bytes.size()) return error(errc::malformed, "a value is longer than its reply");
    if (const status s = take_value(piece, bytes.first(size)); !s) return s;
    bytes = bytes.subspan(size);
  }
  if (!bytes.empty()) return error(errc::malformed, "bytes left over behind a reply");
  return {};
}

status operation::take_value(const reply_piece& piece, std::span<const std::byte> bytes) {
  if (!subject_.is_relay()) return values_.add_arrived(bytes);
  if (SCOLL_MUTANT(relay_keeps_one_value, "a relay passes one value on") && !values_.opaque.empty())
    return {};
  values_.opaque.push_back({piece.payload.owner, bytes});
  return {};
}

}  // namespace scoll::detail
