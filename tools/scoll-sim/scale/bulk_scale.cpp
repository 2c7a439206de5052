#include "tools/scoll-sim/scale/bulk_scale.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scoll/bulk/pieces.hpp"
#include "scoll/collective/bcast.hpp"
#include "scoll/collective/measure_links.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/node_pools.hpp"
#include "tools/scoll-sim/scale/station.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {
namespace {

constexpr std::uint32_t piece_bytes = least_bulk_piece_bytes;
constexpr std::uint32_t warm_up_pieces = 16;  // so that the circulant plan uses every edge
// A piece is there when the chunk has arrived in which it ends, with the beginning of the next one.
constexpr std::size_t bulk_chunk_bytes = 4096;
constexpr nanoseconds longest = std::chrono::hours(1);

/// Takes bulk data, and notes when the last member executes.
struct sink {
  static constexpr service_id id{0x0311};
  static constexpr std::string_view name = "sink";
  struct request {};

  /// All members share one place, because all write the same bytes: so a large cluster fits in memory.
  std::vector<std::byte>* place = nullptr;
  const testing::sim_world* world = nullptr;
  nanoseconds* last = nullptr;

  status prepare(request&, bcast_context& c) const {
    if (c.is_root()) return {};
    return c.receive_bulk(std::span(*place).first(c.bulk()->length));
  }
  void execute(const request&, bcast_context&) const noexcept { *last = world->now(); }
};

/// Nodes on hosts of their own, all of whom know all others.
class bulk_fleet {
 public:
  bulk_fleet(std::uint32_t nodes, const testing::sim_link_model& wire, std::uint32_t most_pieces)
      : world_(1, nodes, false),
        network_(world_, bulk_chunk_bytes),
        pools_(std::make_shared<node_pools>(nodes)),
        object_(std::size_t{most_pieces} * piece_bytes),
        place_(object_.size()) {
    network_.common_path().model = wire;
    for (std::size_t i = 0; i < object_.size(); ++i) object_[i] = static_cast<std::byte>(i * 7 + i / 251);
    for (std::uint32_t host = 0; host < nodes; ++host) boot(host, nodes);
    std::vector<target> targets(nodes);
    for (std::uint32_t rank = 0; rank < nodes; ++rank) targets[rank].node = rank + 1;
    all_ = run(root().create_group<sink>(targets)).value();
  }
  ~bulk_fleet() {
    for (station& s : stations_) run(s, s.self->shutdown(std::chrono::seconds(2))).ignore();
    for (station& s : stations_) s.home.enter([&] { s.self.reset(); });
  }
  bulk_fleet(const bulk_fleet&) = delete;
  bulk_fleet& operator=(const bulk_fleet&) = delete;

  /// All wires are alike, so that one peer is enough.
  bulk_costs measure() {
    measure_options options;
    options.budget = std::chrono::milliseconds(50);
    const auto found = run(measure_links(root(), {2}, options)).value();
    const bulk_costs costs = found.map.bulk().value();
    all_.use_bulk_costs(costs).value();
    return costs;
  }

  bulk_scale_row broadcast(const bulk_plan& plan, std::uint32_t pieces) {
    bulk_scale_row row;
    row.nodes = static_cast<std::uint32_t>(stations_.size());
    row.plan = plan;
    row.pieces = pieces;
    const nanoseconds start = world_.now();
    const auto heard = run(spread(plan, pieces));
    row.measured_ns = static_cast<std::uint64_t>((last_ - start).count());
    row.predicted_ns = heard.bulk() ? static_cast<std::uint64_t>(heard.bulk()->predicted.count()) : 0;
    if (!heard.ok()) row.wrong = describe(heard.outcome());
    return row;
  }

 private:
  void boot(std::uint32_t host, std::uint32_t nodes) {
    std::vector<std::uint32_t> others;
    for (std::uint32_t other = 0; other < nodes; ++other) {
      if (other != host) others.push_back(other);
    }
    stations_.emplace_back(world_, network_, host).start(host, pools_, others, [&](node& self) {
      self.serve(sink{&place_, &world_, &last_}).value();
      serve_link_probe(self, {host + 1, 0}).value();
    });
  }

  task<bcast_result<no_reply>> spread(bulk_plan plan, std::uint32_t pieces) {
    bcast_options options;
    options.bulk = std::span<const std::byte>(object_).first(std::size_t{pieces} * piece_bytes);
    options.bulk_plan = plan;
    options.bulk_piece_bytes = piece_bytes;
    options.bulk_time = std::chrono::minutes(10);
    const sink::request asked{};
    auto heard = co_await bcast(all_, asked, options);
    co_return heard;
  }

