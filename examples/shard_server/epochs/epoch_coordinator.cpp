#include "epoch_coordinator.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sleep.hpp"

namespace shard {

using scoll::errc;

namespace {

epoch_request commit_to(const committed_epoch& decided) {
  epoch_request all;
  all.step = epoch_step::commit;
  all.known = decided;
  return all;
}

}  // namespace

scoll::nanoseconds epoch_coordinator::pause(std::uint32_t failures) noexcept {
  constexpr scoll::nanoseconds shortest = std::chrono::milliseconds(20);
  const std::uint32_t doublings = std::min(failures, 5U);
  return shortest + scoll::nanoseconds(static_cast<std::int64_t>(
                        random_.below(static_cast<std::uint64_t>(shortest.count()) << doublings)));
}

scoll::task<scoll::result<committed_epoch>> epoch_coordinator::commit(std::string note,
                                                                      scoll::stop_token stop) {
  if (note.size() > longest_epoch_note) {
    co_return scoll::make_error(errc::invalid_argument, "a note of {} bytes: at most {} are allowed",
                                note.size(), longest_epoch_note);
  }
  const auto alone = co_await working_.acquire(1, stop);
  if (!alone) co_return alone.error();
  purpose mine;
  mine.content = epoch_content{node_, life_, ++requests_, std::move(note)};
  const auto ended = co_await try_until_reached(mine, stop);
  working_.release();
  if (mine.reached) co_return std::move(*mine.reached);
  co_return ended.error();
}

scoll::task<scoll::status> epoch_coordinator::try_until_reached(purpose& mine, scoll::stop_token stop) {
  scoll::status why = scoll::error(errc::cancelled, "stopped before the first attempt");
  for (std::uint32_t failures = 0;;) {
    const auto tried = co_await attempt(mine, stop);
    if (mine.reached || tried.error() == errc::undecided) co_return tried;
    failures = tried ? 0 : failures + 1;
    if (tried) continue;  // an epoch of somebody else was brought to its end
    if (tried.error() != errc::cancelled) why = tried;
    const auto slept = co_await scoll::sleep_for(pause(failures), stop);
    if (slept) continue;
    if (mine.offered == 0) co_return why;
    co_return scoll::make_error(errc::undecided, "epoch {} may become this one, or not: {}", mine.offered,
                                describe(why.error()));
  }
}

/// One attempt, under a ballot of its own. It ends an epoch that others have begun before it begins one.
scoll::task<scoll::status> epoch_coordinator::attempt(purpose& mine, scoll::stop_token stop) {
  ballot under;
  const auto promised = co_await prepare(under, stop);
  if (!promised) co_return promised.error();
  const auto known = learn_of_the_past(mine, promised->latest);
  if (!known || mine.reached) co_return known;
  const epoch_vote* const open = promised->open_vote();
  if (open == nullptr && !mine.content) co_return scoll::status{};
  epoch_request proposal;
  proposal.step = epoch_step::decide;
  proposal.under = under;
  proposal.known = promised->latest;
  proposal.content = open != nullptr ? open->content : *mine.content;
  co_return co_await decide(mine, proposal, stop);
}

/// Has a quorum promise to vote in no earlier attempt. The answer has every vote that may count: those of the
/// quorum, and that of this server, which may not be among them.
scoll::task<scoll::result<epoch_reply>> epoch_coordinator::prepare(ballot& under, scoll::stop_token stop) {
  const epoch_request look;
  const auto seen = co_await all_.ask(look, stop);
  if (!seen) co_return seen.error();
  const std::uint64_t before = std::max(seen->promised.round, own_.state().promised.round);
  round_ = std::max(round_, before) + 1;
  under = {round_, node_, life_};
  epoch_request asked;
  asked.step = epoch_step::prepare;
  asked.under = under;
  asked.known = seen->latest;
  auto promised = co_await all_.ask(asked, stop);
  if (promised) promised->merge(own_.knows());
  co_return promised;
}

/// What became of the content that an earlier attempt has offered. If an epoch was decided with another one,
/// the content can never be that epoch, and may be offered again.
scoll::status epoch_coordinator::learn_of_the_past(purpose& mine, const committed_epoch& latest) const {
  if (mine.offered == 0 || latest.epoch < mine.offered) return {};
  const committed_epoch* const was = latest.epoch == mine.offered ? &latest : own_.passed(mine.offered);
  if (was == nullptr) {
    return scoll::make_error(errc::undecided, "this server has not heard whose epoch {} is, before {}",
                             mine.offered, latest.epoch);
  }
  mine.offered = 0;
  if (was->content == *mine.content) mine.reached = *was;
  return {};
}

/// From the moment when a quorum has voted the epoch is decided. The others hear of it from `settle`.
scoll::task<scoll::status> epoch_coordinator::decide(purpose& mine, const epoch_request& proposal,
                                                     scoll::stop_token stop) {
  const committed_epoch next{proposal.known.epoch + 1, proposal.content};
  const bool is_mine = mine.content == next.content;
  if (is_mine) mine.offered = next.epoch;
  const auto voted = co_await all_.ask(proposal, stop);
  if (!voted) co_return voted.error();
  untold_ = next;
  if (is_mine) mine.reached = next;
  if (mine.offered == next.epoch) mine.offered = 0;
  const epoch_request here = commit_to(next);
  (co_await own_.handle(here)).ignore();  // if the disk fails, the vote stays open here, and is looked into
  own_.news();
  co_return scoll::status{};
}

/// It tells what it knows although it may not find out more, and finds out more although some servers may
/// refuse for long what they are told.
scoll::task<scoll::status> epoch_coordinator::settle(scoll::stop_token stop) {
  const auto alone = co_await working_.acquire(1, stop);
  if (!alone) co_return alone;
  const std::uint64_t heard = own_.heard();
  const auto looked = co_await look(stop);
  working_.release();
  const auto told = co_await tell(stop);
  if (!looked) co_return looked;
  if (told) own_.asked(heard);
  co_return told;
}

scoll::task<scoll::status> epoch_coordinator::tell(scoll::stop_token stop) {
  if (!untold_) co_return scoll::status{};
  const epoch_request news = commit_to(*untold_);
  const auto told = co_await all_.tell(news, stop);
  if (told && untold_ == news.known) untold_.reset();
  co_return told;
}

/// Finds out what is decided, and goes there. All servers have to be told: one that was held dead may be behind
/// without noticing it, and need not be in the quorum that answers. A server that is there writes nothing.
scoll::task<scoll::status> epoch_coordinator::look(scoll::stop_token stop) {
  const epoch_request look;
  auto seen = co_await all_.ask(look, stop);
  if (!seen) co_return seen.error();
  seen->merge(own_.knows());
  if (const epoch_vote* const open = seen->open_vote()) {
    purpose nothing;
    if (found_open_ == *open) {
      const auto tried = co_await attempt(nothing, stop);
      if (!tried) co_return tried;
    }
    found_open_ = *open;
    co_return scoll::make_error(errc::busy, "a vote for epoch {} is open", open->epoch);
  }
  found_open_.reset();
  if (seen->latest.epoch != 0) untold_ = seen->latest;
  const epoch_request news = commit_to(seen->latest);
  const auto here = co_await own_.handle(news);
  if (!here) co_return here.error();
  co_return scoll::status{};
}

namespace {

/// Says that servers are behind for long: after 64 failures, which is half a minute, 128, and so on.
void log_failures(std::uint32_t failures, const scoll::error& why) {
  if (failures >= 64 && std::has_single_bit(failures))
    spdlog::warn("the servers do not stand at one epoch, after {} attempts: {}", failures, describe(why));
}

}  // namespace

scoll::task<void> keep_settled(epoch_member& own, epoch_coordinator& by, scoll::nanoseconds patience,
                               scoll::stop_token stop) {
  for (;;) {
    const auto woken = co_await own.attention().wait(stop);
    if (!woken) co_return;
    own.attention().reset();
    std::uint32_t failures = 0;
    do {
      if (failures != 0 || !by.has_news()) {
        const auto slept = co_await scoll::sleep_for(patience + by.pause(failures), stop);
        if (!slept) co_return;
      }
      if (!own.must_ask()) break;
      const auto settled = co_await by.settle(stop);
      failures = settled ? 0 : failures + 1;
      if (!settled) log_failures(failures, settled.error());
    } while (own.must_ask());
  }
}

}  // namespace shard
