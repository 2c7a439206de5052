#include "epoch_member.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"

namespace shard {

using scoll::errc;

scoll::task<scoll::result<std::unique_ptr<epoch_member>>> epoch_member::open(
    std::unique_ptr<epoch_store> store) {
  auto state = co_await store->load();
  if (!state) co_return state.error();
  co_return std::unique_ptr<epoch_member>(new epoch_member(std::move(store), std::move(*state)));
}

/// One step at a time: the next one must see what this one has promised.
scoll::task<scoll::result<epoch_reply>> epoch_member::handle(const epoch_request& request) {
  if (request.step == epoch_step::look) co_return knows();
  co_await changing_.acquire();
  auto next = after(request);
  scoll::status kept;
  if (next && *next != state_) kept = co_await store_->keep(*next);
  if (next && kept) move_to(std::move(*next));
  changing_.release();
  if (!next) co_return next.error();
  if (!kept) co_return kept.error();
  if (state_.vote) attention_.set();
  co_return knows();
}

void epoch_member::move_to(epoch_state next) {
  constexpr std::size_t remembered = 64;
  const bool onwards = next.committed.epoch != state_.committed.epoch;
  state_ = std::move(next);
  if (onwards) passed_.push_back(state_.committed);
  if (passed_.size() > remembered) passed_.pop_front();
}

const committed_epoch* epoch_member::passed(std::uint64_t epoch) const noexcept {
  const auto found = std::ranges::find(passed_, epoch, &committed_epoch::epoch);
  return found == passed_.end() ? nullptr : &*found;
}

/// The state after a step, or why the step is refused.
scoll::result<epoch_state> epoch_member::after(const epoch_request& request) const {
  epoch_state next = state_;
  if (request.known.epoch > next.committed.epoch) {
    next.committed = request.known;
    next.vote.reset();  // it was for this epoch, or for an earlier one
  }
  if (request.step == epoch_step::commit) return next;
  const bool again = request.step == epoch_step::decide && request.under == next.promised;
  if (request.under <= next.promised && !again) {
    return scoll::make_error(errc::stale, "promised to the attempt {} of node {}, not {} of node {}",
                             next.promised.round, next.promised.node, request.under.round,
                             request.under.node);
  }
  next.promised = request.under;
  if (request.step == epoch_step::prepare) return next;
  if (next.committed.epoch != request.known.epoch) {
    return scoll::make_error(errc::stale, "epoch {} is decided", next.committed.epoch);
  }
  if (request.content.note.size() > longest_epoch_note)
    return scoll::error(errc::invalid_argument, "the note of the epoch is too long");
  next.vote = epoch_vote{request.known.epoch + 1, request.under, request.content};
  return next;
}

epoch_reply epoch_member::knows() const {
  epoch_reply mine;
  mine.servers.value = 1;
  mine.lowest.value = state_.committed.epoch;
  mine.latest = state_.committed;
  mine.vote = state_.vote;
  mine.promised = state_.promised;
  return mine;
}

}  // namespace shard
