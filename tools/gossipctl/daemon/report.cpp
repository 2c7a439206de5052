#include "report.hpp"

#include <fmt/format.h>

#include "counter_table.hpp"

namespace gossipctl {
namespace {

using namespace scoll::gossip;

double milliseconds_of(scoll::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

json cycle(std::uint64_t at) {
  return at == verdict::never ? json() : json(at);
}
json age(std::uint32_t cycles) {
  return cycles == verdict::no_age ? json() : json(cycles);
}

std::string hex(const configuration_digest& digest) {
  std::string text;
  for (const std::byte b : digest) text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return text;
}

json addresses_json(const config& c, participant_index who) {
  json all = json::array();
  for (const std::string& address : c.shared->addresses(who)) all.push_back(address);
  return all;
}

json keys_json(const daemon_facts& facts) {
  json ids = json::array();
  for (const std::uint32_t id : facts.key_ids) ids.push_back(fmt::format("{:08x}", id));
  return ids;
}

json port_json(const scoll::transport::datagram_statistics& of) {
  json j;
  j["sent"] = of.sent;
  j["sent_bytes"] = of.sent_bytes;
  j["busy"] = of.busy;
  j["send_errors"] = of.send_errors;
  j["received"] = of.received;
  j["received_bytes"] = of.received_bytes;
  j["truncated"] = of.truncated;
  j["dropped"] = of.dropped;
  j["receive_errors"] = of.receive_errors;
  return j;
}

/// One object per own rail, with its address and interface.
json rails_json(const config& c, participant_index self, const daemon_facts& facts) {
  json all = json::array();
  for (std::size_t rail = 0; rail < facts.rails.size(); ++rail) {
    json j;
    j["address"] = c.shared->addresses(self)[rail];
    j["device"] = rail < c.devices.size() ? json(c.devices[rail]) : json();
    j.update(port_json(facts.rails[rail]));
    all.push_back(std::move(j));
  }
  return all;
}

}  // namespace

json status_json(const config& c, const snapshot& s, const daemon_facts& facts) {
  json j;
  j["name"] = c.name;
  j["address"] = c.shared->address(s.self);
  j["index"] = s.self;
  j["id"] = c.shared->id(s.self);
  j["addresses"] = addresses_json(c, s.self);
  j["rail"] = s.rail;
  j["stage"] = to_string(s.stage);
  j["incarnation"] = s.incarnation;
  j["pid"] = facts.pid;
  j["uptime_s"] = facts.uptime_s;
  j["participants"] = c.shared->size();
  j["alive"] = s.alive + 1;
  j["dead"] = s.dead;
  j["unknown"] = s.unknown;
  j["clock"] = s.clock;
  j["cycles"] = s.cycles;
  j["epoch"] = s.epoch;
  j["interval_ms"] = milliseconds_of(c.shared->interval());
  j["threshold_cycles"] = s.threshold;
  j["threshold_ms"] = s.threshold * milliseconds_of(c.shared->interval());
  j["loss"] = s.loss;
  j["withheld"] = s.reason == withheld::no ? json() : json(to_string(s.reason));
  j["longest_gap_ms"] = facts.longest_gap_ms;
  j["sealed"] = facts.sealed;
  j["keys"] = keys_json(facts);
  j["unknown_key"] = facts.unknown_key;
  j["injected_losses"] = facts.injected_losses;
  return j;
}

json verdict_json(const config& c, const verdict& v) {
  json j;
  j["index"] = v.who;
  j["address"] = c.shared->address(v.who);
  j["id"] = c.shared->id(v.who);
  j["addresses"] = addresses_json(c, v.who);
  j["state"] = to_string(v.state);
  j["incarnation"] = v.incarnation == 0 ? json() : json(v.incarnation);
  j["aliveness"] = v.aliveness;
  j["age"] = age(v.age);
  j["last_heard"] = cycle(v.last_heard);
  j["last_direct"] = cycle(v.last_direct);
  j["since"] = cycle(v.since);
  j["age_then"] = age(v.age_then);
  j["threshold_then"] = v.threshold_then;
  j["loss_then"] = v.loss_then;
  j["threshold"] = v.threshold;
  j["loss"] = v.loss;
  j["withheld"] = v.reason == withheld::no ? json() : json(to_string(v.reason));
  j["reach"] = to_string(v.reach);
  j["last_tried"] = cycle(v.last_tried);
  j["unanswered"] = v.unanswered;
  return j;
}

json members_json(const config& c, const snapshot& s) {
  json all = json::array();
  for (const verdict& v : s.members) {
    all.push_back(verdict_json(c, v));
    if (v.who == s.self) all.back()["self"] = true;
  }
  return all;
}

json counters_json(const counters& counts) {
  json j;
  for (const counter_row& row : counter_table) j[row.name] = counts.*row.value;
  return j;
}

json event_json(const config& c, const liveness_event& e, const verdict& now) {
  json j;
  j["event"] = to_string(e.kind);
  j["index"] = e.who;
  j["address"] = c.shared->address(e.who);
  j["id"] = c.shared->id(e.who);
  j["incarnation"] = e.incarnation;
  j["aliveness"] = e.aliveness;
  j["epoch"] = e.epoch;
  j["cycle"] = e.cycle;
  j["age_then"] = age(now.age_then);
  j["threshold_then"] = now.threshold_then;
  j["loss_then"] = now.loss_then;
  return j;
}

json dump_json(const config& c, const snapshot& s, const daemon_facts& facts) {
  json j;
  j["configuration"]["name"] = c.name;
  j["configuration"]["version"] = c.shared->version();
  j["configuration"]["interval_ms"] = milliseconds_of(c.shared->interval());
  j["configuration"]["rtt_ms"] = milliseconds_of(c.rtt);
  j["configuration"]["expected_loss"] = c.expected_loss;
  j["configuration"]["false_verdicts_per_year"] = c.false_verdicts_per_year;
  j["configuration"]["dscp"] = c.dscp;
  j["configuration"]["digest"] = hex(c.shared->digest());
  j["configuration"]["participants_digest"] = hex(c.shared->participants_digest());
  j["status"] = status_json(c, s, facts);
  j["counters"] = counters_json(s.counts);
  j["port"] = port_json(facts.port);
  j["rails"] = rails_json(c, s.self, facts);
  j["members"] = members_json(c, s);
  return j;
}

}  // namespace gossipctl