  node& root() { return *stations_.front().self; }
  template <class T>
  T run(task<T> work) {
    return run(stations_.front(), std::move(work));
  }
  template <class T>
  T run(station& at, task<T> work) {
    detail::root_task<T> started(at.home, std::move(work));
    at.home.touch();
    const nanoseconds limit = world_.now() + longest;
    while (!started.done() && world_.step(limit)) {
    }
    SCOLL_ASSERT(started.done(), "a cluster without faults does what it is asked for");
    return started.take();
  }

  testing::sim_world world_;
  testing::sim_network network_;
  std::shared_ptr<node_pools> pools_;
  std::vector<std::byte> object_, place_;
  nanoseconds last_{0};
  std::deque<station> stations_;
  group<sink> all_;
};

}  // namespace

testing::sim_link_model bulk_wire() {
  testing::sim_link_model wire = testing::sim_link_model::ideal(std::chrono::microseconds(10));
  wire.ps_per_byte = 300;
  wire.ingress = true;
  return wire;
}

std::int64_t bulk_scale_row::error_permille() const noexcept {
  if (predicted_ns == 0) return 0;
  return (static_cast<std::int64_t>(measured_ns) - static_cast<std::int64_t>(predicted_ns)) * 1000 /
         static_cast<std::int64_t>(predicted_ns);
}

std::vector<bulk_plan> bulk_scale_plans() {
  return {bulk_plan::whole(), bulk_plan::chain(),    bulk_plan::binary(),   bulk_plan::kary(4),
          bulk_plan::kary(8), bulk_plan::knomial(2), bulk_plan::knomial(4), bulk_plan::circulant()};
}

/// With few pieces, the times of some plans depend on the order in which members answer.
std::uint32_t bulk_tolerance_percent(const bulk_plan& plan, std::uint32_t pieces) noexcept {
  const bool knomial = plan.kind() == bulk_plan_kind::knomial;
  const bool circulant = plan.kind() == bulk_plan_kind::circulant;
  if (knomial && pieces < 16) return 50;
  if (circulant && pieces < 4) return 40;
  if (circulant) return 17;
  if (knomial) return 14;
  return plan.kind() == bulk_plan_kind::kary ? 11 : 10;
}

namespace {

/// Says what is wrong with a broadcast that has succeeded; nothing if its time is right.
std::string what_is_wrong(const bulk_scale_row& row) {
  if (row.measured_ns < row.bound_ns) return "faster than any plan can be";
  if (row.predicted_ns < row.bound_ns) return "the model promises what no plan can do";
  const std::uint32_t allowed = bulk_tolerance_percent(row.plan, row.pieces);
  if (std::abs(row.error_permille()) <= std::int64_t{10} * allowed) return {};
  return fmt::format("{} members, {}, {} pieces: {:+.1f} % beside the model, {} % are allowed", row.nodes,
                     to_string(row.plan), row.pieces, static_cast<double>(row.error_permille()) / 10,
                     allowed);
}

}  // namespace

bulk_scale_report run_bulk_scale(std::uint32_t nodes, const testing::sim_link_model& wire,
                                 const std::vector<std::uint32_t>& pieces) {
  const auto most = std::max(warm_up_pieces, *std::ranges::max_element(pieces));
  bulk_fleet all(nodes, wire, most);
  bulk_scale_report report;
  report.costs = all.measure();
  for (const bulk_plan& plan : bulk_scale_plans()) {
    static_cast<void>(all.broadcast(plan, warm_up_pieces));
    for (const std::uint32_t count : pieces) {
      bulk_scale_row row = all.broadcast(plan, count);
      const auto rounds = static_cast<std::uint64_t>(std::bit_width(nodes - 1)) - 1 + count;
      row.bound_ns = rounds * piece_bytes * wire.ps_per_byte / 1000;
      if (row.wrong.empty()) row.wrong = what_is_wrong(row);
      report.rows.push_back(std::move(row));
    }
  }
  return report;
}

std::string bulk_scale_heading() {
  return fmt::format("{:>6} {:<10} {:>6} | {:>12} {:>12} {:>12} {:>8}\n", "nodes", "plan", "pieces",
                     "bound us", "model us", "measured us", "error %");
}

std::string bulk_scale_line(const bulk_scale_row& row) {
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000; };
  return fmt::format("{:>6} {:<10} {:>6} | {:>12.1f} {:>12.1f} {:>12.1f} {:>+8.1f}\n", row.nodes,
                     to_string(row.plan), row.pieces, us(row.bound_ns), us(row.predicted_ns),
                     us(row.measured_ns), static_cast<double>(row.error_permille()) / 10);
}

std::string bulk_scale_json(const bulk_scale_row& row) {
  return fmt::format(
      "{{\"nodes\":{},\"plan\":\"{}\",\"ok\":{},\"pieces\":{},\"bound_ns\":{},\"predicted_ns\":{},"
      "\"measured_ns\":{}}}\n",
      row.nodes, to_string(row.plan), row.ok(), row.pieces, row.bound_ns, row.predicted_ns, row.measured_ns);
}

}  // namespace scoll::sim
