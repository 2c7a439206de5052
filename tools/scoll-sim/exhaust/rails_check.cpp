#include "tools/scoll-sim/exhaust/rails_check.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "scoll/bulk/pieces.hpp"
#include "scoll/collective/bcast.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/ship/ship.hpp"
#include "tools/scoll-sim/exhaust/ending.hpp"
#include "transport/session/rails/rail_set.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace scoll::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t railed_nodes = 4;
constexpr std::uint32_t rails_each = 2;
constexpr std::uint32_t every_node = railed_nodes;  // in place of the node whose rail dies
constexpr std::size_t railed_bytes = 2 * least_bulk_piece_bytes + 9'000;
// A silent death is noticed within a quarter of a second. A node may meet it several times, one after the other.
constexpr nanoseconds longest_stall = 2s;
constexpr nanoseconds rest = 2s;

std::byte railed_byte(std::uint64_t at) {
  return static_cast<std::byte>(at * 13 + (at >> 16) * 3 + 1);
}

struct numbered_call {
  std::uint32_t number = 0;
  std::vector<std::uint8_t> filler;
};
inline constexpr remote_function<numbered_call, std::uint32_t> call_by_number{"exhaust.number"};

/// What all nodes of a run do and see.
struct railed_record {
  std::array<std::vector<std::byte>, railed_nodes> places;
  std::array<std::uint32_t, railed_nodes> executed{};
  std::array<std::uint32_t, railed_nodes * railed_nodes> handled{};  // by the number of a call
  std::string wrong;                                                 // the first that was seen to be wrong

  void note(std::string what) {
    if (wrong.empty()) wrong = std::move(what);
  }
};

struct railed_service {
  static constexpr service_id id{0x0303};
  static constexpr nanoseconds processing_bound = 3s;
  struct request {};
  std::shared_ptr<railed_record> log;

  status prepare(request&, bcast_context& c) const {
    if (c.is_root()) return {};
    auto& place = log->places[c.rank()];
    place.assign(c.bulk()->length, std::byte{0xee});
    return c.receive_bulk(place);
  }
  void execute(const request&, bcast_context& c) const {
    ++log->executed[c.rank()];
    const auto& place = log->places[c.rank()];
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (place[i] != railed_byte(i))
        return log->note(fmt::format("rank {} has a wrong byte at {}", c.rank(), i));
    }
  }
};

/// One run: nodes in virtual time, a broadcast with bulk data, and calls between all pairs of them.
class railed_trial {
 public:
  explicit railed_trial(const bulk_plan& plan);
  ~railed_trial();
  railed_trial(const railed_trial&) = delete;
  railed_trial& operator=(const railed_trial&) = delete;

  /// Runs until so many frames have arrived, or to the end. Returns how many have.
  std::uint64_t run(std::uint64_t frames);
  void kill(std::uint32_t rail, std::uint32_t owner, rail_death how);
  void finish();
  std::string fault() const;

 private:
  static std::uint32_t place(std::uint32_t owner, std::uint32_t rail) { return rail * railed_nodes + owner; }
  static std::string address(std::uint32_t owner, std::uint32_t rail) {
    return testing::sim_network::address_of(place(owner, rail));
  }
  void make_node(std::uint32_t i);
  bool over() const { return told_.has_value() && answered_ == railed_nodes * (railed_nodes - 1); }
  std::uint64_t frames() const;
  task<void> tell();
  task<void> call(std::uint32_t from);

  bulk_plan plan_;
  testing::virtual_executor ex_;
  testing::sim_network network_;
  std::shared_ptr<railed_record> log_ = std::make_shared<railed_record>();
  std::vector<std::byte> object_;
  std::deque<testing::sim_rail> rails_;
  std::array<transport::rail_set, railed_nodes> sets_;
  std::vector<std::unique_ptr<node>> nodes_;
  group<railed_service> all_;
  std::optional<outcome> told_;
  std::uint32_t answered_ = 0;
  scope work_;
};

