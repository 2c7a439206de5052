#include "scoll/node_control/metrics.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>

#include "scoll/node_control/metrics_text.hpp"
#include "scoll/node_control/seconds.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::detail {
namespace {

template <class Counts>
struct counter_row {
  const char* name;
  std::uint64_t Counts::* value;
  const char* help;
};

using wire_counts = transport::endpoint_statistics;
constexpr counter_row<wire_counts> wire_rows[] = {
    {"frames_sent", &wire_counts::frames_sent, "Frames sent"},
    {"frames_received", &wire_counts::frames_received, "Frames received"},
    {"requests_sent", &wire_counts::requests_sent, "Requests sent"},
    {"replies_sent", &wire_counts::replies_sent, "Replies sent"},
    {"notices_sent", &wire_counts::notices_sent, "Notices sent"},
    {"notices_received", &wire_counts::notices_received, "Notices received"},
    {"notices_dropped", &wire_counts::notices_dropped, "Notices that said nothing that this node knows"},
    {"writes", &wire_counts::writes, "Batches handed to links"},
    {"bytes_sent", &wire_counts::bytes_sent, "Bytes of frames sent"},
    {"bytes_received", &wire_counts::bytes_received, "Bytes of frames received"},
    {"bytes_copied", &wire_counts::bytes_copied,
     "Bytes sent in batches, which are copied unless they are large"},
    {"acknowledges_sent", &wire_counts::acknowledges_sent, "Acknowledgements sent alone"},
    {"probes_sent", &wire_counts::probes_sent, "Probes sent"},
    {"probes_answered", &wire_counts::probes_answered, "Probes that were answered"},
    {"silences", &wire_counts::silences, "Sessions that ended because the peer answered no probe"},
    {"links_half_dead", &wire_counts::links_half_dead, "Links replaced because they carried nothing"},
    {"answers_missing", &wire_counts::answers_missing,
     "Times that a peer worked at fewer requests than waited for it"},
    {"links_stuck", &wire_counts::links_stuck, "Links broken off because nothing was acknowledged"},
    {"path_moves", &wire_counts::path_moves, "Times that messages went over to another path of a peer"},
    {"path_suspicions", &wire_counts::path_suspicions, "Paths that were suspected"},
    {"rail_deaths", &wire_counts::rail_deaths, "Own rails that were taken for dead"},
    {"rail_hints", &wire_counts::rail_hints, "Changes of own network interfaces, down or back"},
    {"path_deaths", &wire_counts::path_deaths, "Paths that died"},
    {"replays", &wire_counts::replays, "Frames sent again on a new link"},
    {"duplicates", &wire_counts::duplicates, "Frames received again and dropped"},
    {"late_replies", &wire_counts::late_replies, "Replies that came when their exchange had ended"},
    {"links_refused", &wire_counts::links_refused, "Links that this node refused at the handshake"},
    {"links_broken", &wire_counts::links_broken, "Links broken off for a violation of the protocol"},
    {"not_authentic", &wire_counts::not_authentic,
     "Handshakes and links that ended because somebody had not proven who it was"},
    {"sessions_lost", &wire_counts::sessions_lost, "Sessions that were lost"},
    {"bulk_lost", &wire_counts::bulk_lost, "Bulk connections that were lost alone"},
    {"reads", &wire_counts::reads, "Ranges of peers' memory that hardware read"},
    {"read_bytes", &wire_counts::read_bytes, "Bytes of those ranges"},
    {"grants", &wire_counts::grants, "Rights given to read this node's memory"},
    {"recalls", &wire_counts::recalls, "Rights recalled"},
    {"registrations", &wire_counts::registrations, "Spans of memory that were registered"},
    {"staged_bytes", &wire_counts::staged_bytes, "Bytes copied because their memory is not registered"},
    {"forced_fences", &wire_counts::forced_fences, "Memory taken back without a wait"},
};

using collective_counts = collective_statistics;
constexpr counter_row<collective_counts> collective_rows[] = {
    {"operations_started", &collective_counts::started, "Operations with this node as root"},
    {"operations_received", &collective_counts::received, "Requests accepted from parents"},
    {"operations_executed", &collective_counts::executed, "Calls of execute"},
    {"operations_refused", &collective_counts::refused, "Requests refused on arrival"},
    {"operations_clean", &collective_counts::clean, "Operations whose whole subtree was merged"},
    {"late_creations", &collective_counts::late_creations, "Creations of groups that had ended"},
    {"requests_repeated", &collective_counts::asked_again, "Requests repeated with the group's creation"},
    {"reply_parts", &collective_counts::reply_parts, "Parts of replies sent ahead of the last one"},
    {"repair_rounds", &collective_counts::repair_rounds,
     "Further rounds of broadcasts with this node as root"},
    {"bulk_rounds", &collective_counts::bulk_rounds, "Further rounds that offered bulk data once more"},
    {"groups_revoked", &collective_counts::revoked, "Groups that were revoked"},
};

using call_counts = ship_statistics;
constexpr counter_row<call_counts> call_rows[] = {
    {"calls_shipped", &call_counts::shipped, "Calls handed to a session"},
    {"calls_received", &call_counts::received, "Calls admitted"},
    {"calls_refused", &call_counts::refused, "Calls refused on arrival"},
    {"calls_executed", &call_counts::executed, "Calls of a handler"},
    {"calls_large", &call_counts::large, "Arguments and results that were pulled"},
};

using security_counts = transport::security_counts;
constexpr counter_row<security_counts> security_rows[] = {
    {"older_keys", &security_counts::older_keys,
     "Connections accepted with another key than the first one of the ring"},
    {"unknown_keys", &security_counts::unknown_keys, "Connections refused for a key that is not in the ring"},
    {"certificates_outdated", &security_counts::outdated,
     "Certificates refused because they have expired or are not valid yet"},
    {"certificates_misnamed", &security_counts::misnamed,
     "Certificates refused because they name somebody else"},
};

using loop_counts = transport::reactor_statistics;
constexpr counter_row<loop_counts> loop_rows[] = {
    {"reactor_turns", &loop_counts::turns, "Turns of the reactor"},
    {"reactor_enters", &loop_counts::enters, "System calls of the reactor"},
    {"reactor_submissions", &loop_counts::submissions, "Operations handed to the kernel"},
    {"reactor_completions", &loop_counts::completions, "Completions of operations"},
    {"reactor_receive_starved", &loop_counts::receive_starved, "Receives ended for want of buffers"},
};

template <class Rows, class Counts>
void write_counters(metrics_text& to, const Rows& rows, const Counts& counts) {
  for (const auto& row : rows) to.counter(row.name, counts.*row.value, row.help);
}

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}={}", name, metrics_text::quoted(value));
}

