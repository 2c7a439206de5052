#include "verbs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>

#include "bench/bulk/bulk.hpp"
#include "bench/kit/carrier.hpp"
#include "bench/kit/exchanges.hpp"
#include "bench/kit/group_contestant.hpp"
#include "bench/kit/rated.hpp"

namespace bench::verbs {
namespace {

using bulk::setting;

void play_round_trips(member& me, const setting& s) {
  play_exchanges(me, static_cast<std::uint32_t>(s.size), "", "", s.hosts);
}

group_contestant start(void (*play)(member&, const setting&), const setting& s) {
  return {"scoll", static_cast<std::uint32_t>(s.hosts.size()), [play, s](member& me) { play(me, s); }};
}

row begin_row(const std::string& name, const setting& s) {
  row r;
  r["bench"] = "verbs";
  r["subject"] = "scoll";
  r["case"] = name;
  r["size"] = s.size;
  return r;
}

row measure(const std::string& name, void (*play)(member&, const setting&), const setting& s,
            std::uint32_t in_flight, const bench::options& common, std::uint32_t usual) {
  group_contestant group = start(play, s);
  const contest_options how = common.contest(usual, "verbs, " + name);
  order o;
  o.in_flight = in_flight;
  auto made = std::make_unique<rated>(group, o, how.operations);
  const rated& rate = *made;
  std::vector<subject> alone;
  alone.push_back({"scoll", std::move(made)});
  const score s0 = hold(alone, how).front();
  row r = begin_row(name, s);
  r["in_flight"] = in_flight;
  add_score(r, s0);
  r["mib_per_s"] = rounded(median(rate.per_s()) * static_cast<double>(s.size) / (1U << 20U));
  r["syscalls_per_op"] = rounded(s0.total.syscalls);
  r["allocs_per_op"] = s0.total.allocations;
  return r;
}

/// What two connected processes cost that have nothing to do: per cent of a processor, of each.
row idle(const setting& s, const bench::options& common) {
  group_contestant group = start(&play_round_trips, s);
  group.obey(1, {});
  const auto before = group.used();
  const unsigned seconds = common.quick ? 1 : 10;
  sleep(seconds);
  const auto after = group.used();
  double most = 0;
  for (std::size_t i = 0; i < before.size(); ++i) most = std::max(most, (after[i] - before[i]).cpu_us);
  row r = begin_row("idle", s);
  r["seconds"] = seconds;
  r["cpu_percent"] = rounded(100 * most / (seconds * 1e6));
  return r;
}

}  // namespace

rows run(const bench::options& common, const options& o) {
  if (!verbs_built())
    throw std::runtime_error("this build has no libibverbs: install libibverbs-dev, and build again");
  rows all;
  for (const std::string& name : o.cases) {
    const bool pulls = name.starts_with("pull");
    setting s;
    s.hosts = o.hosts;
    s.size = pulls ? o.pull_bytes : o.rtt_bytes;
    s.registered = name == "pull";
    s.places = o.pulls_at_once;
    if (name == "idle") {
      all.push_back(idle(s, common));
    } else if (pulls) {
      all.push_back(measure(name, &bulk::play_scoll, s, o.pulls_at_once, common, 32));
    } else {
      all.push_back(measure(name, &play_round_trips, s, 1, common, 200));
    }
  }
  show_progress("");
  static const std::vector<column> columns{{"case", "case", 0, 12},
                                           {"size", "bytes", 0, 8},
                                           {"in_flight", "at once", 0, 7},
                                           {"p50_us", "p50 us"},
                                           {"p99_us", "p99 us"},
                                           {"mib_per_s", "MiB/s", 2},
                                           {"cpu_us_per_op", "CPU us/op"},
                                           {"syscalls_per_op", "syscalls", 2},
                                           {"allocs_per_op", "allocs", 2, 7},
                                           {"cpu_percent", "CPU %", 2, 7}};
  print_table("two processes over RDMA devices", columns, all);
  return all;
}

}  // namespace bench::verbs
