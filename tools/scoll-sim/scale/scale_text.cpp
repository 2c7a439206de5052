#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/scale/scale.hpp"

namespace scoll::sim {
namespace {

double us(std::uint64_t ns) {
  return static_cast<double>(ns) / 1000;
}
double ratio(std::uint64_t measured, std::uint64_t predicted) {
  return predicted == 0 ? 0 : static_cast<double>(measured) / static_cast<double>(predicted);
}
std::uint64_t bytes_per_node(const scale_options& options, const scale_report& r) {
  return r.peak_kib * 1024 / options.nodes;
}

}  // namespace

std::string scale_heading() {
  return fmt::format(
      "{:>8} {:<16} {:>6} {:>6} | {:>10} {:>10} {:>5} | {:>10} {:>10} {:>5} | {:>11} | {:>8} {:>9} "
      "{:>8} {:>7} {:>8} {:>7}\n",
      "nodes", "tree", "levels", "fanout", "reached us", "model", "ratio", "merged us", "model", "ratio",
      "connecting", "messages", "events", "events/s", "wall s", "peak MiB", "B/node");
}

std::string scale_line(const scale_options& options, const scale_report& r) {
  return fmt::format(
      "{:>8} {:<16} {:>6} {:>6} | {:>10.1f} {:>10.1f} {:>5.3f} | {:>10.1f} {:>10.1f} {:>5.3f} | "
      "{:>11.1f} | {:>8} {:>9} {:>8.0f} {:>7.1f} {:>8} {:>7}\n",
      options.nodes, to_string(options.tree), r.levels, r.root_fan_out, us(r.reached_ns),
      us(r.predicted_reached_ns), ratio(r.reached_ns, r.predicted_reached_ns), us(r.merged_ns),
      us(r.predicted_merged_ns), ratio(r.merged_ns, r.predicted_merged_ns), us(r.first_merged_ns), r.messages,
      r.events, r.events_per_second(), r.wall_s, r.peak_kib / 1024, bytes_per_node(options, r));
}

std::string scale_csv_heading() {
  return "nodes,tree,levels,root_fan_out,reached_us,predicted_reached_us,merged_us,predicted_merged_us,"
         "first_merged_us,messages,bytes,events,events_per_s,building_s,running_s,wall_s,peak_mib,bytes_per_"
         "node\n";
}

std::string scale_csv_line(const scale_options& options, const scale_report& r) {
  return fmt::format(
      "{},\"{}\",{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{},{},{},{:.0f},{:.2f},{:.2f},{:.2f},{},{}\n",
      options.nodes, to_string(options.tree), r.levels, r.root_fan_out, us(r.reached_ns),
      us(r.predicted_reached_ns), us(r.merged_ns), us(r.predicted_merged_ns), us(r.first_merged_ns),
      r.messages, r.bytes, r.events, r.events_per_second(), r.building_s, r.running_s, r.wall_s,
      r.peak_kib / 1024, bytes_per_node(options, r));
}

std::string scale_json(const scale_options& options, const scale_report& r) {
  return fmt::format(
      "{{\"nodes\":{},\"tree\":\"{}\",\"ok\":{},\"levels\":{},\"root_fan_out\":{},\"reached_ns\":{},"
      "\"predicted_reached_ns\":{},\"merged_ns\":{},\"predicted_merged_ns\":{},\"first_merged_ns\":{},"
      "\"messages\":{},\"bytes\":{},\"events\":{},\"events_per_s\":{:.0f},\"building_s\":{:.3f},"
      "\"running_s\":{:.3f},\"wall_s\":{:.3f},\"peak_kib\":{}}}\n",
      options.nodes, to_string(options.tree), r.ok(), r.levels, r.root_fan_out, r.reached_ns,
      r.predicted_reached_ns, r.merged_ns, r.predicted_merged_ns, r.first_merged_ns, r.messages, r.bytes,
      r.events, r.events_per_second(), r.building_s, r.running_s, r.wall_s, r.peak_kib);
}

}  // namespace scoll::sim
