#include <algorithm>

#include "scoll/collective/bulks.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "scoll/ship/shipper.hpp"
#include "tools/scoll-sim/properties/properties.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

void report(violations& found, std::string_view property, const errand_record& r, const std::string& what) {
  found.push_back(
      {std::string(property), fmt::format("call {} from host {} to host {}: {}; {}{}", r.number, r.from->host,
                                          r.to, what, r.failure ? describe(r.failure) : "ok",
                                          r.may_have_executed ? ", may have executed" : "")});
}
/// No handler runs twice for one call.
void runs_at_most_once(const errand_record& r, violations& found) {
  if (r.begun > 1) report(found, "a call runs at most once", r, fmt::format("it ran {} times", r.begun));
}

/// A call reported as never executed was not executed; a call that succeeded or failed by itself was executed
/// once.
void the_answer_is_true(const errand_record& r, violations& found) {
  if (!r.may_have_executed && r.begun != 0) report(found, "the answer is true", r, "its handler ran");
  const bool notified = has(r.behaviour, errand_bit::notify);
  const bool answered = !r.failure || r.failure == error::user(told_to_fail, "told to fail");
  if (answered && !notified && r.begun != 1)
    report(found, "the answer is true", r, fmt::format("its handler ran {} times", r.begun));
  if (!r.failure && !r.may_have_executed) report(found, "the answer is true", r, "a success never executed");
}

/// True if the call failed with the error of a haul's transfer.
bool failed_by_its_transfer(const errand_record& r, const cluster& c) {
  const std::uint64_t of = r.number > errands::first_relayed ? r.number - errands::first_relayed : r.number;
  const auto found = c.calls().hauls().find(of);
  if (found == c.calls().hauls().end()) return false;
  return std::any_of(found->second.transfers.begin(), found->second.transfers.end(),
                     [&](const transfer_record& t) { return !t.outcome && r.failure == t.outcome.error(); });
}

/// A call that has not left its caller is for the next life of a node that reboots.
void a_reboot_ends_no_unsent_call(const errand_record& r, const cluster& c, violations& found) {
  if (r.failure != errc::peer_rebooted || r.may_have_executed || failed_by_its_transfer(r, c)) return;
  report(found, "a reboot ends no unsent call", r, "it did");
}

/// Without faults, a notification that was accepted and has no deadline is handled.
void what_is_taken_is_handled(const errand_record& r, cluster& c, violations& found) {
  if (!has(r.behaviour, errand_bit::notify) || r.failure || r.deadline.count() != 0 || !c.faults().empty())
    return;
  if (r.begun != 1) report(found, "what is taken is handled", r, "its handler did not run");
}

/// Arguments and results arrive as they were sent, and only a handler that succeeded gives a result.
void arrives_as_it_was_sent(const errand_record& r, violations& found) {
  if (r.garbled) report(found, "arguments and results arrive as they were sent", r, "it did not");
  const bool bad = has(r.behaviour, errand_bit::fails) || has(r.behaviour, errand_bit::throws);
  if (!r.failure && bad && !has(r.behaviour, errand_bit::notify))
    report(found, "arguments and results arrive as they were sent", r, "a handler that failed gave a result");
}

/// A call with other types is refused, and no handler runs.
void other_types_are_refused(const errand_record& r, violations& found) {
  if (!has(r.behaviour, errand_bit::mistyped)) return;
  const bool taken = r.done && !r.ended_by_crash && !r.failure;
  if (taken || r.begun != 0) report(found, "other types are refused", r, "they were not");
  if (r.done && r.failure == errc::type_mismatch && r.may_have_executed)
    report(found, "other types are refused", r, "it may have executed");
}

/// The await ends by its deadline, apart from stalls of its own host.
void ends_by_its_deadline(const errand_record& r, const cluster& c, violations& found) {
  if (r.deadline.count() == 0) return;
  if (r.took > allowance(c, r.from->host, r.deadline, r.began, r.ended))
    report(found, "a call ends by its deadline", r,
           fmt::format("took {} us of {} us", r.took.count() / 1000, r.deadline.count() / 1000));
}

/// The group that a call was made through, or null.
const group_record* group_of(const errand_record& r, const cluster& c) {
  const auto found = r.through_group ? c.groups().find(r.within) : c.groups().end();
  return found == c.groups().end() ? nullptr : &found->second;
}

/// True if some member has called for the survivors of a group. Before the group ends, they are told who that is.
bool was_shrunk(const group_record& g, const cluster& c) {
  const auto& all = c.groups();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& other) { return other.second.shrunk_from == g.number; });
}

