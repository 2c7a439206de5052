#include <algorithm>
#include <cstring>
#include <utility>

#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

// The end: what has not come is accounted for, and the answer leaves.
namespace scoll::detail {
namespace {

constexpr std::size_t not_encoded = SIZE_MAX;

}  // namespace

// ---- the end

/// Whatever has not come by now is accounted for as far as it is known.
void operation::give_up_waiting() {
  timer_disarm();
  for (child& c : children()) {
    if (c.at == child::state::settled) continue;
    if (c.at == child::state::pending) {
      c.reached = c.cancel();
      c.refused = false;
      c.reason = why_out_of_time("no answer in time");
      c.lost = true;
    }
    const std::size_t mark = outcome_.runs().size();
    if (c.lost) {
      settle_lost(c);
    } else {
      take_answer(c, mark);
    }
    merge_arrived(c, mark, tell_now(c, mark));
    c.at = child::state::settled;
    c.answer = {};
  }
  unsettled_ = 0;
  if (execute_settled_) return;
  if (executed().done) return settle_own();
  execute_settled_ = true;
  const bool begun = execute_started_;
  const error late =
      why_out_of_time(begun ? "execute has not returned" : "there was no time to begin execute");
  const auto not_returned =
      SCOLL_MUTANT(executed_by_hearsay) ? member_state::executed : member_state::unknown;
  outcome_.add({relative_, relative_ + 1}, begun ? not_returned : member_state::failed,
               note(phase::execute, late));
}

bool operation::all_clean() const noexcept {
  for (std::size_t i = 0; i < child_count_; ++i) {
    if (!children_[i].clean) return false;
  }
  if (SCOLL_MUTANT(clean_flag_wrong)) return true;
  return outcome_.runs().size() == 1 && outcome_.runs()[0].state == member_state::merged;
}

void operation::answer() {
  answered_ = true;
  user_stop_.disconnect();
  if (stop_) stop_->request_stop();
  clean_ = all_clean();
  if (!clean_) {
    for (child& c : children()) {
      if (std::exchange(c.clean, false)) mark_subtree(c, member_state::merged, 0);
    }
    outcome_.normalise();
  }
  return is_root_ ? answer_root() : answer_parent();
}

void operation::answer_root() {
  if (!clean_) {
    const cause& first = outcome_.causes().size() > 1 ? outcome_.causes()[1] : outcome_.causes()[0];
    const bool ours = cancelled_ || late_;
    status_ = ours ? why_out_of_time("not every member answered")
                   : make_error(errc::incomplete, "{}: {}", to_string(first.where), describe(first.what));
  }
  engine_->statistics_.clean += clean_;
  if (waiter_) {
    wake_.set(std::exchange(waiter_, nullptr));
    engine_->executor_.schedule(wake_);
  }
}

/// Calls `fn(first, last)` for the runs of ranks that a run of relative ones stands for. Those begin at the
/// root, so that a run may wrap round the end of the membership.
template <class Fn>
void operation::visit_ranks(rank_range relative, Fn fn) const {
  const std::uint32_t first =
      SCOLL_MUTANT(relative_ranks_reported) ? relative.first : to_rank(relative.first, root_, members_);
  const std::uint32_t before_end = std::min(relative.size(), members_ - first);
  const auto visit = [&](std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    if (some_ == nullptr || SCOLL_MUTANT(subset_forgotten)) return fn(from, to);
    some_->visit(from, to, fn);
  };
  visit(first, first + before_end);
  visit(0, relative.size() - before_end);
}

outcome operation::take_outcome() {
  const std::uint32_t n = group_->members->size();
  outcome taken(n);
  if (!clean_ || some_ != nullptr) {
    outcome_builder by_rank;
    const auto add = [&](rank_range relative, member_state state, std::uint16_t cause_index) {
      visit_ranks(relative, [&](std::uint32_t first, std::uint32_t last) {
        by_rank.add({first, last}, state, cause_index);
      });
    };
    if (clean_) add({0, members_}, member_state::merged, 0);
    if (!clean_) {
      for (const member_report& run : outcome_.runs()) add(run.members, run.state, run.cause_index);
    }
    if (some_ != nullptr) {
      const rank_set excluded = rank_set::all(n) - some_->ranks();
      for (const rank_range& r : excluded.ranges()) by_rank.add(r, member_state::excluded);
    }
    by_rank.normalise();
    std::vector<cause> causes(outcome_.causes().begin(), outcome_.causes().end());
    for (cause& c : causes) c.reporter = c.reporter < members_ ? rank_at(c.reporter) : head_.root_rank;
    taken = {n, {by_rank.runs().begin(), by_rank.runs().end()}, std::move(causes)};
  }
  taken.set_dissent(dissent_);
  return taken;
}

/// Account first, then each value behind its length. `not_encoded`: the value did not
/// fit and is given up; encode again.
std::size_t operation::encode_answer(std::span<std::byte> into, collective_reply_head& head) {
  head = {};
  head.flags = clean_ ? collective_reply_head::clean : 0;
  head.dissenters = dissent_.members;
  head.dissenter = dissent_.first;
  std::size_t size = 0;
  if (!clean_) {
    if (!outcome_.fits()) {
      lose_reply({errc::too_large, "too many members fared differently for one account"});
      outcome_.normalise();
      outcome_.coarsen();
    }
    wire::writer out(into.first(account_reserve_bytes));
    outcome_.encode(out);
    SCOLL_ASSERT(out.ok(), "an account exceeds its reserve");
    size = out.needed();
    head.account_bytes = static_cast<std::uint32_t>(size);
  }
  const std::size_t room = std::min<std::size_t>(reply_limit_, into.size());
  if (reply_ != nullptr) {
    const std::size_t limit =
        std::min<std::size_t>(room - std::min(room, size + value_length_bytes),
                              SCOLL_MUTANT(reply_bound_ignored) ? room : table_->reply_capacity);
    const auto encoded = table_->encode_reply(reply_, into.subspan(size + value_length_bytes, limit));
    if (!encoded) return give_up_value(encoded.error());
    wire::detail::store_little(into.data() + size, static_cast<std::uint32_t>(*encoded));
    size += value_length_bytes + *encoded;
    ++head.values;
  }
  for (const transport::buffer_view& value : opaque_) {
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

std::size_t operation::give_up_value(const error& why) {
  lose_reply(why);
  clean_ = false;
  outcome_.normalise();
  return not_encoded;
}

void operation::answer_parent() {
  if (!parent_.open()) return;
  if (parent_gone_ || (SCOLL_MUTANT(answer_dropped) && !clean_)) return parent_.drop();
  transport::message& m = engine_->endpoint_.acquire_message();
  bool filled = fill_answer(m);
  if (!filled) filled = fill_answer(m);  // without the value that did not fit
  if (filled) return parent_.reply(m);
  // Not even the account finds a buffer: the parent's timeout will speak for this subtree.
  engine_->endpoint_.release_message(m);
  parent_.drop();
}

/// Puts the answer into `m`. False if its value was given up for want of room: once more then.
bool operation::fill_answer(transport::message& m) {
  const bool small = clean_ && opaque_.empty() &&
                     value_length_bytes + table_->reply_capacity <= transport::message::inline_payload_bytes;
  const std::span<std::byte> into = small ? m.payload_space() : engine_->pools_->scratch();
  collective_reply_head head;
  const std::size_t size = encode_answer(into, head);
  if (size == not_encoded) return false;
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  const auto bytes = std::span<const std::byte>(into).first(size);
  const std::uint64_t checksum = wire::checksum(bytes);
  if (small) {
    m.set_inline_payload(size, checksum);
  } else if (size <= transport::message::inline_payload_bytes) {
    m.copy_payload(bytes, checksum);
  } else {
    transport::buffer_ref buffer = engine_->endpoint_.acquire_payload();
    if (!buffer) {
      give_up_value(error(errc::busy, "no buffer left for the reply"));
      return false;
    }
    std::memcpy(buffer.data(), bytes.data(), size);
    const std::span<const std::byte> kept(buffer.data(), size);
    m.share_payload({std::move(buffer), kept}, checksum);
  }
  engine_->statistics_.clean += clean_;
  return true;
}

}  // namespace scoll::detail
