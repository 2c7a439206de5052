#include <algorithm>
#include <cstring>
#include <utility>

#include "scoll/collective/operation/bulk.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/operation/reply_stream.hpp"
#include "scoll/collective/operation/trace.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

// The end of an operation: `finish` runs, missing answers are accounted for, and the answer leaves.
namespace scoll::detail {

/// True if `finish` may run here. Where values come in pieces, it runs once, at the root.
bool operation::finishes_here() const noexcept {
  if (subject_.is_root()) return !result_given() && root_.round_of == nullptr;
  return (subject_.head.flags & (collective_head::tell_all | collective_head::retain)) == 0;
}

/// Runs `finish` if it is a plain function.
void operation::finish_now() {
  if (values_.merged() == nullptr || !finishes_here() || !table().finish.plain()) return;
  const status finished = table().finish(subject_.service->instance, values_.merged(), context_).take();
  if (!finished && !SCOLL_MUTANT(plain_finish_ignored, "a plain `finish` cannot refuse"))
    lose_reply(finished.error());
}

/// Runs `finish` if it is a coroutine. It runs even when the time is over, because a value that has not been
/// through it is not an answer; a little time was kept for that.
task<void> operation::finish() {
  if (values_.merged() == nullptr || !finishes_here()) co_return;
  status finished;
  if (ending_.asked) {
    finished = why_ended("nobody waits for finish");
  } else {
    if (std::exchange(times_.expired, false))
      times_.expires = saturating_add(engine_->executor_.now(), finishing_time());
    rearm();
    const hook_set::state& hook =
        spawn_hook(table().finish(subject_.service->instance, values_.merged(), context_), hook_kind::finish);
    const bool done = co_await until(hook.done);
    finished = done ? hook.outcome : status(why_ended("finish has not returned"));
    if (!done) values_.hold_merged();
  }
  if (!finished) lose_reply(finished.error());
}

/// Accounts for every child that has not answered by now, as far as its state is known.
void operation::give_up_waiting() {
  timer_disarm();
  for (child& c : children_.all()) {
    if (c.at == child::stage::settled) continue;
    if (c.at == child::stage::pending) {
      const bool reached = c.cancel(code_to_tell());
      c.lose(why_ended("no answer in time"), reached);
    }
    while (c.at != child::stage::settled) {
      const std::size_t mark = outcome_.runs().size();
      reply_piece& piece = c.next_piece();
      enter_news(c, mark);
      merge_arrived(c, mark, tell_now(c, mark));
      reply_parts::release(c, piece);
    }
  }
  children_.unsettled = 0;
  if (own_.settled) return;
  if (own_.elsewhere ? kept().is_known() : executed().done) return settle_own();
  give_up_own();
}

/// An `execute` that has begun may still do its work, so this node cannot say that it has not.
void operation::give_up_own() {
  own_.settled = true;
  if (!own_.begun) {
    const bool no_bulk = bulk_ != nullptr && !bulk_->complete(table().on_bulk.call != nullptr);
    const error never_begun = no_bulk && bulk_->failure()
                                  ? bulk_->failure()
                                  : why_ended(no_bulk ? "not all of the bulk data has come in time"
                                                      : "there was no time to begin execute");
    mark_self(member_state::failed, note(no_bulk ? phase::bulk : phase::execute, never_begun));
    kept().fail(phase::execute, never_begun);
    if (bulk_ != nullptr) tell_bulk_failed(never_begun);
    return;
  }
  const auto state = SCOLL_MUTANT(executed_by_hearsay, "a hook that has not returned is reported as executed")
                         ? member_state::executed
                         : member_state::unknown;
  mark_self(state, note(phase::execute, why_ended("execute has not returned")));
}

void operation::answer() {
  stage_ = stage::answered;
  user_stop_.disconnect();
  if (stop_ && !(is_kept() && kept().outlives_answer())) stop_->request_stop();
  if (trace_ != nullptr) trace_->answered();
  if (stream_ != nullptr) stream_->close();
  result_.clean = all_clean();
  if (!result_.clean) {
    for (child& c : children_.all()) {
      if (std::exchange(c.clean, false)) mark_subtree(c, member_state::merged, 0);
    }
    outcome_.normalise();
  }
  if (root_.round_of != nullptr) return root_.round_of->heard();
  return subject_.is_root() ? answer_root() : answer_parent();
}

/// True if another member has executed, so that the group exists there.
bool operation::others_took_part() const noexcept {
  if (result_.clean) return subject_.members > 1;
  const auto runs = outcome_.runs();  // of relative ranks: this root is 0
  return std::any_of(runs.begin(), runs.end(), [](const member_report& r) {
    const bool took_part = r.state == member_state::merged || r.state == member_state::executed;
    return took_part && (r.members.first != 0 || r.members.size() > 1);
  });
}

void operation::answer_root() {
  rooted_operation::unlink();
  if (root_.bulk) root_.bulk->taken = engine_->executor_.now() - times_.started;
  group_state& group = *subject_.group;
  if (group.rooted->last != 0) wake_last();
  if (group.tentative && others_took_part()) group.tentative = false;
  const bool enough = root_.condition != nullptr && !result_given() && root_.condition->holds();
  if (!result_.clean && !enough) {
    const cause& first = outcome_.causes().size() > 1 ? outcome_.causes()[1] : outcome_.causes()[0];
    if (ending_.cause == end_cause::none) {
      result_.why =
          fails_fast() ? first.what
                       : make_error(errc::incomplete, "{}: {}", to_string(first.where), describe(first.what));
    } else if (ending_.cause != end_cause::failed) {
      result_.why = why_ended("not every member answered");
    }
  }
  engine_->statistics_.clean += result_.clean;
  if (group.rooted->last == counter && subject_.head.ends_group())
    engine_->end_after_last(subject_.group, final_outcome());
  if (trace_ != nullptr) trace_->complete(subject_);
  if (root_.condition != nullptr) root_.condition->end(final_outcome());
  wake_caller();
}

/// Gives the result to the caller, who hears of the broadcast only once.
void operation::wake_caller() {
  user_stop_.disconnect();
  if (!root_.waiter) return;
  wake_.set(std::exchange(root_.waiter, nullptr));
  engine_->executor_.schedule(wake_);
}

const status& operation::result_status() const noexcept {
  return result_given() ? root_.condition->given_status() : result_.why;
}

std::shared_ptr<rest_of_broadcast> operation::rest() const {
  return root_.condition != nullptr ? root_.condition->rest() : nullptr;
}

std::shared_ptr<const collective_trace> operation::trace() const {
  return trace_ != nullptr ? trace_->tell(subject_) : nullptr;
}

void operation::answer_parent() {
  if (own_.record != nullptr && SCOLL_MUTANT(record_dies_with_answer, "a reply is not kept when it has left"))
    engine_->records_->forget(broadcast_name::of(subject_.head));
  if (!open()) return;
  if (!ending_.answer_awaited ||
      (SCOLL_MUTANT(answer_dropped, "a subtree that is not clean drops its answer") && !result_.clean))
    return drop();
  transport::message& m = engine_->endpoint_.acquire_message();
  bool filled = fill_answer(m);
  if (!filled) filled = fill_answer(m);  // again, without the value that did not fit
  if (filled) {
    engine_->statistics_.clean += result_.clean;
    return reply(m);
  }
  // Not even the account finds a buffer. The parent's timeout will account for this subtree.
  engine_->endpoint_.release_message(m);
  drop();
}

namespace {

/// The most bytes of the reply that is merged of this node and those below it.
std::size_t capacity_here(const operation_subject& s, const operation_values& values) {
  if (s.table->capacity_for == nullptr) return s.table->reply_capacity;
  return values.reply_capacity(s.tree.subtree_nodes(s.members, s.relative));
}

}  // namespace

/// Puts the answer into `m`. Returns false if the value had to be given up because there was no room; the
/// caller then calls it once more.
bool operation::fill_answer(transport::message& m) {
  const bool small =
      result_.clean && values_.opaque.empty() && trace_ == nullptr &&
      value_length_bytes + capacity_here(subject_, values_) <= transport::message::inline_payload_bytes;
  const std::span<std::byte> into = small ? m.payload_space() : engine_->pools_->scratch();
  collective_reply_head head;
  const std::size_t size = encode_answer(into, head);
  if (size == not_encoded) return false;
  if (trace_ != nullptr && put_traced(m, head, size)) return true;
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  const auto bytes = std::span<const std::byte>(into).first(size);
  if (small) {
    m.set_inline_payload(size, wire::checksum(bytes));
  } else if (!put_reply(m, bytes)) {
    give_up_value(engine_->wire().no_payload_left("the reply"));
    return false;
  }
  return true;
}

/// Likewise, with the trace behind the values. Returns false if there is no buffer for it; then the answer leaves
/// without a trace.
bool operation::put_traced(transport::message& m, collective_reply_head head, std::size_t size) {
  const std::span<std::byte> into = scratch();
  const std::size_t room = std::min<std::size_t>(reply_limit_, into.size());
  const std::size_t traced =
      trace_->encode(subject_.relative, into.subspan(size, room - std::min(room, size)));
  head.trace_bytes = static_cast<std::uint32_t>(traced);
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  return put_reply(m, into.first(size + traced));
}

/// Copies the payload of a reply, or of a part, into `m`. False if there is no buffer for it.
bool operation::put_reply(transport::message& m, std::span<const std::byte> bytes) {
  const std::uint64_t checksum = wire::checksum(bytes);
  if (bytes.size() <= transport::message::inline_payload_bytes) {
    m.copy_payload(bytes, checksum);
    return true;
  }
  transport::buffer_ref buffer = engine_->endpoint_.acquire_payload();
  if (!buffer) return false;
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  const std::span<const std::byte> kept(buffer.data(), bytes.size());
  m.share_payload({std::move(buffer), kept}, checksum);
  return true;
}

/// Writes the account, then each value after its length. Returns `not_encoded` if the value did not fit and
/// has been given up; the caller then encodes again.
std::size_t operation::encode_answer(std::span<std::byte> into, collective_reply_head& head) {
  head = {};
  head.flags = result_.clean ? collective_reply_head::clean : 0;
  if (is_revoked()) head.flags |= collective_reply_head::revoked;
  head.dissenters = result_.dissenters.members;
  head.dissenter = result_.dissenters.first;
  std::size_t size = result_.clean ? 0 : encode_account(into);
  head.account_bytes = static_cast<std::uint32_t>(size);
  const std::size_t room = std::min<std::size_t>(reply_limit_, into.size());
  if (values_.merged() != nullptr) {
    const std::size_t limit =
        std::min<std::size_t>(room - std::min(room, size + value_length_bytes),
                              SCOLL_MUTANT(reply_bound_ignored) ? room
                              : SCOLL_MUTANT(brimful_refused, "a reply of exactly the capacity is too large")
                                  ? capacity_here(subject_, values_) - 1
                                  : capacity_here(subject_, values_));
    const auto encoded =
        table().encode_reply(values_.merged(), into.subspan(size + value_length_bytes, limit));
    if (!encoded) return give_up_value(encoded.error());
    wire::detail::store_little(into.data() + size, static_cast<std::uint32_t>(*encoded));
    size += value_length_bytes + *encoded;
    ++head.values;
  }
  for (const transport::buffer_view& value : values_.opaque) {
    if (size + value_length_bytes + value.bytes.size() > room) {
      return give_up_value(
          error(errc::too_large, "the replies that a relay passes on do not fit one message"));
    }
    wire::detail::store_little(into.data() + size, static_cast<std::uint32_t>(value.bytes.size()));
    std::memcpy(into.data() + size + value_length_bytes, value.bytes.data(), value.bytes.size());
    size += value_length_bytes + value.bytes.size();
    ++head.values;
  }
  return size;
}

/// Writes the account, which always fits its reserve. An account that would not is made coarser, and the
/// value is given up.
std::size_t operation::encode_account(std::span<std::byte> into) {
  if (!outcome_.fits()) {
    lose_reply({errc::too_large, "the members' states differ too much to fit one account"});
    outcome_.normalise();
    outcome_.coarsen();
  }
  wire::writer out(into.first(account_reserve_bytes));
  outcome_.encode(out);
  SCOLL_ASSERT(out.ok(), "an account exceeds its reserve");
  return out.needed();
}

std::size_t operation::give_up_value(const error& why) {
  lose_reply(why);
  result_.clean = false;
  outcome_.normalise();
  return not_encoded;
}

}  // namespace scoll::detail
