#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "scoll/collective/trace.hpp"

namespace scoll {
namespace {

using json = nlohmann::ordered_json;

double micros(nanoseconds t) noexcept {
  return static_cast<double>(t.count()) / 1e3;
}

/// An event that names a process or a thread.
json name_event(const char* what, const trace_span& s, std::string name) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", s.node}, {"tid", s.rank}, {"args", {{"name", std::move(name)}}}};
}

/// A step of a member, which the viewer draws as a bar.
struct step {
  std::size_t place = 0;  // of steps that begin at one time, the one with the lower place comes first
  const char* name = "";
  const trace_span* of = nullptr;
  nanoseconds from{0};
  nanoseconds to{0};
};

json event_of(const step& s) {
  json event = {{"name", s.name},
                {"cat", "scoll"},
                {"ph", "X"},
                {"ts", micros(s.from)},
                {"dur", micros(s.to - s.from)},
                {"pid", s.of->node},
                {"tid", s.of->rank}};
  event["args"] = {{"error_us", micros(s.of->error)}};
  if (s.of->parent) event["args"]["parent"] = *s.of->parent;
  return event;
}

/// The steps of all members, in order of time. Those that contain others come before them.
std::vector<step> steps_of(const collective_trace& trace) {
  std::vector<step> steps;
  const auto add = [&](const char* name, const trace_span& s, nanoseconds from, nanoseconds to) {
    steps.push_back({steps.size(), name, &s, from, to});
  };
  for (const trace_span& s : trace.spans()) {
    add("broadcast", s, s.arrived, s.answered);
    if (s.prepared) add("prepare", s, s.arrived, *s.prepared);
    if (s.begun) add("execute", s, *s.begun, s.ended.value_or(s.answered));
  }
  std::ranges::sort(steps, {}, [](const step& s) { return std::pair(s.from, s.place); });
  return steps;
}

}  // namespace

std::string to_chrome_json(const collective_trace& trace) {
  json events = json::array();
  for (const trace_span& s : trace.spans()) {
    events.push_back(name_event("process_name", s, "node " + std::to_string(s.node)));
    events.push_back(name_event("thread_name", s, "rank " + std::to_string(s.rank)));
  }
  for (const step& s : steps_of(trace)) events.push_back(event_of(s));
  const json all = {
      {"traceEvents", std::move(events)},
      {"displayTimeUnit", "ns"},
      {"otherData",
       {{"members", trace.members()}, {"tree", to_string(trace.tree())}, {"dropped", trace.dropped()}}}};
  return all.dump(1);
}

}  // namespace scoll
