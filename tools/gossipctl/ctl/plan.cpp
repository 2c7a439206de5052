#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "choose.hpp"
#include "gossip/threshold.hpp"
#include "run.hpp"
#include "text.hpp"

namespace gossipctl {
namespace {

using scoll::gossip::threshold_input;

/// A participant is declared dead when its last sign of life is older than the threshold. The first
/// participant notices then; the last one follows as soon as clocks and phases allow (docs/gossip.md).
constexpr double first_after_threshold = 1;
constexpr double last_after_threshold = 3;

threshold_input input_of(const arguments& args, std::uint32_t nodes, double loss) {
  threshold_input in;
  in.participants = nodes;
  in.loss = loss;
  in.interval = std::chrono::milliseconds(args.interval_ms);
  in.false_verdicts_per_year = args.false_verdicts;
  in.forgiven_pause = std::chrono::nanoseconds(static_cast<std::int64_t>(args.pause_s * 1e9));
  return in;
}

json row_of(const arguments& args, std::uint32_t nodes, double loss) {
  const threshold_input in = input_of(args, nodes, loss);
  const std::uint32_t threshold = scoll::gossip::threshold_cycles(in);
  const double interval = std::chrono::duration<double, std::milli>(in.interval).count();
  json row;
  row["nodes"] = nodes;
  row["loss"] = loss;
  row["interval_ms"] = interval;
  row["threshold_cycles"] = threshold;
  row["threshold_ms"] = threshold * interval;
  row["detect_first_ms"] = (threshold + first_after_threshold) * interval;
  row["detect_last_ms"] = (threshold + last_after_threshold) * interval;
  row["false_verdicts_per_year"] = scoll::gossip::false_verdicts_per_year(in, threshold);
  row["false_verdicts_one_less"] = scoll::gossip::false_verdicts_per_year(in, threshold - 1);
  return row;
}

void print_table(const json& rows, const arguments& args) {
  const style with = style::of_stdout();
  fmt::print("at most {} false verdicts per cluster-year, an interval of {} ms, pauses of {} forgiven\n\n",
             args.false_verdicts, args.interval_ms, duration_text(args.pause_s * 1000));
  fmt::print("{}\n", with.strong(fmt::format("{:>8}  {:>7}  {:>14}  {:>14}  {:>13}  {:>13}", "NODES", "LOSS",
                                             "THRESHOLD", "FALSE PER YEAR", "FIRST KNOWS", "LAST KNOWS")));
  for (const json& r : rows) {
    const auto time = [&r](const char* key) { return duration_text(r[key].get<double>()); };
    const std::string threshold =
        fmt::format("{} ({})", r["threshold_cycles"].get<std::uint32_t>(), time("threshold_ms"));
    fmt::print("{:>8}  {:>5.1f} %  {:>14}  {:>14.2g}  {:>13}  {:>13}\n", r["nodes"].get<std::uint32_t>(),
               100 * r["loss"].get<double>(), threshold, r["false_verdicts_per_year"].get<double>(),
               time("detect_first_ms"), time("detect_last_ms"));
  }
}

/// Takes the values that the command line does not give from the configuration, if there is one.
arguments completed(arguments args) {
  const bool alone = !args.nodes.empty();
  if (!alone || read_text(args.config)) {
    const config c = need_config(args);
    if (!alone) args.nodes = {c.shared->size()};
    if (args.losses.empty()) args.losses = {c.expected_loss};
    if (!args.interval_given) {
      args.interval_ms = static_cast<std::uint32_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(c.shared->interval()).count());
    }
    if (!args.false_verdicts_given) args.false_verdicts = c.false_verdicts_per_year;
  }
  if (args.losses.empty()) args.losses = {0, 0.05, 0.2};
  return args;
}

}  // namespace

int plan(const arguments& args) {
  const arguments full = completed(args);
  json rows = json::array();
  for (const std::uint32_t nodes : full.nodes)
    for (const double loss : full.losses) rows.push_back(row_of(full, nodes, loss));
  if (full.as_json) {
    fmt::print("{}\n", rows.dump());
  } else {
    print_table(rows, full);
  }
  return all_well;
}

}  // namespace gossipctl
