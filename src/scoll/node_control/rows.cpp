#include "scoll/node_control/rows.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>

#include "scoll/coro/error_format.hpp"

namespace scoll::detail {
namespace {

constexpr std::array<const char*, transport::class_count> class_names{"urgent", "collective", "call", "bulk"};

double milliseconds_of(nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

json by_class(const std::array<std::uint32_t, transport::class_count>& numbers) {
  json all;
  for (std::size_t c = 0; c < numbers.size(); ++c) all[class_names[c]] = numbers[c];
  return all;
}

json failure_json(const error& why) {
  return why ? json(describe(why)) : json(nullptr);
}

/// What became of the node, as far as a person needs one word for it.
std::string_view state_of(const peer_snapshot& p) {
  if (p.dead) return "dead";
  if (p.connected) return "up";
  return p.last_failure ? "down" : "idle";
}

/// The wall clock at an event, in UTC.
std::string wall_time(nanoseconds age) {
  const auto at =
      std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(age);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch());
  const std::time_t seconds = ms.count() / 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), ms.count() % 1000);
}

}  // namespace

std::string text_of(const group_id& id) {
  return fmt::format("{}.{}.{}", id.creator, id.incarnation, id.counter);
}

json peer_json(const peer_snapshot& p) {
  return {{"id", p.id},
          {"address", p.address},
          {"state", state_of(p)},
          {"incarnation", p.incarnation},
          {"epoch", p.epoch},
          {"peer_epoch", p.peer_epoch},
          {"lanes", {{"control", p.connected}, {"bulk", p.bulk_connected}}},
          {"bulk_lost", p.bulk_lost},
          {"credit", by_class(p.credit)},
          {"queued", by_class(p.queued)},
          {"waiting", p.waiting},
          {"owing", p.owing},
          {"held_messages", p.held_messages},
          {"dead", p.dead},
          {"rtt_us", static_cast<double>(p.rtt.count()) / 1000},
          {"last_failure", failure_json(p.last_failure)},
          {"last_bulk_failure", failure_json(p.last_bulk_failure)}};
}

json group_json(const group_snapshot& g) {
  return {{"id", text_of(g.id)},     {"name", g.name},
          {"creator", g.id.creator}, {"service", static_cast<std::uint32_t>(g.service)},
          {"members", g.members},    {"delayed", g.delayed},
          {"revoked", g.revoked}};
}

json operation_json(const operation_snapshot& o) {
  return {{"kind", o.kind},
          {"service", o.service},
          {"group", text_of(o.group_number)},
          {"group_name", o.group},
          {"root", o.root},
          {"counter", o.counter},
          {"age_ms", milliseconds_of(o.age)},
          {"stage", o.stage},
          {"hooks", o.hooks},
          {"children", o.children},
          {"unanswered", o.unanswered}};
}

json function_json(const function_snapshot& f) {
  return {{"name", f.name},
          {"inside", f.inside},
          {"calls", f.calls},
          {"failures", f.failures},
          {"p50_ms", milliseconds_of(f.latency.quantile(0.5))},
          {"p99_ms", milliseconds_of(f.latency.quantile(0.99))}};
}

json call_json(const call_snapshot& c) {
  return {
      {"function", c.function}, {"caller", c.caller}, {"age_ms", milliseconds_of(c.age)}, {"stage", c.stage}};
}

json resource_json(const resource_snapshot& r) {
  return {{"name", r.name}, {"used", r.used}, {"limit", r.limit}, {"about", r.about}};
}

json security_json(const transport::security_snapshot& s, std::uint64_t not_authentic) {
  auto keys = json::array();
  for (const std::uint32_t each : s.keys) keys.push_back(fmt::format("{:08x}", each));
  return {{"mode", s.mode},
          {"fabric", s.fabric},
          {"keys", std::move(keys)},
          {"certificate_seconds", s.certificate_seconds ? json(*s.certificate_seconds) : json(nullptr)},
          {"not_authentic", not_authentic},
          {"older_keys", s.counts.older_keys},
          {"unknown_keys", s.counts.unknown_keys},
          {"certificates_outdated", s.counts.outdated},
          {"certificates_misnamed", s.counts.misnamed}};
}

json event_json(const node& of, const node_event& e) {
  const nanoseconds age = of.get_executor().now() - e.at;
  return {{"number", e.number},
          {"time", wall_time(age)},
          {"age_ms", milliseconds_of(age)},
          {"kind", to_string(e.kind)},
          {"level", to_string(e.level)},
          {"peer", e.peer},
          {"text", e.text}};
}

}  // namespace scoll::detail
