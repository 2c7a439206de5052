#include "scoll/collective/operation/kept_part.hpp"

#include <algorithm>
#include <chrono>

#include "scoll/bulk/head.hpp"
#include "scoll/collective/operation/bulk.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/mutants.hpp"

namespace scoll::detail {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds beyond_the_end = 1s;
constexpr nanoseconds longest_kept = 1h;

nanoseconds at_most(std::uint64_t ns) noexcept {
  return nanoseconds(
      static_cast<std::int64_t>(std::min(ns, static_cast<std::uint64_t>(longest_kept.count()))));
}

}  // namespace

/// Without a deadline the first round and two further ones may follow one another (`broadcast_repair`).
nanoseconds time_to_keep(const collective_head& head, const bulk_head* bulk, std::int64_t levels) {
  if (head.remaining_ns != 0) return 2 * at_most(head.remaining_ns) + beyond_the_end;
  const nanoseconds each_level =
      at_most((std::uint64_t{head.rtt_us} + head.margin_us) * std::chrono::nanoseconds(1us).count());
  const nanoseconds of_bulk = at_most(bulk != nullptr ? bulk->time_ns : 0);
  const nanoseconds of_a_round = at_most(head.processing_ns) + of_bulk + levels * each_level;
  return 4 * of_a_round + beyond_the_end;
}

nanoseconds time_of_kept_hook(const collective_head& head) {
  if (head.remaining_ns == 0 || head.operation.attempt != 0) return nanoseconds(0);
  return at_most(head.remaining_ns) / 3 * 4;
}

bool kept_part::is_written() const noexcept {
  return op_.own_.record != nullptr && !op_.own_.elsewhere;
}

void kept_part::fail(phase where, const error& why) {
  if (!is_written() || !op_.own_.record->running()) return;
  op_.own_.record->why = {where, why, 0};
  op_.own_.record->end(member_state::failed);
}

void kept_part::end() {
  if (!is_written() || !op_.own_.record->running()) return;
  const status& ended = op_.executed().outcome;
  if (ended) return keep_reply();
  const bool no_bulk = op_.bulk_ != nullptr && op_.bulk_->failure();
  fail(no_bulk ? phase::bulk : phase::execute, op_.own_.closed ? op_.own_.closed : ended.error());
}

void kept_part::keep_reply() {
  own_record& record = *op_.own_.record;
  const void* const value =
      SCOLL_MUTANT(round_gives_subtree, "a further round gets what all below a member gave") &&
              op_.values_.merged() != nullptr
          ? op_.values_.merged()
          : op_.values_.own();
  const auto into = op_.scratch().first(op_.table().reply_capacity);
  if (const auto size = op_.table().encode_reply(value, into)) {
    record.reply.assign(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(*size));
    return record.end(member_state::merged);
  } else {
    record.why = {phase::reply, size.error(), 0};
  }
  record.end(member_state::executed);
}

void kept_part::enter() {
  if (op_.own_.elsewhere) return op_.own_.record->await(op_.progress_);
  op_.own_.record->stop_with(&*op_.stop_);
}

void kept_part::leave() noexcept {
  if (op_.own_.elsewhere) return op_.own_.record->leave(op_.progress_);
  op_.own_.record->stop_with(nullptr);
}

bool kept_part::runs() const noexcept {
  return op_.own_.elsewhere ? !op_.own_.settled && !is_known() : op_.executed().running;
}

void kept_part::stop_elsewhere() noexcept {
  if (op_.own_.elsewhere && !is_known()) op_.own_.record->stop();
}

bool kept_part::is_known() const noexcept {
  return op_.own_.record == nullptr || !op_.own_.record->running();
}

void kept_part::take() {
  op_.own_.settled = true;
  if (const errc why = op_.own_.barred; why != errc::ok) {
    const error barred(why, why == errc::peer_rebooted
                                ? "the root asks another life of this node"
                                : "this node does not know any more if it has seen the broadcast");
    return op_.mark_self(member_state::not_reached, op_.note(phase::admission, barred));
  }
  if (op_.own_.record == nullptr) {
    const error gone(errc::record_gone, "what this node has done is not known any more");
    return op_.mark_self(member_state::unknown, op_.note(phase::admission, gone));
  }
  const own_record& record = *op_.own_.record;
  if (record.state() != member_state::merged)
    return op_.mark_self(record.state(), op_.note(record.why.where, record.why.what));
  if (const status decoded = op_.values_.decode_own(record.reply); !decoded)
    return op_.mark_self(member_state::executed, op_.note(phase::reply, decoded.error()));
  op_.values_.merge_own();
  op_.mark_self(member_state::merged);
}

bool kept_part::outlives_answer() const noexcept {
  return is_written() && op_.executed().running && !op_.ending_.asked &&
         op_.engine_->get_executor().now() < op_.own_.hook_until;
}

}  // namespace scoll::detail
