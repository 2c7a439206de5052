#include <algorithm>
#include <utility>

#include "scoll/collective/limits.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/wire.hpp"

// The way up: what children answer is accounted for and merged.
namespace scoll::detail {

// ---- upwards

void operation::child::on_reply(transport::exchange& self, transport::reply_event& event) noexcept {
  auto& c = static_cast<child&>(self);
  operation& op = *c.owner;
  collective_reply_head head;
  if (event.outcome) {
    const auto decoded = wire::decode_from<collective_reply_head>(event.head);
    if (decoded) {
      head = *decoded;
    } else {
      event.outcome = error(errc::malformed, "the head of a reply does not decode");
    }
  }
  if (!event.final) {
    if (event.outcome && (head.flags & collective_reply_head::extension) != 0) {
      op.on_extension(
          c, nanoseconds(static_cast<std::int64_t>(std::min(head.processing_ns, longest_extension_ns))));
    }
    return;
  }
  c.at = state::arrived;
  c.reached = event.reached;
  c.refused = event.refused;
  c.lost = !event.outcome.has_value();
  c.reason = event.outcome.error();
  c.head = head;
  // While `on_reply` runs it waits, perhaps for long; else it is merged in this very turn.
  c.answer = op.telling() ? op.engine_->endpoint_.keep(std::move(event.payload)) : std::move(event.payload);
  op.progress_.set();
}

task<void> operation::collect() {
  while ((unsettled_ != 0 || !execute_settled_) && !out_of_time()) {
    progress_.reset();
    if (executed().done && !execute_settled_) settle_own();
    for (child& c : children()) {
      if (c.at != child::state::arrived || out_of_time()) continue;
      if (table_->on_reply == nullptr || relay_) {
        settle_now(c);
      } else {
        co_await settle(c);
      }
    }
    if ((unsettled_ != 0 || !execute_settled_) && !out_of_time()) co_await progress_.wait();
  }
}

/// The acknowledgement of an abort: every child answers with what it knows, or runs out of a time that no
/// longer has the work in it.
task<void> operation::abort_subtree() {
  if (expired_ || parent_gone_) co_return;
  abort_children();
  while ((awaiting_children() || executed().running) && !expired_ && !parent_gone_) {
    progress_.reset();
    co_await progress_.wait();
  }
}

bool operation::awaiting_children() const noexcept {
  return std::any_of(children_.get(), children_.get() + child_count_,
                     [](const child& c) { return c.at == child::state::pending; });
}

void operation::settle_own() {
  execute_settled_ = true;
  if (executed().outcome) {
    merge_from(own_);
    return outcome_.add({relative_, relative_ + 1}, member_state::merged);
  }
  const std::uint16_t index = note(relay_ ? phase::admission : phase::execute, executed().outcome.error());
  outcome_.add({relative_, relative_ + 1}, member_state::failed, index);
}

/// Enters what a child answered, or that it did not, into the account. Returns its value, if it came.
void* operation::take_arrived(child& c, std::size_t mark) {
  c.at = child::state::settled;
  --unsettled_;
  if (!c.lost) return take_answer(c, mark);
  settle_lost(c);
  return nullptr;
}

void operation::settle_now(child& c) {
  const std::size_t mark = outcome_.runs().size();
  take_arrived(c, mark);
  merge_arrived(c, mark, tell_now(c, mark));
  c.answer = {};
}

/// The same where `on_reply` is a coroutine.
task<void> operation::settle(child& c) {
  const std::size_t mark = outcome_.runs().size();
  void* const value = take_arrived(c, mark);
  arrival_ = {c.index(), rank_at(c.relative), value, c.clean, first_reason(c, mark)};
  const hook_state& heard =
      spawn_hook(table_->on_reply(service_->instance, arrival_, context_), hook_kind::on_reply);
  const bool done = co_await until(heard.done);
  const status told = done ? heard.outcome : status(why_out_of_time("on_reply has not returned"));
  // The hook still looks at the value: it cannot be merged any more.
  if (!done) held_arrived_ = std::exchange(arrived_, nullptr);
  merge_arrived(c, mark, told);
  c.answer = {};
}

/// `on_reply`, if it is a plain function.
status operation::tell_now(child& c, std::size_t mark) {
  if (table_->on_reply_now == nullptr || relay_) return {};
  const raw_arrival told{c.index(), rank_at(c.relative), arrived_, c.clean, first_reason(c, mark)};
  return table_->on_reply_now(service_->instance, told, context_);
}

/// Merges what a child sent, unless `on_reply` failed on it.
void operation::merge_arrived(child& c, std::size_t mark, const status& told) {
  if (!told) {
    drop_value(arrived_);
    return lose_subtree_value(c, mark, note(phase::reply, told.error()));
  }
  if (SCOLL_MUTANT(double_merge) && arrived_ != nullptr && reply_ != nullptr) table_->merge(reply_, arrived_);
  if (arrived_ != nullptr) merge_from(arrived_);
}

void operation::settle_lost(child& c) {
  const std::uint16_t index = note(c.refused ? phase::admission : phase::delivery, c.reason);
  if (SCOLL_MUTANT(forgotten_subtree))
    return outcome_.add({c.relative, c.relative + 1}, member_state::unknown, index);
  if (c.refused) {
    // It said no before any hook: it has not executed, and nothing below it was told.
    outcome_.add({c.relative, c.relative + 1}, member_state::failed, index);
    mark_below(c, member_state::not_reached, index);
  } else {
    const bool reached = c.reached && !SCOLL_MUTANT(unknown_as_not_reached);
    mark_subtree(c, reached ? member_state::unknown : member_state::not_reached, index);
  }
}

/// Adds a child's account and decodes what it merged into `arrived_`. Null if there is no value to merge.
void* operation::take_answer(child& c, std::size_t mark) {
  const std::span<const std::byte> bytes = c.answer.bytes;
  c.clean = (c.head.flags & collective_reply_head::clean) != 0;
  if (c.head.account_bytes > bytes.size() || c.clean != (c.head.account_bytes == 0)) {
    reject_answer(c, mark, {errc::malformed, "the account of a reply has the wrong size"}, false);
    return nullptr;
  }
  if (c.head.dissenters != 0) {
    dissent_.first = dissent_.members == 0 ? c.head.dissenter : dissent_.first;
    dissent_.members += std::min(c.head.dissenters, c.nodes);
  }
  if (!c.clean) {
    engine_->pools_->ranges_.clear();
    collect_ranges(c, engine_->pools_->ranges_);
    wire::reader in(bytes.first(c.head.account_bytes));
    status read = outcome_.decode(in, engine_->pools_->ranges_);
    if (read && in.remaining() != 0) read = error(errc::malformed, "bytes left over behind an account");
    if (!read) {
      reject_answer(c, mark, read.error(), false);
      return nullptr;
    }
  }
  const std::size_t passed_on = opaque_.size();
  status read = decode_values(c, bytes.subspan(c.head.account_bytes));
  if (read && has_merged(c, mark) != (c.head.values != 0)) {
    read = error(errc::malformed, "a reply has values without members, or members without values");
  }
  if (!read) {
    drop_value(arrived_);
    opaque_.resize(passed_on);
    reject_answer(c, mark, read.error(), true);
    return nullptr;
  }
  return arrived_;
}

bool operation::has_merged(const child& c, std::size_t mark) const {
  const auto runs = outcome_.runs().subspan(mark);
  return c.clean || std::any_of(runs.begin(), runs.end(),
                                [](const member_report& r) { return r.state == member_state::merged; });
}

/// A reply that makes no sense fails its subtree only. Who executed is known if the account was readable.
void operation::reject_answer(child& c, std::size_t mark, const error& why, bool account_known) {
  const std::uint16_t index = note(phase::reply, why);
  if (account_known) return lose_subtree_value(c, mark, index);
  c.clean = false;
  outcome_.truncate(mark);
  mark_subtree(c, member_state::unknown, index);
}

void operation::lose_subtree_value(child& c, std::size_t mark, std::uint16_t index) {
  if (c.clean) {
    c.clean = false;
    mark_subtree(c, member_state::executed, index);
  }
  outcome_.lose_merged(index, mark);
}

/// Each value follows its length. A relay's subtree may answer with several: they are merged here first.
status operation::decode_values(child& c, std::span<const std::byte> bytes) {
  if (c.head.values > max_values_per_reply) return error(errc::malformed, "too many values in one reply");
  for (std::uint16_t i = 0; i < c.head.values; ++i) {
    if (bytes.size() < value_length_bytes) return error(errc::malformed, "a reply ends before its value");
    const auto size = wire::detail::load_little<std::uint32_t>(bytes.data());
    bytes = bytes.subspan(value_length_bytes);
    if (size > bytes.size()) return error(errc::malformed, "a value is longer than its reply");
    if (const status s = take_value(c, bytes.first(size)); !s) return s;
    bytes = bytes.subspan(size);
  }
  if (!bytes.empty()) return error(errc::malformed, "bytes left over behind a reply");
  return {};
}

status operation::take_value(child& c, std::span<const std::byte> bytes) {
  if (relay_) {
    opaque_.push_back({c.answer.owner, bytes});
    return {};
  }
  void* at = frame_pool::allocate(table_->reply_size);
  const status decoded = table_->decode_reply(at, bytes);
  if (!decoded) {
    frame_pool::deallocate(at, table_->reply_size);
    return decoded;
  }
  if (arrived_ == nullptr) {
    arrived_ = at;
  } else {
    table_->merge(arrived_, at);
    drop_value(at);
  }
  return {};
}

void operation::drop_value(void*& value) noexcept {
  if (value == nullptr) return;
  table_->destroy_reply(value);
  frame_pool::deallocate(std::exchange(value, nullptr), table_->reply_size);
}

/// Merges a value, which it takes over, into the reply; the first one initialises it.
void operation::merge_from(void*& value) noexcept {
  if (reply_ == nullptr) {
    reply_ = std::exchange(value, nullptr);
    return;
  }
  table_->merge(reply_, value);
  drop_value(value);
}

/// Also when time is over, because a value that has not been through `finish` is not an answer; there is a
/// little left for that.
/// `finish`, if it is a plain function.
void operation::finish_now() {
  if (reply_ == nullptr || table_->finish_now == nullptr) return;
  const status finished = table_->finish_now(service_->instance, reply_, context_);
  if (!finished) lose_reply(finished.error());
}

task<void> operation::finish() {
  if (reply_ == nullptr) co_return;
  status finished;
  if (cancelled_) {
    finished = why_out_of_time("nobody waits for finish");
  } else {
    if (expired_) {
      expired_ = false;
      expires_ = saturating_add(engine_->executor_.now(), finishing_time());
    }
    rearm();
    const hook_state& ending =
        spawn_hook(table_->finish(service_->instance, reply_, context_), hook_kind::finish);
    const bool done = co_await until(ending.done);
    finished = done ? ending.outcome : status(why_out_of_time("finish has not returned"));
    if (!done) held_reply_ = std::exchange(reply_, nullptr);
  }
  if (!finished) lose_reply(finished.error());
}

/// The merged value is lost here: all who are merged in it executed, and that is all that is left of them.
void operation::lose_reply(const error& why) {
  const std::uint16_t index = note(phase::reply, why);
  for (child& c : children()) {
    if (!c.clean || SCOLL_MUTANT(lost_reply_forgotten)) continue;
    c.clean = false;
    mark_subtree(c, member_state::executed, index);
  }
  outcome_.lose_merged(index, 0);
  drop_value(reply_);
  opaque_.clear();
}

// ---- account

std::uint16_t operation::note(phase where, const error& what) {
  return outcome_.add_cause({where, what, relative_});
}

void operation::collect_ranges(const child& c, std::vector<rank_range>& into) const {
  tree_.subtree_ranges(members_, c.relative,
                       [&](std::uint32_t first, std::uint32_t last) { into.push_back({first, last}); });
  std::sort(into.begin(), into.end(), [](rank_range a, rank_range b) { return a.first < b.first; });
}

void operation::mark_subtree(const child& c, member_state state, std::uint16_t cause_index) {
  tree_.subtree_ranges(members_, c.relative, [&](std::uint32_t first, std::uint32_t last) {
    outcome_.add({first, last}, state, cause_index);
  });
}

void operation::mark_below(const child& c, member_state state, std::uint16_t cause_index) {
  tree_.subtree_ranges(members_, c.relative, [&](std::uint32_t first, std::uint32_t last) {
    if (c.relative < first || c.relative >= last) return outcome_.add({first, last}, state, cause_index);
    outcome_.add({first, c.relative}, state, cause_index);
    outcome_.add({c.relative + 1, last}, state, cause_index);
  });
}

error operation::first_reason(const child& c, std::size_t mark) const {
  if (c.lost) return c.reason;
  for (std::size_t i = mark; i < outcome_.runs().size(); ++i) {
    const member_report& run = outcome_.runs()[i];
    if (run.state != member_state::merged) return outcome_.causes()[run.cause_index].what;
  }
  return {};
}

}  // namespace scoll::detail
