#include <fmt/format.h>

#include <iterator>

#include "counter_table.hpp"
#include "report.hpp"

namespace gossipctl {
namespace {

using namespace scoll::gossip;

constexpr std::uint32_t most_told_of_each = 1024;

class metrics_writer {
 public:
  void describe(std::string_view name, std::string_view kind, std::string_view help) {
    fmt::format_to(out(), "# HELP scoll_gossip_{} {}\n# TYPE scoll_gossip_{} {}\n", name, help, name, kind);
  }
  template <class Value>
  void sample(std::string_view name, std::string_view labels, Value value) {
    fmt::format_to(out(), "scoll_gossip_{}{} {}\n", name, labels, value);
  }
  template <class Value>
  void gauge(std::string_view name, Value value, std::string_view help) {
    describe(name, "gauge", help);
    sample(name, "", value);
  }
  void counter(std::string_view name, std::uint64_t value, std::string_view help) {
    const std::string full = fmt::format("{}_total", name);
    describe(full, "counter", help);
    sample(full, "", value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(text_); }
  std::string text_;
};

double seconds_of(scoll::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

void write_whole(metrics_writer& to, const config& c, const snapshot& s, const daemon_facts& facts) {
  to.gauge("participants", c.shared->size(), "Participants of the configuration");
  to.describe("members", "gauge", "Participants by what is held of them, this one being alive");
  to.sample("members", "{state=\"alive\"}", s.alive + 1);
  to.sample("members", "{state=\"dead\"}", s.dead);
  to.sample("members", "{state=\"unknown\"}", s.unknown);
  to.gauge("stealth", s.stage == participation::stealth ? 1 : 0, "1 while this participant only listens");
  to.gauge("withheld", s.reason == withheld::no ? 0 : 1, "1 while no verdicts are given");
  to.gauge("clock_cycles", s.clock, "Cluster clock");
  to.gauge("epoch", s.epoch, "Changes of members since the start");
  to.gauge("interval_seconds", seconds_of(c.shared->interval()), "Length of a cycle");
  to.gauge("threshold_cycles", s.threshold, "Age above which a participant is dead");
  to.gauge("loss_ratio", s.loss, "Estimated share of messages that are lost");
  to.gauge("incarnation", s.incarnation, "Life of this participant");
  to.gauge("uptime_seconds", facts.uptime_s, "Since the start of this process");
  to.gauge("longest_gap_seconds", facts.longest_gap_ms / 1000, "By which this process came late at most");
}

void write_counters(metrics_writer& to, const snapshot& s, const daemon_facts& facts) {
  for (const counter_row& row : counter_table) to.counter(row.name, s.counts.*row.value, row.help);
  to.counter("unknown_key", facts.unknown_key, "Not authentic because their key is not in the ring");
  to.counter("injected_losses", facts.injected_losses, "Datagrams dropped on purpose");
  to.counter("port_dropped", facts.port.dropped, "Datagrams that the socket's queue had no room for");
  to.counter("port_send_errors", facts.port.send_errors, "Datagrams refused by the operating system");
}

void write_members(metrics_writer& to, const config& c, const snapshot& s) {
  if (c.shared->size() > most_told_of_each) return;
  const auto label = [&c](const verdict& v) {
    return fmt::format("{{member=\"{}\"}}", c.shared->address(v.who));
  };
  to.describe("member_alive", "gauge", "1 alive, 0 dead; those never heard of are left out");
  for (const verdict& v : s.members)
    if (v.state != liveness::unknown) to.sample("member_alive", label(v), v.state == liveness::alive ? 1 : 0);
  to.describe("member_age_cycles", "gauge", "Cycles since a participant was last heard of");
  for (const verdict& v : s.members)
    if (v.age != verdict::no_age) to.sample("member_age_cycles", label(v), v.age);
  to.describe("member_reachable", "gauge",
              "1 if it answers this participant, 0 if not; left out before a try");
  for (const verdict& v : s.members) {
    if (v.reach != reachability::untried)
      to.sample("member_reachable", label(v), v.reach == reachability::reachable ? 1 : 0);
  }
}

}  // namespace

std::string metrics_text(const config& c, const snapshot& s, const daemon_facts& facts) {
  metrics_writer to;
  write_whole(to, c, s, facts);
  write_counters(to, s, facts);
  write_members(to, c, s);
  return to.take();
}

}  // namespace gossipctl
