#include "scoll/collective/binomial_graph.hpp"
#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/scale/revoke_scale.hpp"

namespace scoll::sim {
namespace {

std::int64_t reach_of(const revoke_scale_options& options) {
  return options.wire.latency / options.wire.overhead + 2;
}
double each(std::uint64_t notices, const revoke_scale_options& options) {
  return static_cast<double>(notices) / options.nodes;
}

}  // namespace

std::string revoke_scale_heading() {
  return fmt::format(
      "{:>8} {:>6} {:>7} | {:>7} {:>5} {:>12} {:>6} | {:>8} {:>5} {:>6} {:>5} | {:>10} {:>10} {:>7} {:>8}\n",
      "nodes", "degree", "reach o", "last o", "model", "notices/node", "model", "16 dead:", "model", "median",
      "worst", "connecting", "events", "wall s", "peak MiB");
}

std::string revoke_scale_line(const revoke_scale_options& options, const revoke_scale_report& r) {
  std::string dead = fmt::format("{:>8} {:>5} {:>6} {:>5}", "", "", "", "");
  if (r.dead != 0) {
    dead = fmt::format("{:>8.2f} {:>5} {:>6} {:>5}", r.with_dead.last, r.with_dead.model_last, r.model_median,
                       r.model_worst);
  }
  return fmt::format(
      "{:>8} {:>6} {:>7} | {:>7.2f} {:>5} {:>12.2f} {:>6.2f} | {} | {:>10.1f} {:>10} {:>7.1f} {:>8}\n",
      options.nodes, detail::binomial_degree(options.nodes), reach_of(options), r.clean.last,
      r.clean.model_last, each(r.clean.notices, options), each(r.clean.model_notices, options), dead,
      r.connecting, r.events, r.wall_s, r.peak_kib / 1024);
}

std::string revoke_scale_csv_heading() {
  return "nodes,degree,reach_o,last_o,predicted_last_o,notices,predicted_notices,dead,dead_last_o,"
         "predicted_dead_last_o,predicted_median_o,predicted_worst_o,connecting_o,events,wall_s,peak_mib\n";
}

std::string revoke_scale_csv_line(const revoke_scale_options& options, const revoke_scale_report& r) {
  return fmt::format("{},{},{},{:.3f},{},{},{},{},{:.3f},{},{},{},{:.3f},{},{:.2f},{}\n", options.nodes,
                     detail::binomial_degree(options.nodes), reach_of(options), r.clean.last,
                     r.clean.model_last, r.clean.notices, r.clean.model_notices, r.dead, r.with_dead.last,
                     r.with_dead.model_last, r.model_median, r.model_worst, r.connecting, r.events, r.wall_s,
                     r.peak_kib / 1024);
}

std::string revoke_scale_json(const revoke_scale_options& options, const revoke_scale_report& r) {
  return fmt::format(
      "{{\"nodes\":{},\"ok\":{},\"degree\":{},\"reach_o\":{},\"last_o\":{:.3f},\"predicted_last_o\":{},"
      "\"notices\":{},\"predicted_notices\":{},\"dead\":{},\"dead_last_o\":{:.3f},"
      "\"predicted_dead_last_o\":{},\"predicted_median_o\":{},\"predicted_worst_o\":{},\"connecting_o\":{:."
      "3f},"
      "\"events\":{},\"wall_s\":{:.3f},\"peak_kib\":{}}}\n",
      options.nodes, r.ok(), detail::binomial_degree(options.nodes), reach_of(options), r.clean.last,
      r.clean.model_last, r.clean.notices, r.clean.model_notices, r.dead, r.with_dead.last,
      r.with_dead.model_last, r.model_median, r.model_worst, r.connecting, r.events, r.wall_s, r.peak_kib);
}

}  // namespace scoll::sim
