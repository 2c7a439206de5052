#include "tools/scoll-sim/scale/scale.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "scoll/collective/collective_head.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/tree/predict.hpp"
#include "tools/scoll-sim/cluster/job.hpp"
#include "tools/scoll-sim/scale/fleet.hpp"
#include "tools/scoll-sim/scale/own_process.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::sim {
namespace {

constexpr std::uint64_t group_number = 1;

std::uint64_t count_ns(nanoseconds d) {
  return static_cast<std::uint64_t>(d.count());
}

/// Notes when the last member of a broadcast executes.
struct witness {
  testing::sim_world* world = nullptr;
  nanoseconds last{0};
  std::uint32_t members = 0;
};

struct headcount {
  static constexpr service_id id{0x0310};
  static constexpr std::string_view name = "headcount";
  struct request {
    std::uint64_t broadcast = 0;
  };
  struct reply {
    std::uint64_t total = 0;
    std::uint32_t members = 0;

    void merge(const reply& from) noexcept {
      total += from.total;
      members += from.members;
    }
  };
  witness* log = nullptr;

  reply execute(const request& asked, bcast_context& c) noexcept {
    log->last = log->world->now();
    ++log->members;
    return {contribution(asked.broadcast, c.rank()), 1};
  }
};

constexpr std::size_t envelope_bytes = transport::frame_header_bytes + transport::message::envelope_bytes;
constexpr std::size_t request_bytes =
    envelope_bytes + wire::fixed_size<detail::collective_head> + wire::fixed_size<headcount::request>;
constexpr std::size_t reply_bytes = envelope_bytes + wire::fixed_size<detail::collective_reply_head> +
                                    detail::value_length_bytes + wire::fixed_size<headcount::reply>;

/// Computes the time that LogP predicts for these wires, including the bytes and the host's work to receive a
/// message.
tree_prediction predicted(const scale_options& options, const any_tree& tree) {
  const auto& w = options.wire;
  const auto byte_time = [&](std::size_t bytes) { return bytes * w.ps_per_byte / 1000; };
  const std::uint64_t overhead = count_ns(w.overhead);
  const std::uint64_t reach = count_ns(w.latency) + 2 * overhead + byte_time(request_bytes);
  const std::uint64_t gap = std::max(count_ns(w.gap), overhead) + byte_time(request_bytes);
  return predict(tree, options.nodes, reach, gap, overhead,
                 count_ns(w.latency) + overhead + byte_time(reply_bytes));
}

/// Broadcasts down one tree of a fleet. Each member knows the addresses of its neighbours in the tree.
class broadcast_run {
 public:
  explicit broadcast_run(const scale_options& options)
      : all_(options.nodes, options.wire, options.seed, options.progress ? to_string(options.tree) : ""),
        tree_(any_tree::resolve(options.tree, options.nodes).value()),
        how_{.tree = options.tree} {
    log_.world = &all_.world();
    for (std::uint32_t rank = 0; rank < all_.size(); ++rank) boot(rank);
    work_ = std::make_unique<scope>(all_.at(0).get_executor());
  }

  struct record {
    nanoseconds took{0};
    nanoseconds reached{0};
    std::string wrong;
  };

  record broadcast(std::uint64_t number) {
    record r;
    log_.members = 0;
    const nanoseconds start = all_.world().now();
    bool done = false;
    all_.enter(0, [&] { work_->spawn(run(number, r, done)); });
    if (!all_.run_until([&] { return done; }, "executions", log_.members))
      r.wrong = "the broadcast has not ended";
    r.took = all_.world().now() - start;
    r.reached = log_.last - start;
    return r;
  }

  std::uint64_t messages() {
    using counted = transport::endpoint_statistics;
    return all_.sum_of(&counted::requests_sent) + all_.sum_of(&counted::replies_sent);
  }
  const fleet& nodes() const noexcept { return all_; }
  const any_tree& tree() const noexcept { return tree_; }

