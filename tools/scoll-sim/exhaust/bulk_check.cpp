#include "tools/scoll-sim/exhaust/bulk_check.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "scoll/bulk/pieces.hpp"
#include "scoll/collective/bcast.hpp"
#include "scoll/collective/bulks.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/exhaust/ending.hpp"
#include "tools/scoll-sim/exhaust/make_parts.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace scoll::sim {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds until_verdict = 3ms;
constexpr nanoseconds longest_story = 60s;
constexpr std::uint32_t last_piece_bytes = 9000;  // more than is copied
constexpr knomial control{2};

/// Every byte of the object, by its place.
std::byte cargo(std::uint64_t at) {
  return static_cast<std::byte>(at * 11 + (at >> 16) * 5 + 3);
}

/// What has happened at one member.
struct account {
  std::vector<std::byte> place;
  std::uint32_t prepared = 0, chunks = 0, executed = 0, failed = 0, replied = 0;
  std::uint64_t seen = 0;  ///< bytes in chunks

  std::uint64_t hooks() const { return std::uint64_t{prepared} + chunks + executed + failed + replied; }
};

/// What all members do and see.
struct record {
  std::vector<account> of;
  std::string wrong;                                              ///< the first that was seen to be wrong
  std::optional<std::pair<std::uint32_t, std::uint32_t>> alters;  ///< rank and piece

  void note(std::string what) {
    if (wrong.empty()) wrong = std::move(what);
  }
};

struct loaded {
  static constexpr service_id id{0x0302};
  static constexpr nanoseconds processing_bound = 1s;
  struct request {};
  std::shared_ptr<record> log;

  account& here(bcast_context& c) const { return log->of[c.rank()]; }

  status prepare(request&, bcast_context& c) const {
    account& a = here(c);
    ++a.prepared;
    if (c.is_root()) return {};
    a.place.assign(c.bulk()->length, std::byte{0xee});
    return c.receive_bulk(a.place);
  }
  void on_bulk(const bulk_chunk& chunk, bcast_context& c) const {
    account& a = here(c);
    ++a.chunks;
    a.seen += chunk.bytes.size();
    for (std::size_t i = 0; i < chunk.bytes.size(); ++i) {
      if (chunk.bytes[i] != cargo(chunk.offset + i))
        return log->note(fmt::format("rank {} sees a wrong byte at {}", c.rank(), chunk.offset + i));
    }
    const bool alters = log->alters && log->alters->first == c.rank() &&
                        chunk.offset == std::uint64_t{log->alters->second} * least_bulk_piece_bytes;
    if (alters) a.place[chunk.offset] ^= std::byte{0x80};
  }
  void bulk_failed(const error&, bcast_context& c) const noexcept { ++here(c).failed; }
  void execute(const request&, bcast_context& c) const {
    account& a = here(c);
    ++a.executed;
    if (a.seen != c.bulk()->length) log->note(fmt::format("rank {} executes without all bytes", c.rank()));
  }
  void replied(bcast_context& c) const noexcept {
    account& a = here(c);
    ++a.replied;
    std::ranges::fill(a.place, std::byte{0xdd});  // whoever reads here from now on gets wrong bytes
  }
};

/// True if a member of the request's tree is in another one's subtree.
bool is_below(std::uint32_t rank, std::uint32_t other, std::uint32_t n) {
  while (rank != 0 && rank != other) rank = control.parent(n, rank);
  return rank == other;
}

/// One run: some nodes in virtual time, and one broadcast with bulk data.
class bulk_trial {
 public:
  bulk_trial(const bulk_plan& plan, failure_policy policy, std::uint32_t members, std::uint32_t pieces);
  ~bulk_trial();
  bulk_trial(const bulk_trial&) = delete;
  bulk_trial& operator=(const bulk_trial&) = delete;

  void alter(std::uint32_t rank, std::uint32_t piece) { log_->alters = {{rank, piece}}; }
  /// Runs until the member has taken so many steps, or to the end. Returns the number of its steps.
  std::uint64_t run(std::uint32_t member, std::uint64_t steps);
  void kill(std::uint32_t victim);
  void finish();
  std::string fault() const;

 private:
  task<void> tell();
  detail::engine& engine(std::uint32_t i) const { return detail::node_access::engine(*nodes_[i]); }
  std::uint64_t steps_of(std::uint32_t i) const;
  bool died(std::uint32_t i) const { return victim_ == i; }
  std::string fault_of_outcome() const;
  std::string fault_at_rest() const;

