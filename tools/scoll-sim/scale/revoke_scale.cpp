#include "tools/scoll-sim/scale/revoke_scale.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "scoll/collective/binomial_graph.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "tools/scoll-sim/scale/fleet.hpp"
#include "tools/scoll-sim/scale/own_process.hpp"
#include "tools/scoll-sim/scale/revoke_model.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::sim {
namespace {

constexpr std::uint32_t deaths = 16;
constexpr std::uint32_t many_members = 20'000;
// The journal of a node keeps one revoke in ten seconds. No timer of a second is due when the next one begins.
constexpr nanoseconds between_revokes = std::chrono::milliseconds(11'370);

struct pool_service {
  static constexpr service_id id{0x0311};
  static constexpr std::string_view name = "pool";
  struct request {};
  void execute(const request&, bcast_context&) {}
};

/// Each member holds three groups, and knows the addresses of the members that it tells of a revoke and of
/// those that tell it.
class revoke_run {
 public:
  explicit revoke_run(const revoke_scale_options& options)
      : all_(options.nodes, options.wire, 1, options.progress ? "revoke" : ""),
        overhead_(options.wire.overhead),
        dead_(options.nodes) {
    revoke_order order(options.nodes, node_options().revoke_tree);
    for (std::uint32_t rank = 0; rank < options.nodes; ++rank) {
      all_.boot(order.known_by(rank), [&](node& self) {
        self.serve(pool_service{}).value();
        for (std::size_t g = 0; g < groups_.size(); ++g) {
          auto held = self.adopt_group<pool_service>(g + 1, all_.members()).value();
          if (rank == 0) groups_[g] = held;
        }
      });
    }
    work_ = std::make_unique<scope>(all_.at(0).get_executor());
  }

  struct course {
    double last = 0;  // in o
    std::uint64_t notices = 0;
    std::string wrong;
  };

  /// Revokes the next group.
  course revoke() {
    const std::uint64_t before = notices();
    const time_point start = all_.at(0).get_executor().now();
    course c;
    all_.enter(0, [&] { work_->spawn(revoke_now(groups_[revokes_++], c)); });
    all_.run_for(between_revokes);
    c.notices = notices() - before;
    std::uint32_t living = 0, heard = 0;
    for (std::uint32_t rank = 0; rank < all_.size(); ++rank) {
      if (dead_[rank]) continue;
      ++living;
      const auto at = heard_at(rank);
      if (!at) continue;
      ++heard;
      if (rank != 0)
        c.last =
            std::max(c.last, (*at + overhead_ - start) / std::chrono::duration<double, std::nano>(overhead_));
    }
    if (heard != living) c.wrong = fmt::format("{} of {} living members have heard", heard, living);
    return c;
  }

  void kill(const std::vector<std::uint32_t>& ranks) {
    for (const std::uint32_t rank : ranks) {
      all_.kill(rank);
      dead_[rank] = true;
    }
  }

  const fleet& nodes() const noexcept { return all_; }

 private:
  std::uint64_t notices() { return all_.sum_of(&transport::endpoint_statistics::notices_sent); }

  /// When a member began to receive its first notice of the last revoke. Clocks show the same everywhere.
  std::optional<time_point> heard_at(std::uint32_t rank) {
    constexpr auto kind = node_event_kind::group_revoked;
    if (all_.at(rank).event_count(kind) != revokes_) return std::nullopt;
    const auto events = all_.at(rank).events();
    const auto last =
        std::find_if(events.rbegin(), events.rend(), [](const node_event& e) { return e.kind == kind; });
    return last == events.rend() ? std::nullopt : std::optional(last->at);
  }

  task<void> revoke_now(group<pool_service> which, course& c) {
    const auto told = co_await which.revoke(1);
    if (!told) c.wrong = describe(told.error());
  }

  fleet all_;
  nanoseconds overhead_;
  std::vector<bool> dead_;
  std::array<group<pool_service>, 3> groups_;  // as rank 0 holds them
  std::size_t revokes_ = 0;
  std::unique_ptr<scope> work_;  // of rank 0
};

revoke_model model_of(const revoke_scale_options& options) {
  const testing::sim_link_model& w = options.wire;
  if (w.overhead <= nanoseconds(0) || w.latency % w.overhead != nanoseconds(0))
    throw std::runtime_error("a revoke is counted in o: --latency-ns must be a multiple of --overhead-ns");
  if (w.gap > w.overhead || w.jitter != nanoseconds(0))
    throw std::runtime_error("the model of a revoke has no gap beyond --overhead-ns, and no jitter");
  revoke_model model;
  model.members = options.nodes;
  model.reach = static_cast<std::uint32_t>(w.latency / w.overhead) + 2;
  model.tree = node_options().revoke_tree;
  return model;
}

bool differs(double measured, double model, std::uint32_t percent) {
  return measured * 100 < model * (100 - percent) || measured * 100 > model * (100 + percent);
}

/// Takes a measured revoke, and says what is wrong with it.
std::string compare(const revoke_run::course& measured, const revoke_course& model, bool clean,
                    revoke_figures& into) {
  into = {measured.last, model.last, measured.notices, model.notices};
  if (!measured.wrong.empty()) return measured.wrong;
  if (model.unheard != 0) return fmt::format("in the model {} members do not hear", model.unheard);
  if (differs(measured.last, model.last, revoke_tolerance_percent))
    return fmt::format("the last member has heard after {:.2f} o instead of {}", measured.last, model.last);
  // Notices to the dead are not handed to a link for ever.
  if (clean && differs(static_cast<double>(measured.notices), static_cast<double>(model.notices), 1))
    return fmt::format("{} notices were sent instead of {}", measured.notices, model.notices);
  return {};
}

void run_revokes(const revoke_scale_options& options, revoke_scale_report& report) {
  const auto start = std::chrono::steady_clock::now();
  const revoke_model model = model_of(options);
  // The nodes end with their process.
  revoke_run& run = *new revoke_run(options);
  const auto first = run.revoke();
  report.connecting = first.last;
  std::string wrong = first.wrong;
  const auto take = [&](const std::vector<std::uint32_t>& dead, revoke_figures& into) {
    const std::string found = compare(run.revoke(), flood_revoke(model, dead), dead.empty(), into);
    if (wrong.empty()) wrong = found;
  };
  take({}, report.clean);
  if (detail::binomial_degree(options.nodes) > deaths) {
    random_generator random(options.seed);
    const auto dead = draw_dead(options.nodes, report.dead = deaths, random);
    run.kill(dead);
    take(dead, report.with_dead);
  }
  report.events = run.nodes().events();
  report.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.peak_kib = use_of_this_process().peak_kib;
  wrong.copy(report.wrong.data(), report.wrong.size() - 1);
}

}  // namespace

revoke_scale_report measure_revoke(const revoke_scale_options& options) {
  const revoke_model model = model_of(options);
  revoke_scale_report report;
  in_own_process(
      std::as_writable_bytes(std::span(&report, 1)), [&] { run_revokes(options, report); },
      fmt::format("a revoke among {} nodes", options.nodes));
  if (options.progress) std::fprintf(stderr, "\r%60s\r", "");
  if (report.dead == 0) return report;
  const revoke_draws drawn = draw_revokes(model, deaths, options.nodes > many_members ? 3 : 40, options.seed);
  report.model_median = drawn.median;
  report.model_worst = drawn.worst;
  return report;
}

}  // namespace scoll::sim