 private:
  void boot(std::uint32_t rank) {
    std::vector<std::uint32_t> neighbours;
    if (rank != 0) neighbours.push_back(tree_.parent(all_.size(), rank));
    auto cursor = tree_.cursor(all_.size(), rank);
    for (auto child = cursor.next(); child; child = cursor.next()) neighbours.push_back(*child);
    all_.boot(neighbours, [&](node& self) {
      headcount service;
      service.log = &log_;
      self.serve(service).value();
      auto held = self.adopt_group<headcount>(group_number, all_.members(), how_).value();
      if (rank == 0) group_ = held;
    });
  }

  task<void> run(std::uint64_t number, record& r, bool& done) {
    const headcount::request asked{number};
    auto answer = co_await bcast(group_, asked);
    std::uint64_t expected = 0;
    for (std::uint32_t rank = 0; rank < all_.size(); ++rank) expected += contribution(number, rank);
    if (!answer.ok()) {
      r.wrong = describe(answer.status().error());
    } else if (!answer.outcome().clean() || !answer.has_value()) {
      r.wrong = "the outcome is not clean";
    } else if (answer->members != all_.size() || answer->total != expected || log_.members != all_.size()) {
      r.wrong = fmt::format("{} members merged, {} executed, {} there are", answer->members, log_.members,
                            all_.size());
    }
    done = true;
  }

  fleet all_;
  any_tree tree_;
  group_options how_;
  witness log_;
  group<headcount> group_;       // as the root holds it
  std::unique_ptr<scope> work_;  // of the root
};

}  // namespace

scale_report run_scale(const scale_options& options) {
  scale_report report;
  const auto start = std::chrono::steady_clock::now();
  // The cluster ends with its process: a million nodes that say goodbye would show nothing new.
  broadcast_run& all = *new broadcast_run(options);
  report.building_s = use_of_this_process().seconds;
  const auto first = all.broadcast(1);
  const std::uint64_t sent_before = all.messages();
  const auto second = all.broadcast(2);
  report.running_s = use_of_this_process().seconds - report.building_s;
  report.messages = all.messages() - sent_before;
  report.levels = all.tree().subtree_levels(options.nodes, 0);
  report.root_fan_out = all.tree().fan_out(options.nodes, 0);
  report.first_merged_ns = count_ns(first.took);
  report.reached_ns = count_ns(second.reached);
  report.merged_ns = count_ns(second.took);
  report.events = all.nodes().events();
  report.bytes = all.nodes().bytes();
  const tree_prediction model = predicted(options, all.tree());
  report.predicted_reached_ns = model.reached;
  report.predicted_merged_ns = model.merged;
  report.peak_kib = use_of_this_process().peak_kib;
  report.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string wrong = !first.wrong.empty() ? first.wrong : second.wrong;
  const std::uint64_t expected = 2 * (std::uint64_t{options.nodes} - 1);
  if (wrong.empty() && report.messages != expected)
    wrong = fmt::format("{} collective messages instead of {}", report.messages, expected);
  wrong.copy(report.wrong.data(), report.wrong.size() - 1);
  return report;
}

testing::sim_link_model scale_wire() {
  testing::sim_link_model wire;
  wire.jitter = nanoseconds(0);
  wire.sender_busy = true;
  return wire;
}

scale_report measure_scale(const scale_options& options) {
  scale_report report;
  in_own_process(
      std::as_writable_bytes(std::span(&report, 1)), [&] { report = run_scale(options); },
      fmt::format("{} nodes", options.nodes));
  if (options.progress) std::fprintf(stderr, "\r%60s\r", "");
  return report;
}

std::vector<tree_spec> scale_trees(std::uint32_t nodes, const testing::sim_link_model& wire) {
  constexpr std::uint32_t largest_flat_or_chain = 10'000;
  const auto tenths_of_us = [](nanoseconds d) {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(1, d.count() / 100));
  };
  std::vector<tree_spec> trees{
      kary{8}, knomial{8},
      greedy{tenths_of_us(wire.latency + 2 * wire.overhead), tenths_of_us(std::max(wire.gap, wire.overhead)),
             tenths_of_us(wire.overhead)}};
  if (nodes <= largest_flat_or_chain) trees.insert(trees.end(), {flat{}, chain{}});
  return trees;
}

}  // namespace scoll::sim