/// A call ends with the group that it was made through, and with no other; on the host that ends the group, in
/// that turn.
void ends_with_its_group(const errand_record& r, const cluster& c, violations& found) {
  const group_record* const g = group_of(r, c);
  if (g == nullptr) {
    if (r.failure == errc::unknown_group) report(found, "a call ends with its group", r, "it has none");
    return;
  }
  const bool ended_here = g->enders.size() == 1 && g->enders.front() == r.from;
  if (!ended_here || was_shrunk(*g, c) || r.began > g->asked || r.ended < g->asked) return;
  if (r.ended > g->asked + (r.moves_bulk ? long_way : one_turn))
    report(found, "a call ends with its group", r,
           fmt::format("{} us after the group", (r.ended - g->asked).count() / 1000));
}

/// Without faults a call fails only if it was told to, ran out of time, was cancelled, or met a limit.
void no_call_fails_by_itself(const errand_record& r, cluster& c, violations& found) {
  if (!c.faults().empty() || !r.failure) return;
  const bool relayed = r.number >= errands::first_relayed && r.number < errands::first_roll_call;
  const bool told = r.failure == error::user(told_to_fail, "told to fail") ||
                    (r.failure == errc::hook_failed && has(r.behaviour, errand_bit::throws)) ||
                    (r.failure == errc::type_mismatch && has(r.behaviour, errand_bit::mistyped));
  const group_record* const g = group_of(r, c);
  const bool group_ended = r.failure == errc::unknown_group && g != nullptr && g->is_ending();
  const bool bounded = r.failure == errc::revoked || group_ended || r.failure == errc::busy ||
                       r.failure == errc::too_large ||
                       (r.failure == errc::deadline_exceeded && (r.deadline.count() != 0 || relayed)) ||
                       (r.failure == errc::cancelled && (r.cancelled || r.deadline.count() != 0 || relayed));
  if (!told && !bounded && !failed_by_its_transfer(r, c))
    report(found, "no call fails by itself", r, "it did");
}

/// Without faults a call that is stopped ends at once.
void a_stop_is_heard(const errand_record& r, cluster& c, violations& found) {
  if (!c.faults().empty() || !r.cancelled) return;
  if (r.ended > r.cancelled_at + long_way)
    report(found, "a stop of a call is heard", r,
           fmt::format("after {} us", (r.ended - r.cancelled_at).count() / 1000));
}

/// Without faults a handler that heeds its stop token ends soon after the last caller has stopped waiting for
/// it.
void no_handler_works_for_nothing(const errand_record& r, cluster& c, violations& found) {
  const bool deaf = has(r.behaviour, errand_bit::deaf) || has(r.behaviour, errand_bit::notify);
  if (!c.faults().empty() || deaf) return;
  if (r.last_left > r.ended + long_way)
    report(found, "no handler works for nothing", r,
           fmt::format("for {} us", (r.last_left - r.ended).count() / 1000));
}

/// A call that moves no bulk data does not notice when only the transport of bulk data is lost.
void losing_the_bulk_transport_ends_bulk_alone(const errand_record& r, const cluster& c, violations& found) {
  if (r.moves_bulk || (r.failure != errc::connection_lost && r.failure != errc::unreachable)) return;
  const bool touched = std::any_of(c.faults().begin(), c.faults().end(), [&](const fault_record& f) {
    return !f.spares_messages() && (f.hosts.contains(r.from->host) || f.hosts.contains(r.to)) &&
           f.from <= r.ended && f.until >= r.began;
  });
  if (!touched) report(found, "losing the bulk transport ends bulk alone", r, "it ended a call");
}

/// No handler is given more time than its call may take.
void nobody_is_asked_for_longer(const errand_record& r, violations& found) {
  if (r.deadline.count() != 0 && r.most_left > r.deadline + r.deadline / 50)
    report(found, "nothing is asked for longer than its bounds", r,
           fmt::format("{} us of {} us", r.most_left.count() / 1000, r.deadline.count() / 1000));
}

/// Whatever happens to its caller, a handler that heeds its stop token ends when its time is over.
void a_handler_ends_by_its_deadline(const errand_record& r, const cluster& c, violations& found) {
  const bool bounded = r.deadline.count() != 0 && !has(r.behaviour, errand_bit::deaf);
  if (!bounded || r.begun != 1 || r.executor->crashed || r.last_left <= r.last_begun) return;
  const nanoseconds worked = r.last_left - r.last_begun;
  if (worked > long_way + allowance(c, r.executor->host, r.deadline, r.last_begun, r.last_left))
    report(found, "a handler ends by its deadline", r,
           fmt::format("it worked for {} us of {} us", worked.count() / 1000, r.deadline.count() / 1000));
}

