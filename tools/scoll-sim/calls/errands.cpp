#include "tools/scoll-sim/calls/errands.hpp"

#include <algorithm>
#include <stdexcept>

#include "scoll/coro/sleep.hpp"
#include "tools/scoll-sim/calls/errand_execution.hpp"

namespace scoll::sim {
namespace {

using testing::sim_trace;

constexpr std::size_t always_eager_bytes = 900;  // arguments and results that never travel as bulk data
constexpr std::uint64_t most_bytes = 1'000'000;

bool filled(const std::vector<std::uint8_t>& filler, std::uint64_t number) {
  return std::all_of(filler.begin(), filler.end(), [&](std::uint8_t b) { return b == filling(number); });
}

}  // namespace

void errands::serve(life& l) {
  const auto handler = [this, &l](const errand& what, call_context& call) { return handle(l, what, call); };
  l.member->serve(run_errand, handler).value();
  const auto hauler = [this, &l](const haul& what, call_context& call) { return handle(l, what, call); };
  l.member->serve(run_haul, hauler).value();
}

task<result<parcel>> errands::handle(life& at, const errand& what, call_context& call) {
  const execution present(*this, at, call, what.number, what.behaviour, filled(what.filler, what.number));
  const stop_token stop = has(what.behaviour, errand_bit::deaf) ? stop_token{} : call.stop();
  if (what.work_us != 0) {
    const status slept = co_await sleep_for(std::chrono::microseconds(what.work_us), stop);
    if (!slept) co_return slept.error();
  }
  if (has(what.behaviour, errand_bit::fails)) co_return error::user(told_to_fail, "told to fail");
  if (has(what.behaviour, errand_bit::throws)) throw std::runtime_error("told to throw");
  if (has(what.behaviour, errand_bit::relayed)) {
    errand further;
    further.number = first_relayed + what.number;
    further.filler.assign(what.filler.size(), filling(further.number));
    const std::uint32_t next = (at.host + 1) % cluster_.hosts();
    const bool none = next == at.host || cluster_.guests().contain(next);
    if (errand_record* const r = none ? nullptr : record(further.number, 0, at, next)) {
      r->moves_bulk = further.filler.size() > always_eager_bytes;
      ship_options options;
      options.deadline = call.remaining();
      options.stop = stop;
      co_await run(at, *r, std::move(further), options);
    }
  }
  parcel gives;
  gives.number = what.number;
  gives.filler.assign(what.result_bytes, filling(what.number));
  co_return gives;
}

errand_record* errands::record(std::uint64_t number, std::uint64_t behaviour, life& from, std::uint32_t to) {
  if (records_.contains(number)) return nullptr;
  errand_record& r = records_[number];
  r.number = number;
  r.behaviour = behaviour;
  r.from = &from;
  r.to = to;
  r.began = cluster_.world().now();
  return &r;
}

/// The life that calls, if it is there, and the other host is another one, and no client.
life* errands::two_ends(std::uint32_t from, std::uint32_t to) {
  if (from >= cluster_.hosts() || to >= cluster_.hosts() || from == to || cluster_.guests().contain(to))
    return nullptr;
  return cluster_.alive(from);
}

void errands::begin(const events::call& e) {
  life* const from = two_ends(e.from, e.to);
  if (from == nullptr) return;
  cluster_.seen().saw(mark::call_beside_broadcast, cluster_.broadcast_between(e.from, e.to));
  errand what;
  what.number = e.number;
  what.behaviour = e.behaviour;
  what.work_us = static_cast<std::uint32_t>(e.work.count());
  what.filler.assign(std::min(e.bytes, most_bytes), filling(e.number));
  what.result_bytes = static_cast<std::uint32_t>(std::min(e.result_bytes, most_bytes));
  from->home.enter([&] {
    errand_record* const r = record(e.number, e.behaviour, *from, e.to);
    if (r == nullptr) return;
    r->moves_bulk = std::max(e.bytes, e.result_bytes) > always_eager_bytes;
    ship_options options;
    options.stop = r->stop.token();
    r->deadline = e.deadline;
    if (r->deadline.count() != 0) options.deadline = r->deadline;
    if (has(e.behaviour, errand_bit::limited)) options.limit = &from->places;
    if (const auto through = within_.find(e.number); through != within_.end()) {
      r->within = through->second;
      r->through = cluster_.held_by(*from, r->within);
      if (r->through != nullptr) options.within = *r->through;
    }
    from->work.spawn(run(*from, *r, std::move(what), options));
  });
}

void errands::cancel(std::uint64_t number) {
  const auto found = records_.find(number);
  if (found == records_.end() || found->second.done || found->second.from->crashed) return;
  errand_record& r = found->second;
  r.cancelled = true;
  r.cancelled_at = cluster_.world().now();
  cluster_.alive(r.from->host)->home.enter([&] { r.stop.request_stop(); });
}

task<void> errands::run(life& from, errand_record& r, errand what, ship_options options) {
  const time_point start = from.home.now();
  node& by = *from.member;
  if (has(r.behaviour, errand_bit::mistyped)) {
    auto gave = co_await ship(by, r.to + 1, mistyped_errand, what.number, options);
    finish(from, r, start, gave ? error{} : gave.error(), gave.may_have_executed());
  } else if (has(r.behaviour, errand_bit::notify)) {
    auto taken = co_await notify(by, r.to + 1, run_errand, what, options);
    finish(from, r, start, taken ? error{} : taken.error(), taken.may_have_executed());
  } else {
    auto gave = co_await ship(by, r.to + 1, run_errand, what, options);
    if (gave) {
      r.garbled |= gave->number != r.number || gave->filler.size() != what.result_bytes ||
                   !filled(gave->filler, r.number);
    }
    finish(from, r, start, gave ? error{} : gave.error(), gave.may_have_executed());
  }
}

void errands::finish(life& from, errand_record& r, time_point local_start, const error& failure, bool may) {
  if (!recording_) r.ended_by_crash = true;
  r.done = true;
  r.ended_by_crash |= from.crashed;
  r.ended = cluster_.world().now();
  r.took = from.home.now() - local_start;
  r.failure = failure;
  r.through_group = r.through != nullptr;
  r.through.reset();
  r.may_have_executed = may;
  if (recording_) {
    const bool client = cluster_.guests().contain(from.host);
    cluster_.seen().saw(mark::client_served, client && !failure);
    cluster_.seen().saw(mark::client_memory_moved, client && !failure && r.moves_bulk);
    cluster_.seen().saw(mark::client_busy,
                        client && failure == errc::busy &&
                            failure.text().find("clients have a place") != std::string_view::npos);
    cluster_.seen().saw(mark::call_revoked, failure == errc::revoked);
    cluster_.seen().saw(mark::call_ended_with_group, failure == errc::unknown_group);
    cluster_.seen().saw(mark::calls_survive_bulk,
                        !failure && !r.moves_bulk && cluster_.bulk_is_out(r.from->host, r.to));
    const auto code = static_cast<std::uint64_t>(failure.code());
    cluster_.world().record(sim_trace::note, from.host, r.number, 2 * code + static_cast<std::uint64_t>(may));
  }
}

void errands::begin_roll_call() {
  if (records_.empty()) return;
  for (std::uint32_t host = 0; host < cluster_.hosts(); ++host) {
    life* const from = cluster_.alive(host);
    if (from == nullptr) continue;
    from->home.enter([&] {
      for (std::uint32_t to = 0; to < cluster_.hosts(); ++to) {
        if (to == host || cluster_.alive(to) == nullptr || cluster_.guests().contain(to)) continue;
        errand what;
        what.number = first_roll_call + std::uint64_t{host} * cluster_.hosts() + to;
        errand_record* const r = record(what.number, 0, *from, to);
        ship_options options;
        options.limit = &from->places;
        from->work.spawn(run(*from, *r, std::move(what), options));
      }
    });
  }
}

}  // namespace scoll::sim