void write_resources(metrics_text& to, const std::vector<resource_snapshot>& resources) {
  to.describe("resource_used", "gauge", "Memory and places in tables that are in use");
  for (const auto& r : resources) to.sample("resource_used", label("resource", r.name), r.used);
  to.describe("resource_limit", "gauge", "Bound of a resource; those without a bound are left out");
  for (const auto& r : resources) {
    if (r.limit != 0) to.sample("resource_limit", label("resource", r.name), r.limit);
  }
}

void write_receive_buffers(metrics_text& to, const transport::buffer_pool& pool) {
  to.gauge("reactor_receive_buffers_used", pool.lent(), "Receive buffers that hold received bytes");
  to.gauge("reactor_receive_buffers_limit", pool.limit(), "Bound of the receive buffers");
}

void write_peers(metrics_text& to, const std::vector<peer_snapshot>& all) {
  std::size_t connected = 0;
  std::size_t dead = 0;
  for (const peer_snapshot& p : all) connected += p.connected ? 1 : 0;
  for (const peer_snapshot& p : all) dead += p.dead ? 1 : 0;
  to.gauge("peers", all.size(), "Nodes that this node knows");
  to.gauge("peers_connected", connected, "Peers whose control lane has a connection");
  to.gauge("peers_dead", dead, "Peers that liveness has declared dead");
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    to.describe(name, "gauge", help);
    for (const peer_snapshot& p : std::span(all).first(std::min(all.size(), most_series)))
      to.sample(name, fmt::format("peer=\"{}\"", p.id), value(p));
  };
  each("peer_connected", "1 if the control lane has a connection",
       [](const peer_snapshot& p) { return p.connected ? 1 : 0; });
  each("peer_dead", "1 if liveness says that the peer is dead",
       [](const peer_snapshot& p) { return p.dead ? 1 : 0; });
  each("peer_waiting", "Requests to the peer that await a reply",
       [](const peer_snapshot& p) { return p.waiting; });
  each("peer_owing", "Requests of the peer that await a reply of this node",
       [](const peer_snapshot& p) { return p.owing; });
  each("peer_held_messages", "Messages held for the peer",
       [](const peer_snapshot& p) { return p.held_messages; });
}