  bulk_plan plan_;
  failure_policy policy_;
  std::uint32_t members_;
  testing::virtual_executor ex_;
  testing::sim_network network_;
  std::vector<std::unique_ptr<testing::sim_rail>> rails_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::shared_ptr<record> log_;
  std::vector<std::byte> object_;
  group<loaded> all_;
  std::optional<outcome> told_;
  std::optional<std::uint32_t> victim_;
  std::uint32_t executed_at_death_ = 0;
  scope work_;
};

bulk_trial::bulk_trial(const bulk_plan& plan, failure_policy policy, std::uint32_t members,
                       std::uint32_t pieces)
    : plan_(plan),
      policy_(policy),
      members_(members),
      network_(ex_.world(), testing::sim_network::usual_chunk_bytes, members),
      log_(std::make_shared<record>()),
      object_(std::size_t{pieces - 1} * least_bulk_piece_bytes + last_piece_bytes),
      work_(ex_) {
  network_.common_path().model = testing::sim_link_model::ideal(10us);
  log_->of.resize(members);
  for (std::size_t i = 0; i < object_.size(); ++i) object_[i] = cargo(i);
  std::vector<target> targets;
  for (std::uint32_t i = 0; i < members_; ++i) {
    targets.push_back({i + 1, {}});
    rails_.push_back(std::make_unique<testing::sim_rail>(network_, ex_, i));
    node_options options;
    options.id = i + 1;
    options.cluster = "exhaust";
    options.incarnation = 1;
    options.rtt_estimate = 1ms;
    options.level_margin = 100us;
    nodes_.push_back(std::make_unique<node>(ex_, *rails_[i], options));
    nodes_[i]->listen(testing::sim_network::address_of(i)).value();
    nodes_[i]->serve(loaded{log_}).value();
  }
  for (std::uint32_t i = 0; i < members_; ++i) {
    for (std::uint32_t j = 0; j < members_; ++j) {
      if (j != i) nodes_[i]->add_peer(j + 1, testing::sim_network::address_of(j)).value();
    }
  }
  group_options options;
  options.tree = control;
  all_ = sync_wait(ex_, nodes_[0]->create_group<loaded>(targets, options)).value();
  work_.spawn(tell());
}

bulk_trial::~bulk_trial() {
  end_nodes(ex_, work_, nodes_, 100ms);
}

task<void> bulk_trial::tell() {
  const loaded::request asked{};
  bcast_options how;
  how.bulk = std::span<const std::byte>(object_);
  how.bulk_plan = plan_;
  how.bulk_piece_bytes = least_bulk_piece_bytes;
  how.bulk_time = 2s;
  how.on_failure = policy_;
  const auto heard = co_await scoll::bcast(all_, asked, how);
  told_ = heard.outcome();
  std::ranges::fill(object_, std::byte{0xdd});
}

std::uint64_t bulk_trial::steps_of(std::uint32_t i) const {
  const transport::endpoint_statistics& s = nodes_[i]->wire().statistics();
  return log_->of[i].hooks() + s.requests_sent + s.replies_sent + s.frames_received;
}

std::uint64_t bulk_trial::run(std::uint32_t member, std::uint64_t steps) {
  const std::uint64_t before = steps_of(member);
  const auto done = [&] { return steps_of(member) - before; };
  while (done() < steps && !told_ && ex_.run_until_idle(1) != 0) {
  }
  return done();
}

void bulk_trial::kill(std::uint32_t victim) {
  victim_ = victim;
  executed_at_death_ = log_->of[victim].executed;
  for (std::uint32_t j = 0; j < members_; ++j) {
    if (j == victim) continue;
    network_.cut(victim, j);
    network_.refuse(j, victim);
    network_.refuse(victim, j);
  }
}

/// Lets the survivors hear of the death, and everything come to rest.
void bulk_trial::finish() {
  ex_.run_for(until_verdict);
  for (std::uint32_t i = 0; i < members_ && victim_; ++i) {
    if (!died(i)) nodes_[i]->on_dead(*victim_ + 1, 1);
  }
  const time_point limit = ex_.now() + longest_story;
  while (!told_ && ex_.now() < limit) ex_.run_for(1ms);
  ex_.run_for(5s);
}

std::string bulk_trial::fault() const {
  if (!log_->wrong.empty()) return log_->wrong;
  if (!told_) return "the broadcast does not end";
  if (std::string found = died(0) ? std::string() : fault_of_outcome(); !found.empty()) return found;
  return fault_at_rest();
}

