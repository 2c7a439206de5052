#include "report.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "backend.hpp"

namespace bench {
namespace {

void add_ratio(row& to, const std::string& what, const std::vector<double>& a, const std::vector<double>& b) {
  const interval r = ratio_of_medians(a, b);
  to[what + "_ratio"] = rounded(r.value);
  to[what + "_ratio_low"] = rounded(r.low);
  to[what + "_ratio_high"] = rounded(r.high);
}

std::string cell(const row& r, const column& c) {
  const auto at = r.find(c.field);
  if (at == r.end() || at->is_null()) return fmt::format("{:>{}}", "-", c.width);
  if (at->is_string()) return fmt::format("{:<{}}", at->get<std::string>(), c.width);
  if (at->is_number_float()) return fmt::format("{:>{}.{}f}", at->get<double>(), c.width, c.digits);
  return fmt::format("{:>{}}", at->dump(), c.width);
}

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line.empty() ? "unknown" : line;
}

}  // namespace

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

void add_score(row& to, const score& s) {
  to["p50_us"] = rounded(s.p50());
  to["p99_us"] = rounded(s.p99());
  to["max_us"] = rounded(s.max());
  to["cpu_us_per_op"] = rounded(s.total.cpu_us);
  if (s.total.instructions) to["instructions_per_op"] = std::round(*s.total.instructions);
  to["wakeups_per_op"] = rounded(s.total.wakeups);
  to["rounds"] = s.p50_of_round.size();
  to["operations"] = s.latency_us.size();
}

void add_ratios(row& to, const score& s, const score& against) {
  to["against"] = against.subject;
  add_ratio(to, "p50", s.p50_of_round, against.p50_of_round);
  add_ratio(to, "cpu", s.cpu_of_round, against.cpu_of_round);
  if (!s.instructions_of_round.empty() &&
      s.instructions_of_round.size() == against.instructions_of_round.size())
    add_ratio(to, "instructions", s.instructions_of_round, against.instructions_of_round);
}

void add_tail_ratio(row& to, const score& s, const score& against) {
  add_ratio(to, "p99", s.p99_of_round, against.p99_of_round);
}

void print_table(const std::string& title, std::span<const column> columns, const rows& of) {
  std::string text = fmt::format("\n# {}\n#", title);
  bool first = true;
  for (const column& c : columns) {
    const bool words = !of.empty() && of.front().contains(c.field) && of.front()[c.field].is_string();
    const int width = c.width - (first ? 1 : 0);
    text += words ? fmt::format("{:<{}} ", c.heading, width) : fmt::format("{:>{}} ", c.heading, width);
    first = false;
  }
  text += '\n';
  for (const row& r : of) {
    for (const column& c : columns) text += cell(r, c) + ' ';
    text += '\n';
  }
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void print_machine(const std::string& congestion_control) {
  utsname system{};
  uname(&system);
  const std::string hidden = why_no_instructions();
  const std::string congestion = congestion_control.empty()
                                     ? first_line("/proc/sys/net/ipv4/tcp_congestion_control")
                                     : congestion_control;
  std::fputs(fmt::format("# Linux {}, {} CPUs, load {}\n"
                         "# congestion control of all subjects: {}; scoll runs on {}{}\n"
                         "# instructions: {}\n",
                         system.release, sysconf(_SC_NPROCESSORS_ONLN), first_line("/proc/loadavg"),
                         congestion, backend_name(),
                         raw_rings_offered() ? "" : "; no subject uses io_uring, which is not offered here",
                         hidden.empty() ? "counted" : "not counted (" + hidden + ")")
                 .c_str(),
             stdout);
}

void ensure_writable(const std::string& file) {
  if (!std::ofstream(file, std::ios::app)) throw std::runtime_error("cannot write " + file);
}

void write_json(const std::string& file, const rows& all) {
  std::ofstream out(file);
  out << row(all).dump(2) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

}  // namespace bench
