#include <algorithm>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t always_checked_bytes =
    8'192;  // segments of up to so many have a checksum in any case

void report(violations& found, std::string_view property, const haul_record& h, const transfer_record& t,
            const std::string& what) {
  constexpr std::string_view ways[] = {"pull", "push", "stream"};
  found.push_back(
      {std::string(property),
       fmt::format("haul {} of host {} at host {}: {} of {} bytes: {}; {}", h.number, h.from->host,
                   t.at->host, ways[static_cast<std::size_t>(h.shape.way)], h.shape.length, what,
                   !t.done     ? "has not ended"
                   : t.outcome ? "ok"
                               : describe(t.outcome.error()))});
}
void report(violations& found, std::string_view property, const haul_record& h, const std::string& what) {
  found.push_back(
      {std::string(property), fmt::format("haul {} of host {}: {}", h.number, h.from->host, what)});
}

/// True if bits that a wire inverted may have gone unnoticed, or may lie in memory that must not be used.
bool may_be_damaged(const haul_record& h, const cluster& c, bool succeeded) {
  const bool altered =
      std::any_of(c.faults().begin(), c.faults().end(), [](const fault_record& f) { return f.alters; });
  const std::uint64_t own = h.shape.way == haul_way::stream ? 0 : h.shape.chunk;
  const std::uint64_t segment = own == 0 ? sim_segment_bytes : own;
  const bool always_checked = std::min(segment, h.shape.length) <= always_checked_bytes;
  return altered && !always_checked && !(h.shape.verify && succeeded);
}

/// After an await has returned, nothing writes to its memory; after an exposure has ended, nothing writes to
/// the exposed memory; nothing ever writes beyond the fences.
void lent_memory_is_left_alone(const haul_record& h, violations& found) {
  for (const transfer_record& t : h.transfers) {
    if (t.done && !t.local.holds_only(await_returned))
      report(found, "lent memory is left alone", h, t, "its local memory was touched afterwards");
  }
  if (h.is_withdrawn && !h.memory.holds_only(withdrawn))
    report(found, "lent memory is left alone", h, "its exposed memory was touched afterwards");
  if (!h.successor_exposed.exposed() && !h.successor.holds_only(withdrawn))
    report(found, "lent memory is left alone", h, "what is exposed in its place was touched");
}

/// A pull brings the bytes that were exposed, never later content, and all of them if it succeeded.
void a_pull_brings_what_was_exposed(const haul_record& h, const transfer_record& t, const cluster& c,
                                    violations& found) {
  const std::uint64_t wrong = t.strange + (t.outcome && h.shape.way != haul_way::push ? t.missing : 0);
  if (wrong != 0 && !may_be_damaged(h, c, t.outcome.has_value()))
    report(found, "a pull brings what was exposed", h, t, fmt::format("{} bytes are not", wrong));
}

/// Exposed memory changes only by pushed bytes, and by all of them if the push succeeded.
void a_push_arrives_as_it_was_sent(const haul_record& h, const cluster& c, violations& found) {
  const bool succeeded = std::any_of(h.transfers.begin(), h.transfers.end(),
                                     [](const transfer_record& t) { return t.outcome.has_value(); });
  if (h.strange + h.missing != 0 && !may_be_damaged(h, c, succeeded))
    report(found, "a push arrives as it was sent", h,
           fmt::format("{} bytes are strange, {} are missing", h.strange, h.missing));
  const bool pushes = h.shape.way == haul_way::push;
  if (h.foreign_digest && !may_be_damaged(h, c, succeeded))
    report(found, pushes ? "a push arrives as it was sent" : "a pull brings what was exposed", h,
           "its receipt is of something else");
}

/// A push that reports that nothing was written has written nothing.
void what_was_not_written_is_not_there(const haul_record& h, const transfer_record& t, violations& found) {
  const bool alone = h.transfers.size() == 1;
  if (alone && !t.outcome && !t.may_have_written && h.pushed != 0)
    report(found, "what was not written is not there", h, t, fmt::format("{} bytes are", h.pushed));
  if (t.outcome && !t.may_have_written && h.shape.way == haul_way::push)
    report(found, "what was not written is not there", h, t, "a success that wrote nothing");
}