std::string bulk_trial::fault_of_outcome() const {
  for (std::uint32_t rank = 0; rank < members_; ++rank) {
    const std::uint32_t times = died(rank) ? executed_at_death_ : log_->of[rank].executed;
    const member_state state = told_->state(rank);
    const bool did = state == member_state::merged || state == member_state::executed;
    const bool did_not = state == member_state::not_reached || state == member_state::failed;
    if (times > 1 || (did && times == 0) || (did_not && times != 0))
      return fmt::format("rank {} executed {} times: {}", rank, times, describe(*told_));
    const bool has_way = !victim_ || !is_below(rank, *victim_, members_);
    if ((has_way || (policy_ == repair && !died(rank))) && state != member_state::merged)
      return fmt::format("rank {} could be reached: {}", rank, describe(*told_));
  }
  return {};
}

std::string bulk_trial::fault_at_rest() const {
  for (std::uint32_t i = 0; i < members_; ++i) {
    const account& a = log_->of[i];
    if (a.replied != a.prepared) return fmt::format("the place of rank {} does not come back", i);
    if (i != 0 && a.prepared != 0 && a.executed + a.failed != 1)
      return fmt::format("rank {} executed {} times and heard {} times that it will not", i, a.executed,
                         a.failed);
    const detail::engine::bulks& bulks = engine(i).bulk_data();
    if (engine(i).operations() != 0 || bulks.running() != 0 || bulks.reading() != 0)
      return fmt::format("node {} has work left at rest", i + 1);
  }
  return {};
}

std::string in_words(const bulk_plan& plan, failure_policy policy, std::uint32_t members) {
  return fmt::format("{} among {} members{}: one dies after each step, or alters each piece", to_string(plan),
                     members, policy == repair ? " with repair" : "");
}

/// Runs that differ in one thing, up to the first that goes wrong.
class search {
 public:
  search(const bulk_plan& plan, failure_policy policy, std::uint32_t members)
      : plan_(plan), policy_(policy), members_(members) {
    found_.part = in_words(plan, policy, members);
  }

  void kill_each(std::uint32_t pieces) {
    for (std::uint32_t victim = 0; victim < members_ && going(); ++victim) {
      std::uint64_t steps = 0;
      {
        bulk_trial undisturbed(plan_, policy_, members_, pieces);
        steps = undisturbed.run(victim, UINT64_MAX);
        undisturbed.finish();
        judge(undisturbed, fmt::format("{} pieces, nobody dies", pieces));
      }
      for (std::uint64_t step = 0; step <= steps && going(); ++step) {
        bulk_trial one(plan_, policy_, members_, pieces);
        one.run(victim, step);
        one.kill(victim);
        one.finish();
        judge(one, fmt::format("{} pieces, rank {} dies after {} of {} steps", pieces, victim, step, steps));
      }
    }
  }
  void alter_each(std::uint32_t pieces) {
    for (std::uint32_t rank = 1; rank < members_; ++rank) {
      for (std::uint32_t piece = 0; piece < pieces && going(); ++piece) {
        bulk_trial one(plan_, policy_, members_, pieces);
        one.alter(rank, piece);
        one.finish();
        judge(one, fmt::format("{} pieces, rank {} alters piece {}", pieces, rank, piece));
      }
    }
  }
  exhausted take() { return std::move(found_); }

 private:
  bool going() const { return found_.violation.empty(); }
  void judge(const bulk_trial& one, const std::string& what) {
    if (!going()) return;
    ++found_.cases;
    found_.violation = one.fault();
    if (!going()) found_.way = {what};
  }

  bulk_plan plan_;
  failure_policy policy_;
  std::uint32_t members_;
  exhausted found_;
};

}  // namespace

std::vector<bulk_plan> exhausted_bulk_plans() {
  return {bulk_plan::whole(), bulk_plan::chain(), bulk_plan::binary(), bulk_plan::knomial(2),
          bulk_plan::circulant()};
}

exhausted exhaust_bulk_of(const bulk_plan& plan, std::uint32_t members, failure_policy policy) {
  const auto q = static_cast<std::uint32_t>(std::bit_width(members - 1));
  search all(plan, policy, members);
  std::vector<std::uint32_t> pieces{1, 3, q + 2};
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  for (const std::uint32_t count : pieces) {
    all.kill_each(count);
    all.alter_each(count);
  }
  return all.take();
}

std::vector<exhausted> exhaust_bulk(const exhaust_settings& settings) {
  constexpr std::uint32_t usual_most = 17;
  const std::uint32_t most = settings.most_members != 0 ? settings.most_members : usual_most;
  const std::vector<bulk_plan> plans = exhausted_bulk_plans();
  return make_parts("bulk", 2 * (most - 1) * plans.size(), settings, [&](std::size_t at) {
    const std::size_t of_plan = at / 2;
    return exhaust_bulk_of(plans[of_plan % plans.size()],
                           static_cast<std::uint32_t>(2 + of_plan / plans.size()),
                           at % 2 == 0 ? degrade : repair);
  });
}

}  // namespace scoll::sim