void write_rails(metrics_text& to, const std::vector<rail_snapshot>& rails) {
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    to.describe(name, "gauge", help);
    for (const rail_snapshot& r : rails) to.sample(name, label("rail", r.name), value(r));
  };
  each("rail_up", "1 if a path by the rail is connected",
       [](const rail_snapshot& r) { return r.state == "up" ? 1 : 0; });
  each("rail_connections", "Connections of the rail", [](const rail_snapshot& r) { return r.connections; });
  each("rail_peers", "Peers that are connected by the rail", [](const rail_snapshot& r) { return r.peers; });
  to.describe("rail_paths", "gauge", "Paths by the rail, by their health");
  for (const rail_snapshot& r : rails) {
    for (const transport::path_health health : transport::path_healths) {
      to.sample("rail_paths", fmt::format("{},health=\"{}\"", label("rail", r.name), to_string(health)),
                r.paths[static_cast<std::size_t>(health)]);
    }
  }
}

void write_security(metrics_text& to, const transport::security_snapshot& now) {
  write_counters(to, security_rows, now.counts);
  if (!now.certificate_seconds) return;
  to.describe("certificate_seconds_left", "gauge", "Time for which the certificate of this node is valid");
  to.sample("certificate_seconds_left", "", *now.certificate_seconds);
}

void write_events(metrics_text& to, const node& of) {
  to.describe("events_total", "counter", "Events of the node, by kind");
  for (std::size_t k = 0; k < node_event_kinds; ++k) {
    const auto kind = static_cast<node_event_kind>(k);
    to.sample("events_total", label("kind", to_string(kind)), of.event_count(kind));
  }
}

}  // namespace

void write_functions(metrics_text& to, const std::vector<function_snapshot>& functions) {
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    to.describe(name, "counter", help);
    for (const auto& f : functions) to.sample(name, label("function", f.name), value(f));
  };
  each("function_calls_total", "Handlers that have returned",
       [](const function_snapshot& f) { return f.calls; });
  each("function_failures_total", "Calls whose handler or answer has failed",
       [](const function_snapshot& f) { return f.failures; });
  to.describe("function_seconds", "histogram", "Time from the start of a handler to its return");
  for (const auto& f : functions) {
    const std::string name = label("function", f.name);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < latency_histogram::bounds.size(); ++i) {
      below += f.latency.count(i);
      to.sample("function_seconds_bucket",
                fmt::format("{},le=\"{}\"", name, seconds_of(latency_histogram::bounds[i])), below);
    }
    to.sample("function_seconds_bucket", name + ",le=\"+Inf\"", f.latency.total());
    to.sample("function_seconds_sum", name, seconds_of(f.latency.sum()));
    to.sample("function_seconds_count", name, f.latency.total());
  }
}

std::string node_metrics(node& of, transport::reactor& loop) {
  metrics_text to;
  const node_snapshot now = of.snapshot();
  to.describe("node_info", "gauge", "This node, by its id and its incarnation");
  to.sample("node_info", fmt::format("node=\"{}\",incarnation=\"{}\"", now.id, now.incarnation), 1);
  write_counters(to, wire_rows, of.wire().statistics());
  write_counters(to, collective_rows, now.collectives);
  write_counters(to, call_rows, now.calls);
  write_counters(to, loop_rows, loop.statistics());
  write_resources(to, of.resources());
  write_receive_buffers(to, loop.receive_pool());
  write_peers(to, now.peers);
  write_rails(to, of.rails());
  write_security(to, of.security());
  write_events(to, of);
  std::vector<function_snapshot> functions = of.functions();
  if (functions.size() > most_series) functions.resize(most_series);
  write_functions(to, functions);
  return to.take() + "# EOF\n";
}

}  // namespace scoll::detail