railed_trial::railed_trial(const bulk_plan& plan)
    : plan_(plan),
      network_(ex_.world(), testing::sim_network::usual_chunk_bytes, railed_nodes * rails_each),
      object_(railed_bytes),
      work_(ex_) {
  network_.common_path().model = testing::sim_link_model::ideal(10us);
  for (std::size_t i = 0; i < object_.size(); ++i) object_[i] = railed_byte(i);
  std::vector<target> targets;
  for (std::uint32_t i = 0; i < railed_nodes; ++i) {
    targets.push_back({i + 1, {}});
    make_node(i);
  }
  for (std::uint32_t i = 0; i < railed_nodes; ++i) {
    for (std::uint32_t j = 0; j < railed_nodes; ++j) {
      if (j != i) nodes_[i]->add_peer(j + 1, {address(j, 0), address(j, 1)}).value();
    }
  }
  group_options options;
  options.tree = knomial{2};
  all_ = sync_wait(ex_, nodes_[0]->create_group<railed_service>(targets, options)).value();
  work_.spawn(tell());
  for (std::uint32_t i = 0; i < railed_nodes; ++i) work_.spawn(call(i));
}

void railed_trial::make_node(std::uint32_t i) {
  for (std::uint32_t rail = 0; rail < rails_each; ++rail) {
    transport::rail& own = rails_.emplace_back(network_, ex_, place(i, rail));
    sets_[i].add(std::string(1, static_cast<char>('a' + rail)), own, {.listen = address(i, rail)}).value();
  }
  node_options options;
  options.id = i + 1;
  options.cluster = "exhaust";
  options.incarnation = 1;
  options.rtt_estimate = 1ms;
  options.level_margin = 100us;
  nodes_.push_back(std::make_unique<node>(ex_, sets_[i], options));
  nodes_[i]->listen().value();
  nodes_[i]->serve(railed_service{log_}).value();
  const auto handle = [log = log_](const numbered_call& what, call_context&) -> task<result<std::uint32_t>> {
    ++log->handled[what.number];
    co_return what.number;
  };
  nodes_[i]->serve(call_by_number, handle).value();
}

railed_trial::~railed_trial() {
  end_nodes(ex_, work_, nodes_, 1s);
}

task<void> railed_trial::tell() {
  const railed_service::request asked{};
  bcast_options how;
  how.bulk = std::span<const std::byte>(object_);
  how.bulk_plan = plan_;
  how.bulk_piece_bytes = least_bulk_piece_bytes;
  how.bulk_time = 3s;
  const auto heard = co_await scoll::bcast(all_, asked, how);
  told_ = heard.outcome();
}

task<void> railed_trial::call(std::uint32_t from) {
  for (std::uint32_t step = 1; step < railed_nodes; ++step) {
    const std::uint32_t to = (from + step) % railed_nodes;
    numbered_call what;
    what.number = from * railed_nodes + to;
    what.filler.assign(step * 700, static_cast<std::uint8_t>(what.number));
    const auto answer = co_await ship(*nodes_[from], to + 1, call_by_number, what);
    ++answered_;
    if (!answer) log_->note(fmt::format("call {}: {}", what.number, describe(answer.error())));
    if (answer && *answer != what.number) log_->note(fmt::format("call {} got another answer", what.number));
  }
}

std::uint64_t railed_trial::frames() const {
  std::uint64_t sum = 0;
  for (const auto& each : nodes_) sum += each->wire().statistics().frames_received;
  return sum;
}

std::uint64_t railed_trial::run(std::uint64_t wanted) {
  const std::uint64_t before = frames();
  while (frames() - before < wanted && !over() && ex_.run_until_idle(1) != 0) {
  }
  return frames() - before;
}

