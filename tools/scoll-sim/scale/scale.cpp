#include "tools/scoll-sim/scale/scale.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "scoll/collective/collective_head.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/node.hpp"
#include "scoll/node_pools.hpp"
#include "scoll/tree/predict.hpp"
#include "tools/scoll-sim/cluster/job.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {
namespace {

// A frame of these broadcasts is always contiguous.
constexpr std::size_t call_chunk_bytes = 256;
constexpr nanoseconds time_limit = std::chrono::hours(1);
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

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

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

/// All nodes of the cluster. They hold the same membership, and each knows the addresses of its neighbours in
/// the tree.
class fleet {
 public:
  explicit fleet(const scale_options& options)
      : options_(options),
        world_(options.seed, options.nodes, false),
        network_(world_, call_chunk_bytes),
        tree_(any_tree::resolve(options.tree, options.nodes).value()),
        pools_(std::make_shared<node_pools>(options.nodes)) {
    log_.world = &world_;
    network_.common_path().model = options.wire;
    std::vector<target> targets(options.nodes);
    for (std::uint32_t rank = 0; rank < options.nodes; ++rank) targets[rank].node = rank + 1;
    members_ = membership::make(std::move(targets)).value();
    for (std::uint32_t rank = 0; rank < options.nodes; ++rank) {
      boot(rank);
      if (rank % progress_step == 0) show("nodes", rank);
    }
  }

  struct broadcast_record {
    nanoseconds took{0};
    nanoseconds reached{0};
    std::string wrong;
  };

  broadcast_record broadcast(std::uint64_t number) {
    broadcast_record record;
    log_.members = 0;
    const nanoseconds start = world_.now();
    bool done = false;
    stations_[0].home.enter([&] { work_->spawn(run(number, record, done)); });
    for (std::uint64_t steps = 0; !done && world_.step(time_limit); ++steps) {
      if (steps % (progress_step * 4) == 0) show("executions", log_.members);
    }
    record.took = world_.now() - start;
    record.reached = log_.last - start;
    if (!done) record.wrong = "the broadcast has not ended";
    return record;
  }

  std::uint64_t messages() {
    std::uint64_t sum = 0;
    for (station& s : stations_) {
      const auto& count = s.self->wire().statistics();
      sum += count.requests_sent + count.replies_sent;
    }
    return sum;
  }
  std::uint64_t events() const noexcept { return world_.events(); }
  std::uint64_t bytes() const noexcept { return network_.bytes_carried(); }
  const any_tree& tree() const noexcept { return tree_; }

 private:
  static constexpr std::uint64_t progress_step = 1U << 16;

  struct station {
    station(testing::sim_world& world, testing::sim_network& network, std::uint32_t host)
        : home(world, host, {}), rail(network, home) {}

    testing::sim_executor home;
    testing::sim_rail rail;
    std::unique_ptr<node> self;
  };

  void boot(std::uint32_t rank) {
    station& s = stations_.emplace_back(world_, network_, rank);
    s.home.enter([&] {
      node_options options;
      options.id = rank + 1;
      options.cluster = "sim";
      options.incarnation = 1;
      s.self = std::make_unique<node>(s.home, s.rail, options, pools_);
      s.self->listen(s.rail.listen_address()).value();
      if (rank != 0) add_peer(*s.self, tree_.parent(options_.nodes, rank));
      auto cursor = tree_.cursor(options_.nodes, rank);
      for (auto child = cursor.next(); child; child = cursor.next()) add_peer(*s.self, *child);
      headcount service;
      service.log = &log_;
      s.self->serve(service).value();
      group_options how;
      how.tree = options_.tree;
      auto all = s.self->adopt_group<headcount>(group_number, members_, how).value();
      if (rank == 0) all_ = all;
    });
    if (rank == 0) work_ = std::make_unique<scope>(s.home);
  }

  static void add_peer(node& self, std::uint32_t rank) {
    self.add_peer(rank + 1, testing::sim_network::address_of(rank)).value();
  }

  task<void> run(std::uint64_t number, broadcast_record& record, bool& done) {
    const headcount::request asked{number};
    auto r = co_await bcast(all_, asked);
    std::uint64_t expected = 0;
    for (std::uint32_t rank = 0; rank < options_.nodes; ++rank) expected += contribution(number, rank);
    if (!r.ok()) {
      record.wrong = describe(r.status().error());
    } else if (!r.outcome().clean() || !r.has_value()) {
      record.wrong = "the outcome is not clean";
    } else if (r->members != options_.nodes || r->total != expected || log_.members != options_.nodes) {
      record.wrong = fmt::format("{} members merged, {} executed, {} there are", r->members, log_.members,
                                 options_.nodes);
    }
    done = true;
  }

  void show(const char* what, std::uint32_t count) const {
    if (options_.progress)
      std::fprintf(stderr, "\r%s, %u nodes: %u %s    ", to_string(options_.tree).c_str(), options_.nodes,
                   count, what);
  }

  scale_options options_;
  testing::sim_world world_;
  testing::sim_network network_;
  any_tree tree_;
  std::shared_ptr<node_pools> pools_;
  membership_ptr members_;
  witness log_;
  std::deque<station> stations_;
  group<headcount> all_;         // as the root holds it
  std::unique_ptr<scope> work_;  // of the root
};

bool read_all(int from, void* into, std::size_t size) {
  auto* at = static_cast<char*>(into);
  while (size != 0) {
    const ssize_t n = read(from, at, size);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

scale_report run_scale(const scale_options& options) {
  scale_report report;
  const auto start = std::chrono::steady_clock::now();
  // The cluster ends with its process: a million nodes that say goodbye would show nothing new.
  fleet& all = *new fleet(options);
  report.building_s = processor_seconds();
  const auto first = all.broadcast(1);
  const std::uint64_t sent_before = all.messages();
  const auto second = all.broadcast(2);
  report.running_s = processor_seconds() - report.building_s;
  report.messages = all.messages() - sent_before;
  report.levels = all.tree().subtree_levels(options.nodes, 0);
  report.root_fan_out = all.tree().fan_out(options.nodes, 0);
  report.first_merged_ns = count_ns(first.took);
  report.reached_ns = count_ns(second.reached);
  report.merged_ns = count_ns(second.took);
  report.events = all.events();
  report.bytes = all.bytes();
  const tree_prediction model = predicted(options, all.tree());
  report.predicted_reached_ns = model.reached;
  report.predicted_merged_ns = model.merged;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  report.peak_kib = static_cast<std::uint64_t>(used.ru_maxrss);
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
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe could be made");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no process could be started");
  if (pid == 0) {
    close(ends[0]);
    const scale_report done = run_scale(options);
    _exit(write(ends[1], &done, sizeof done) == sizeof done ? 0 : 2);
  }
  close(ends[1]);
  scale_report report;
  const bool whole = read_all(ends[0], &report, sizeof report);
  close(ends[0]);
  int how = 0;
  waitpid(pid, &how, 0);
  if (options.progress) std::fprintf(stderr, "\r%60s\r", "");
  if (!whole) {
    throw std::runtime_error(
        fmt::format("the run of {} nodes died{}", options.nodes,
                    WIFSIGNALED(how) ? fmt::format(" by signal {}", WTERMSIG(how)) : ""));
  }
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
