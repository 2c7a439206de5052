#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "bench/kit/node_process.hpp"
#include "loss.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/tree/any_tree.hpp"
#include "transport/io/io_awaitables.hpp"
#include "transport/io/socket.hpp"

namespace bench::bcast {
namespace {

using namespace scoll;
using namespace scoll::transport;

/// Every member answers with its rank plus one.
struct count_survivors {
  static constexpr service_id id{0x0103};
  static constexpr bool short_execute = true;
  using request = wire::borrowed_bytes;
  using reply = sum<std::uint64_t>;
  static reply execute(const request&, bcast_context& c) { return {std::uint64_t{c.rank()} + 1}; }
};

class losing_process final : public node_process {
 public:
  losing_process(member& me, const setting& s) : node_process(me, s.congestion_control), setting_(s) {
    node_.serve(count_survivors{}).value();
    me.page().pid = getpid();
    join();
  }

 private:
  using group_of_all = group<count_survivors>;

  /// How a broadcast ended in which a process was killed.
  struct blow {
    std::int64_t from_news_ns = 0;
    std::int64_t in_all_ns = 0;
    bool hit = false;
  };

  task<void> obey() override {
    const std::size_t overhead = wire::encoded_size(wire::borrowed_bytes{});
    payload_.resize(setting_.size > overhead ? setting_.size - overhead : 0);
    for (std::uint32_t i = 0; i < me_.count(); ++i) living_.push_back(i);
    while (true) {
      (co_await async_poll(*ring_, me_.orders(), POLLIN)).ignore();
      const auto next = me_.next_order();
      if (!next) break;
      for (std::uint32_t i = 0; i < next->operations; ++i) co_await repeat(i);
      me_.done(static_cast<std::uint32_t>(next->operations * loss_figures));
    }
    ring_->stop();
  }

  /// The two kinds take turns in being the first.
  task<void> repeat(std::uint32_t i) {
    repaired_first_ = !repaired_first_;
    if (repaired_first_) co_await measure_repair(i);
    const blow b = co_await strike(fail_fast);
    note(i, loss_figure::anew, b.from_news_ns);
    note(i, loss_figure::anew_in_all, b.in_all_ns);
    if (!repaired_first_) co_await measure_repair(i);
  }
  task<void> measure_repair(std::uint32_t i) {
    const blow b = co_await strike(repair);
    note(i, loss_figure::clean, clean_ns_);
    note(i, loss_figure::repair, b.from_news_ns);
    note(i, loss_figure::repair_in_all, b.in_all_ns);
  }
  void note(std::uint32_t repetition, loss_figure what, std::int64_t ns) noexcept {
    me_.note(static_cast<std::uint32_t>(repetition * loss_figures + static_cast<std::size_t>(what)), 0, ns);
  }

  /// Repeats until a kill comes before its broadcast is over.
  task<blow> strike(failure_policy policy) {
    while (true) {
      if (living_.size() < setting_.nodes) me_.give_up("too many kills came too late");
      const group_of_all g = co_await group_of_the_living();
      clean_ns_ = co_await broadcast_in_peace(g);
      const blow b = co_await broadcast_with_a_kill(g, policy);
      (co_await node_.destroy(g)).ignore();
      if (b.hit) co_return b;
    }
  }

  task<group_of_all> group_of_the_living() {
    std::vector<target> targets;
    for (std::uint32_t rank = 0; rank < setting_.nodes; ++rank) targets.push_back({living_[rank] + 1, {}});
    auto created = co_await node_.create_group<count_survivors>(targets, {.tree = setting_.tree});
    if (!created) me_.give_up(describe(created.error()));
    co_return *created;
  }

  /// Connects everybody, and returns what the median broadcast takes.
  task<std::int64_t> broadcast_in_peace(const group_of_all& g) {
    const wire::borrowed_bytes request{payload_};
    std::array<std::int64_t, 11> took{};
    for (std::int64_t& each : took) {
      const std::int64_t began = now_ns();
      const auto r = co_await scoll::bcast(g, request, {.on_failure = repair});
      each = now_ns() - began;
      if (!r.ok() || r->value != setting_.expected_sum()) me_.give_up(describe(r.outcome()));
    }
    std::ranges::nth_element(took, took.begin() + took.size() / 2);
    co_return took[took.size() / 2];
  }

  task<blow> broadcast_with_a_kill(const group_of_all& g, failure_policy policy) {
    const std::uint32_t victim = draw_victim();
    const wire::borrowed_bytes request{payload_};
    scope killing(*ring_);
    const std::int64_t began = now_ns();
    killing.spawn(kill_soon(living_[victim]));
    const auto r = co_await scoll::bcast(g, request, {.on_failure = policy});
    bool reached = r.outcome().merged().size() == setting_.nodes - 1;
    if (policy == fail_fast && !r.ok()) reached = co_await broadcast_anew(g);
    const std::int64_t ended = now_ns();
    co_await killing.join();
    living_.erase(living_.begin() + victim);
    if (!r.ok() && !reached) me_.give_up("not every survivor was reached: " + describe(r.outcome()));
    co_return blow{ended - news_ns_, ended - began, !r.ok()};
  }
  task<bool> broadcast_anew(const group_of_all& g) {
    const wire::borrowed_bytes request{payload_};
    const auto r = co_await scoll::bcast(g.alive(), request);
    co_return r.ok() && r.outcome().merged().size() == setting_.nodes - 1;
  }

  /// Kills a process at a moment in the first third of the time that a broadcast takes: later, the request is
  /// often through with it. When the system says that the process
  /// is gone, and its sockets with it, this node hears of its death.
  task<void> kill_soon(std::uint32_t index) {
    co_await sleep_for(nanoseconds(random_.below(static_cast<std::uint64_t>(clean_ns_ / 3))));
    const pid_t pid = me_.page(index).pid;
    const unique_fd end(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    me_.may_end(index);
    kill(pid, SIGKILL);
    (co_await async_poll(*ring_, end.get(), POLLIN)).ignore();
    news_ns_ = now_ns();
    node_.on_dead(index + 1, 1);
  }

  /// A child of the root, with eight processes in its part of the tree, or nearly so many.
  std::uint32_t draw_victim() {
    const auto tree = any_tree::resolve(setting_.tree, setting_.nodes).value();
    const auto far_from_eight = [&](std::uint32_t rank) {
      return std::abs(static_cast<int>(tree.subtree_nodes(setting_.nodes, rank)) - 8);
    };
    std::vector<std::uint32_t> best;
    for (std::uint32_t i = 0; i < tree.fan_out(setting_.nodes, 0); ++i) {
      const std::uint32_t rank = tree.child(setting_.nodes, 0, i);
      if (!best.empty() && far_from_eight(rank) > far_from_eight(best.front())) continue;
      if (!best.empty() && far_from_eight(rank) < far_from_eight(best.front())) best.clear();
      best.push_back(rank);
    }
    return best[random_.below(best.size())];
  }

  setting setting_;
  random_generator random_{1};
  std::vector<std::byte> payload_;
  std::vector<std::uint32_t> living_;  ///< processes, the root first
  bool repaired_first_ = false;
  std::int64_t clean_ns_ = 0;
  std::int64_t news_ns_ = 0;
};

}  // namespace

void play_loss(member& me, const setting& s) {
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new losing_process(me, s))->run();
}

}  // namespace bench::bcast
