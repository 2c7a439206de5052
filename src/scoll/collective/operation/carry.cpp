#include <algorithm>

#include "scoll/bulk/predict.hpp"
#include "scoll/collective/bulks.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/operation/bulk.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"

// The bulk data of an operation: when they begin, who sees them, and when they are over.
namespace scoll::detail {
namespace {

/// What a member allows at most, whatever the root says.
constexpr nanoseconds longest_bulk_time{static_cast<std::int64_t>(longest_extension_ns)};

/// One second, and the time of so many bytes at that rate.
nanoseconds time_for(std::uint64_t bytes, std::uint64_t bytes_per_second) noexcept {
  const double seconds = 1 + static_cast<double>(bytes) / static_cast<double>(bytes_per_second);
  const double most = std::chrono::duration<double>(longest_bulk_time).count();
  return nanoseconds(static_cast<std::int64_t>(std::min(seconds, most) * 1e9));
}

}  // namespace

/// Chooses plan and pieces: the caller's, those that the group or the node has pinned, or those with the least
/// predicted time.
result<bulk_choice> operation::choose_plan(const bcast_options& options) const {
  const node_options& defaults = engine_->options_;
  const bulk_choices& of_group = subject_.group->bulk;
  bulk_choice_options how{.passing = table().bulk_window != 0};
  how.pinned = of_group.pinned ? of_group.pinned : defaults.bulk_plan;
  // One plan for all services may not be one for this service.
  if (how.pinned && how.passing && !how.pinned->can_pass()) how.pinned.reset();
  if (options.bulk_plan) how.pinned = options.bulk_plan;
  if (const auto fault = how.pinned ? check_bulk_plan(*how.pinned) : bulk_plan_fault::none;
      fault != bulk_plan_fault::none)
    return error(errc::invalid_argument, describe(fault));

  const std::uint64_t length = options.bulk.length();
  const bulk_costs& costs = of_group.costs ? *of_group.costs : defaults.bulk_costs;
  const bulk_members members{subject_.members, of_group.most_on_one_host(subject_.subset.get()),
                             shape_of(subject_.tree, subject_.members)};
  const auto chosen = choose_bulk(members, length, costs, how);
  if (!chosen) {
    return make_error(errc::too_large, "{} bytes of bulk data: at most {} are allowed", length,
                      most_bulk_bytes);
  }
  if (options.bulk_piece_bytes == 0) return *chosen;
  const auto pieces = bulk_pieces::divide(length, options.bulk_piece_bytes);
  if (!pieces) {
    return make_error(errc::invalid_argument, "{} bytes of bulk data cannot travel in pieces of {} bytes",
                      length, options.bulk_piece_bytes);
  }
  return bulk_choice{chosen->plan, options.bulk_piece_bytes,
                     predict_bulk(chosen->plan, members, *pieces, costs)};
}

status operation::offer_bulk(const bcast_options& options) {
  const auto chosen = choose_plan(options);
  if (!chosen) return chosen.error();
  const std::uint64_t length = options.bulk.length();
  const bulk_pieces pieces = bulk_pieces::divide(length, chosen->piece_bytes).value();
  times_.bulk = options.bulk_time.count() > 0 ? std::min(options.bulk_time, longest_bulk_time)
                                              : time_for(length, engine_->options_.bulk_least_rate);
  if (SCOLL_MUTANT(bulk_time_left_out, "the bounds of a broadcast leave no time for its bulk data"))
    times_.bulk = {};
  bulk_ = &engine_->bulks_->acquire();
  bulk_->offer(subject_, progress_, options.bulk, pieces, chosen->plan, times_.bulk);
  constexpr auto longest = static_cast<std::uint64_t>(nanoseconds::max().count());
  const nanoseconds predicted(static_cast<std::int64_t>(std::min(chosen->predicted_ns, longest)));
  root_.bulk = bulk_report{chosen->plan, chosen->piece_bytes, predicted, {}};
  subject_.head.flags |= collective_head::bulk_follows;
  engine_->bulks_->enter(*bulk_);
  return {};
}

/// Offers the bulk data of a broadcast in a further round of it.
void operation::offer_bulk_again(const operation_bulk& first) {
  bulk_ = &engine_->bulks_->acquire();
  bulk_->offer_again(subject_, progress_, first, table().bulk_window == 0);
  engine_->bulks_->enter(*bulk_);
  ++statistics().bulk_rounds;
}

void operation::hear_bulk(const bulk_head& said) {
  bulk_ = &engine_->bulks_->acquire();
  bulk_->hear(subject_, progress_, said);
  times_.bulk = bulk_->time();
  engine_->bulks_->enter(*bulk_);
}

status operation::expose_bulk() {
  const nanoseconds patience = std::chrono::seconds(1) + subject_.levels() * (times_.rtt + times_.margin);
  return bulk_->expose(times_.expires, {.slots = table().bulk_window, .patience = patience});
}

/// Goes on with this node's own part: hands out one chunk, or begins `execute` once there are no more.
/// Returns true if it can go on at once.
bool operation::hand_out_bulk() {
  const hook_set::state& hook = hooks_.at(hook_kind::on_bulk);
  const bool over = own_.settled || own_.begun || own_.elsewhere || executed().done || out_of_time();
  if (over || hook.running || subject_.is_relay()) return false;
  if (own_.closed) bulk_->fail(own_.closed);
  if (hook.done && !hook.outcome) bulk_->refuse(hook.outcome.error());
  const bool wanted = table().on_bulk.call != nullptr;
  const bulk_chunk* const chunk = wanted && !bulk_->failure() ? bulk_->next_chunk() : nullptr;
  if (chunk != nullptr) return take_chunk(*chunk);
  if (bulk_->failure() &&
      !SCOLL_MUTANT(executes_without_bulk, "a member executes though its bulk data have not come")) {
    executed().finish(bulk_->failure());
  } else if (bulk_->failure() || bulk_->complete(wanted)) {
    start_execute();
  }
  return false;
}

bool operation::take_chunk(const bulk_chunk& chunk) {
  void* const instance = subject_.service->instance;
  if (table().on_bulk.suspends) {
    spawn_hook(table().on_bulk(instance, chunk, context_), hook_kind::on_bulk);
    return false;
  }
  if (const status taken = table().on_bulk(instance, chunk, context_).take(); !taken)
    bulk_->refuse(taken.error());
  return true;
}

/// Other members may still read, unless the operation ends early, and what a member has refused goes on to
/// land for them. The root ends when all others have ended.
void operation::stop_bulk() noexcept {
  const bool early = SCOLL_MUTANT(bulk_withdrawn_early, "a member withdraws its pieces when it answers");
  const bool for_others = bulk_->has_all() || bulk_->lands_for_others();
  if (subject_.is_root() || out_of_time() || !for_others || early) bulk_->withdraw();
}

/// The hook on the root reads the caller's memory, which must not be given back before.
task<void> operation::root_hook_returned() {
  while (hooks_.at(hook_kind::on_bulk).running) {
    progress_.reset();
    co_await progress_.wait();
  }
}

/// Waits until no member needs pieces from here, or the time is over.
task<void> operation::readers_gone() {
  rearm();
  while (bulk_->has_readers() && !out_of_time()) {
    progress_.reset();
    co_await progress_.wait();
  }
  timer_disarm();
  bulk_->withdraw();
}

/// Tells the service that there will be no `execute`, if it has given a place.
void operation::tell_bulk_failed(const error& why) noexcept {
  if (bulk_->has_place() && !own_.begun && table().bulk_failed != nullptr &&
      !SCOLL_MUTANT(bulk_failure_untold, "a service is not told that its bulk data have failed"))
    table().bulk_failed(subject_.service->instance, why, context_);
}

}  // namespace scoll::detail