void railed_trial::kill(std::uint32_t rail, std::uint32_t owner, rail_death how) {
  for (std::uint32_t i = 0; i < railed_nodes; ++i) {
    if (i != owner && owner != every_node) continue;
    const std::uint32_t here = place(i, rail);
    for (std::uint32_t there = 0; there < railed_nodes * rails_each; ++there) {
      if (there % railed_nodes == i) continue;
      if (how == rail_death::silent) {
        const nanoseconds end = ex_.world().now() + std::chrono::hours(1);
        network_.path(here, there).blocked_until = network_.path(there, here).blocked_until = end;
      } else {
        network_.cut(here, there);
        network_.refuse(here, there);
        network_.refuse(there, here);
      }
    }
  }
}

/// Lets everything come to its end, and then to rest.
void railed_trial::finish() {
  const time_point limit = ex_.now() + longest_stall;
  while (!over() && ex_.now() < limit) ex_.run_for(1ms);
  if (over()) ex_.run_for(rest);
}

std::string railed_trial::fault() const {
  if (!log_->wrong.empty()) return log_->wrong;
  if (!told_) return "the broadcast does not end";
  if (!over()) return fmt::format("{} calls have ended", answered_);
  for (std::uint32_t i = 0; i < railed_nodes; ++i) {
    if (told_->state(i) != member_state::merged || log_->executed[i] != 1)
      return fmt::format("rank {} executed {} times: {}", i, log_->executed[i], describe(*told_));
    const transport::endpoint_statistics& counts = nodes_[i]->wire().statistics();
    if (counts.sessions_lost + counts.bulk_lost + counts.links_broken != 0)
      return fmt::format("node {}: {} sessions lost, {} times bulk alone, {} links broken", i + 1,
                         counts.sessions_lost, counts.bulk_lost, counts.links_broken);
    for (std::uint32_t j = 0; j < railed_nodes; ++j) {
      if (i != j && log_->handled[i * railed_nodes + j] != 1)
        return fmt::format("call {} ran {} times", i * railed_nodes + j, log_->handled[i * railed_nodes + j]);
    }
  }
  return {};
}

}  // namespace

exhausted kill_rails_at_each_frame(const bulk_plan& plan, rail_death how) {
  exhausted found;
  const std::string_view word = how == rail_death::silent ? "falls silent" : "is reset";
  found.part =
      fmt::format("{} among 4 nodes with two rails: a rail {} after each frame", to_string(plan), word);
  const auto judge = [&](const railed_trial& one, const std::string& what) {
    ++found.cases;
    found.violation = one.fault();
    if (!found.violation.empty()) found.way = {what};
    return found.violation.empty();
  };
  std::uint64_t frames = 0;
  {
    railed_trial undisturbed(plan);
    frames = undisturbed.run(UINT64_MAX);
    undisturbed.finish();
    if (!judge(undisturbed, "no rail dies")) return found;
  }
  for (std::uint32_t rail = 0; rail < rails_each; ++rail) {
    for (std::uint32_t owner = 0; owner <= every_node; ++owner) {
      for (std::uint64_t frame = 0; frame <= frames; ++frame) {
        railed_trial one(plan);
        one.run(frame);
        one.kill(rail, owner, how);
        one.finish();
        const std::string whose = owner == every_node ? "of all nodes" : fmt::format("of node {}", owner + 1);
        if (!judge(one, fmt::format("rail {} {} {} after {} of {} frames", rail, whose, word, frame, frames)))
          return found;
      }
    }
  }
  return found;
}

std::vector<exhausted> exhaust_rails(const exhaust_settings&) {
  std::vector<exhausted> parts;
  for (const bulk_plan& plan : {bulk_plan::whole(), bulk_plan::chain(), bulk_plan::binary()}) {
    for (const rail_death how : {rail_death::silent, rail_death::reset})
      parts.push_back(kill_rails_at_each_frame(plan, how));
  }
  return parts;
}

}  // namespace scoll::sim