/// A transfer with an invalid descriptor is told why, and moves no bytes.
void a_false_descriptor_is_refused(const haul_record& h, const transfer_record& t, violations& found) {
  const bool false_from_the_start = h.shape.twist != haul_twist::none || t.began_late;
  // An empty stream sends no request, and the first chunks of another stream may have arrived.
  const bool given_up =
      h.shape.way == haul_way::stream &&
      (h.shape.length == 0 || (h.shape.chunks_read != 0 && h.shape.twist == haul_twist::stretched));
  if (false_from_the_start && t.outcome && !given_up)
    report(found, "a false descriptor is refused", h, t, "it was not");
}

/// Only memory that is no longer exposed is reported as stale.
void a_true_descriptor_is_not_stale(const haul_record& h, const transfer_record& t, violations& found) {
  const bool holds = h.shape.twist == haul_twist::none && !h.is_withdrawn_before(t.ended);
  if (!t.outcome && t.outcome.error() == errc::stale_descriptor && holds && !h.from->crashed)
    report(found, "a true descriptor is not stale", h, t, "it was called so");
}

/// How long hardware may keep a transfer from its end.
nanoseconds fence_bound(const haul_record& h, const cluster& c) {
  const bool direct =
      c.network_of_bulk().has_remote_memory() && h.shape.local_registered && h.shape.way != haul_way::stream;
  return direct ? nanoseconds(milliseconds(60)) : nanoseconds(0);
}

void a_transfer_ends_by_its_deadline(const haul_record& h, const transfer_record& t, const cluster& c,
                                     violations& found) {
  if (h.shape.deadline_us == 0) return;
  const nanoseconds deadline = std::chrono::microseconds(h.shape.deadline_us);
  if (t.took > fence_bound(h, c) + allowance(c, t.at->host, deadline, t.began, t.ended))
    report(found, "a transfer ends by its deadline", h, t,
           fmt::format("took {} us of {} us", t.took.count() / 1000, h.shape.deadline_us));
}

/// A transfer that is told to stop stops at once, or when hardware has let go of its memory, whatever the peer
/// and the network do.
void a_stop_of_a_transfer_is_heard(const haul_record& h, const transfer_record& t, const cluster& c,
                                   violations& found) {
  if (t.stopped.count() == 0 || t.stopped < t.began) return;
  if (t.ended - t.stopped > fence_bound(h, c) + allowance(c, t.at->host, nanoseconds(0), t.stopped, t.ended))
    report(found, "a stop of a transfer is heard", h, t,
           fmt::format("after {} us", (t.ended - t.stopped).count() / 1000));
}

/// Without faults a transfer fails only by its descriptor, by its deadline, or because its handler must stop.
void no_transfer_fails_by_itself(const haul_record& h, const transfer_record& t, const cluster& c,
                                 violations& found) {
  if (!c.faults().empty() || t.outcome) return;
  const error& why = t.outcome.error();
  const bool stale = why == errc::stale_descriptor && h.is_withdrawn_before(t.ended);
  const bool refused = h.shape.twist != haul_twist::none && why == refusal_of(h.shape.twist);
  const bool late = why == errc::deadline_exceeded && h.shape.deadline_us != 0;
  const bool stopped =
      why == errc::cancelled && !has(c.calls().records().at(h.number).behaviour, errand_bit::deaf);
  if (!stale && !refused && !late && !stopped) report(found, "no transfer fails by itself", h, t, "it did");
}

}  // namespace

void check_hauls(const cluster& c, violations& found) {
  for (const auto& [number, h] : c.calls().hauls()) {
    lent_memory_is_left_alone(h, found);
    a_push_arrives_as_it_was_sent(h, c, found);
    for (const transfer_record& t : h.transfers) {
      if (t.ended_by_crash || t.at->crashed) continue;
      if (!t.done) {
        report(found, "every transfer ends", h, t, "it has not");
        continue;
      }
      a_pull_brings_what_was_exposed(h, t, c, found);
      what_was_not_written_is_not_there(h, t, found);
      a_false_descriptor_is_refused(h, t, found);
      a_true_descriptor_is_not_stale(h, t, found);
      a_transfer_ends_by_its_deadline(h, t, c, found);
      a_stop_of_a_transfer_is_heard(h, t, c, found);
      no_transfer_fails_by_itself(h, t, c, found);
    }
  }
}

}  // namespace scoll::sim