/// The numbers of waiting and running transfers are bounded, however many peers request.
void transfers_within_bounds(life& l, std::uint32_t hosts, violations& found) {
  transport::endpoint& wire = l.member->wire();
  const auto bulk = transport::traffic_class::bulk;
  const std::size_t waiting = wire.memory().waiting();
  if (waiting > std::size_t{hosts} * wire.options().window[static_cast<std::size_t>(bulk)] ||
      wire.memory().buffers().lent() > wire.options().transfer_buffers)
    report(found, "transfers within bounds", l.host,
           fmt::format("{} buffers, {} requests wait for one", wire.memory().buffers().lent(), waiting));
  // The bulk data of a broadcast have orders of their own, and so has a host that orders what it has no right to.
  const std::size_t objects = detail::node_access::engine(*l.member).bulk_data().running();
  const std::size_t most = wire.options().transfer_window +
                           objects * detail::bulk_landing::most_orders_to_one + l.false_orders.size();
  wire.sessions([&](transport::session& s) {
    if (s.queued(bulk) > most)
      report(found, "transfers within bounds", l.host,
             fmt::format("{} segments wait for credit to node {}", s.queued(bulk), s.peer()));
  });
}

/// True if the caller is a client that may fail: the server has no place for it.
bool is_excused_client(const errand_record& r, const cluster& c) {
  if (!c.guests().contain(r.from->host) || r.may_have_executed || r.begun != 0) return false;
  return r.failure == errc::busy && r.failure.text().find("clients have a place") != std::string_view::npos;
}

}  // namespace

nanoseconds allowance(const cluster& c, std::uint32_t host, nanoseconds deadline, nanoseconds began,
                      nanoseconds ended) {
  nanoseconds allowed = deadline + deadline / 50 + milliseconds(30);
  for (const fault_record& f : c.faults()) {
    if (f.stalls && f.hosts.contains(host))
      allowed += 2 * std::max(nanoseconds(0), std::min(f.until, ended) - std::max(f.from, began));
  }
  return allowed;
}

void check_calls(const cluster& c, violations& found) {
  auto& mutable_cluster = const_cast<cluster&>(c);
  for (const auto& [number, r] : c.calls().records()) {
    runs_at_most_once(r, found);
    other_types_are_refused(r, found);
    a_handler_ends_by_its_deadline(r, c, found);
    if (number >= errands::first_roll_call || r.ended_by_crash || r.from->crashed) continue;
    if (!r.done) {
      report(found, "every call ends", r, "it has not");
      continue;
    }
    the_answer_is_true(r, found);
    a_reboot_ends_no_unsent_call(r, c, found);
    what_is_taken_is_handled(r, mutable_cluster, found);
    arrives_as_it_was_sent(r, found);
    ends_by_its_deadline(r, mutable_cluster, found);
    ends_with_its_group(r, c, found);
    no_call_fails_by_itself(r, mutable_cluster, found);
    a_stop_is_heard(r, mutable_cluster, found);
    no_handler_works_for_nothing(r, mutable_cluster, found);
    losing_the_bulk_transport_ends_bulk_alone(r, c, found);
    nobody_is_asked_for_longer(r, found);
  }
}

void check_calls_settled(cluster& c, violations& found) {
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    life* const l = c.alive(host);
    if (l == nullptr) continue;
    const detail::shipper& s = detail::node_access::shipper(*l->member);
    if (s.server_calls() != 0 || s.outgoing() != 0 || s.large_held() != 0)
      report(found, "holds no call", host,
             fmt::format("{} handlers, {} calls, {} bytes", s.server_calls(), s.outgoing(), s.large_held()));
    const std::size_t regions = l->member->wire().memory().regions().size();
    if (regions != 0) report(found, "holds no call", host, fmt::format("{} exposed regions", regions));
    if (l->places.free() != life::places_at_most || l->places.has_waiters())
      report(found, "holds no call", host, fmt::format("{} places are free", l->places.free()));
  }
}

void check_call_bounds(cluster& c, violations& found) {
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    life* const l = c.alive(host);
    if (l == nullptr) continue;
    const detail::shipper& s = detail::node_access::shipper(*l->member);
    const ship_limits& limits = s.limits();
    if (s.server_calls() > limits.handlers || s.large_held() > limits.large_memory)
      report(found, "calls within bounds", host,
             fmt::format("{} handlers, {} bytes", s.server_calls(), s.large_held()));
    transfers_within_bounds(*l, c.hosts(), found);
    for (std::uint32_t peer = 0; peer < c.hosts(); ++peer) {
      if (s.server_calls_of(c.guests().id_of(peer)) > (limits.handlers + 1) / 2)
        report(found, "nobody takes all places", host,
               fmt::format("{} handlers for host {}", s.server_calls_of(c.guests().id_of(peer)), peer));
    }
  }
}

void check_call_roll_call(const cluster& c, violations& found) {
  const auto& all = c.calls().records();
  for (auto it = all.lower_bound(errands::first_roll_call); it != all.end(); ++it) {
    const errand_record& r = it->second;
    if (is_excused_client(r, c)) continue;
    if (!r.done || r.failure || r.begun != 1)
      report(found, "everybody answers a call", r, r.done ? "failed" : "not done");
  }
}

}  // namespace scoll::sim
