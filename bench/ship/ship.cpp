#include "ship.hpp"

#include <fmt/format.h>

#include <memory>

#include "bench/kit/exchanges.hpp"
#include "bench/kit/group_contestant.hpp"

namespace bench::ship {
namespace {

using player = void (*)(member&, const setting&);

constexpr std::uint32_t rtt_bytes = 64;

void play_bare(member& me, const setting& s) {
  play_exchanges(me, s.size, s.congestion_control);
}

/// A group of processes, with this many concurrent operations.
class loaded final : public contestant {
 public:
  loaded(const std::string& name, player play, const setting& s, std::uint32_t in_flight)
      : group_(name, s.peers + 1, [play, s](member& me) { play(me, s); }) {
    kind_.in_flight = in_flight;
  }
  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    for (const std::uint32_t ns : group_.obey(operations, kind_).latency_ns) latency_us.push_back(ns / 1e3);
  }
  std::vector<usage> used() const override { return group_.used(); }

 private:
  group_contestant group_;
  order kind_;
};

subject make(const std::string& name, player play, const setting& s, std::uint32_t in_flight) {
  return {name, std::make_unique<loaded>(name, play, s, in_flight)};
}

row as_row(const score& s, std::uint32_t size, const setting& call, std::uint32_t in_flight) {
  row r;
  r["bench"] = "ship";
  r["subject"] = s.subject;
  r["size"] = size;
  r["call_size"] = call.size;
  r["in_flight"] = in_flight;
  r["peers"] = call.peers;
  add_score(r, s);
  double busy_us = 0;
  for (const double us : s.latency_us) busy_us += us;
  r["ops_per_s"] = 1e6 * static_cast<double>(s.latency_us.size()) * in_flight / busy_us;
  r["allocs_per_op"] = s.total.allocations;
  r["syscalls_per_op"] = s.total.syscalls;
  r["messages_per_op"] = s.total.messages;
  return r;
}

/// Measures a call beside the transport's own round trip of 64 bytes, or of the call's size if that is
/// larger.
rows run_case(const bench::options& o, std::uint32_t size, std::uint32_t in_flight, std::uint32_t peers) {
  constexpr std::uint32_t usual_operations = 2000;
  const setting calls{size, peers, o.congestion_control};
  const setting bare{std::max(size, rtt_bytes), peers, o.congestion_control};
  std::vector<subject> subjects;
  subjects.push_back(make("scoll", &play_calls, calls, in_flight));
  subjects.push_back(make("transport-rtt", &play_bare, bare, in_flight));
  subjects.push_back(make("transport-rtt (A/A)", &play_bare, bare, in_flight));
  const auto scores = hold(
      subjects,
      o.contest(usual_operations, fmt::format("ship, {} B, {} in flight, {} peers", size, in_flight, peers)));
  rows found{as_row(scores[0], size, calls, in_flight), as_row(scores[1], bare.size, calls, in_flight),
             as_row(scores[2], bare.size, calls, in_flight)};
  add_ratios(found[0], scores[0], scores[1]);
  add_ratios(found[2], scores[2], scores[1]);
  return found;
}

}  // namespace

rows run(const bench::options& o, const options& mine) {
  static const std::vector<column> columns{
      {"subject", "subject", 0, 20},    {"size", "bytes", 0, 7},        {"in_flight", "at once", 0, 7},
      {"peers", "peers", 0, 6},         {"p50_us", "p50 us"},           {"p99_us", "p99 us"},
      {"ops_per_s", "per second", 0},   {"cpu_us_per_op", "CPU us/op"}, {"syscalls_per_op", "syscalls", 2},
      {"allocs_per_op", "allocs", 2},   {"p50_ratio", "p50 ratio", 2},  {"p50_ratio_low", "low", 2, 6},
      {"p50_ratio_high", "high", 2, 6}, {"cpu_ratio", "CPU ratio", 2}};
  rows all;
  const auto add = [&](std::uint32_t size, std::uint32_t in_flight, std::uint32_t peers) {
    const rows found = run_case(o, size, in_flight, peers);
    all.insert(all.end(), found.begin(), found.end());
  };
  for (const std::uint32_t size : mine.sizes) add(size, 1, 1);
  for (const std::uint32_t n : mine.in_flight) add(0, n, 1);
  for (const std::uint32_t n : mine.peers) {
    if (n != 1) add(0, 64, n);
  }
  show_progress("");
  print_table("ship: calls beside bare exchanges; ratios to transport-rtt", columns, all);
  return all;
}

}  // namespace bench::ship
