#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/kit/node_process.hpp"
#include "revoke.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/node.hpp"
#include "transport/io/io_awaitables.hpp"

namespace bench::revoke {
namespace {

using namespace scoll;
using namespace scoll::transport;
using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::size_t small_bytes = 64;
constexpr std::size_t large_bytes = max_reply_bytes - 64;  // nearly 24 KiB
constexpr std::uint32_t large_at_once = 4;

class process;

/// Plan B: every member answers with 1.
struct count_members {
  static constexpr service_id id{0x0100};
  static constexpr bool short_execute = true;
  using request = wire::borrowed_bytes;
  using reply = sum<std::uint64_t>;
  process* self;
  reply execute(const request&, bcast_context& c);
};

/// Plan A: every member works until it is told to stop.
struct work_for_long {
  static constexpr service_id id{0x0101};
  struct request {
    std::uint32_t nothing = 0;
  };
  using reply = sum<std::uint64_t>;
  process* self;
  task<result<reply>> execute(const request&, bcast_context& c);
};

/// Replies of 24 KiB, of which each node passes one on.
struct large_replies {
  static constexpr service_id id{0x0102};
  struct request {
    std::uint32_t nothing = 0;
  };
  struct reply {
    std::vector<std::uint8_t> bytes;
  };
  static constexpr std::size_t reply_capacity = large_bytes + 64;
  static reply execute(const request&, bcast_context&) { return {std::vector<std::uint8_t>(large_bytes, 1)}; }
  static void merge(reply& into, const reply& from) noexcept {
    if (into.bytes.empty() && !from.bytes.empty()) into.bytes.push_back(from.bytes.front());
  }
};

class process final : public node_process {
 public:
  process(member& me, const setting& s) : node_process(me, s.congestion_control) {
    node_.serve(count_members{this}).value();
    node_.serve(work_for_long{this}).value();
    node_.serve(large_replies{}).value();
    join();
  }

  void executed() noexcept { reached(); }
  void working() noexcept { ++at_work_; }
  void stopped() noexcept { reached(); }

 private:
  void reached() noexcept {
    me_.page().notices = node_.wire().statistics().notices_sent;
    me_.page().reached_ns.store(now_ns(), std::memory_order_release);
  }

  task<void> obey() override {
    const group_options options{.tree = knomial{4}};
    plan_b_ = co_await make_group<count_members>(options);
    large_ = co_await make_group<large_replies>(options);
    payload_.resize(small_bytes - wire::encoded_size(wire::borrowed_bytes{}));
    while (true) {
      (co_await async_poll(*ring_, me_.orders(), POLLIN)).ignore();
      const auto next = me_.next_order();
      if (!next) break;
      scope streams(*ring_);
      loaded_ = next->background != 0;
      for (std::uint32_t i = 0; loaded_ && i < large_at_once; ++i) streams.spawn(load());
      for (std::uint32_t i = 0; i < next->operations; ++i) co_await repeat(i);
      loaded_ = false;
      co_await streams.join();
      me_.done(static_cast<std::uint32_t>(next->operations * figures));
    }
    ring_->stop();
  }

  void note(std::uint32_t repetition, figure what, std::int64_t ns) noexcept {
    me_.note(static_cast<std::uint32_t>(repetition * figures + static_cast<std::size_t>(what)), 0, ns);
  }

  task<void> load() {
    while (loaded_) {
      const large_replies::request nothing;
      const auto r = co_await scoll::bcast(*large_, nothing);
      if (!r.has_value()) me_.give_up(describe(r.outcome()));
    }
  }

  task<std::int64_t> plan_b() {
    const wire::borrowed_bytes request{payload_};
    const std::int64_t began = now_ns();
    const auto r = co_await scoll::bcast(*plan_b_, request);
    const std::int64_t ended = now_ns();
    if (!r.ok()) me_.give_up(describe(r.outcome()));
    co_return ended - began;
  }

  /// Waits until every process has been reached since `from`, and returns when the last one was.
  task<std::int64_t> last_reached(std::int64_t from) {
    constexpr std::int64_t longest_ns = 5'000'000'000;
    while (now_ns() - from < longest_ns) {
      std::int64_t first = INT64_MAX, last = 0;
      for (std::uint32_t i = 0; i < me_.count(); ++i) {
        const std::int64_t at = me_.page(i).reached_ns.load(std::memory_order_acquire);
        first = std::min(first, at);
        last = std::max(last, at);
      }
      if (first >= from) co_return last;
      co_await sleep_for(microseconds(50));
    }
    me_.give_up("not every process was reached within five seconds");
  }

  std::uint64_t notices() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < me_.count(); ++i) sum += me_.page(i).notices;
    return sum;
  }

  task<void> interrupted(const group<work_for_long>& g) {
    const work_for_long::request nothing;
    const auto r = co_await scoll::bcast(g, nothing, {.deadline = seconds(30)});
    interrupted_at_ = now_ns();
    if (r.status().error() != errc::revoked) me_.give_up(describe(r.outcome()));
  }

  task<void> repeat(std::uint32_t i) {
    const std::int64_t leaf_began = now_ns();
    static_cast<void>(co_await plan_b());
    const std::int64_t leaf = co_await last_reached(leaf_began);
    note(i, figure::last_leaf, leaf - leaf_began);
    const std::int64_t before_1 = co_await plan_b();
    const std::int64_t before_2 = co_await plan_b();
    note(i, figure::before_1, before_1);
    note(i, figure::before_2, before_2);
    const std::uint64_t sent_before = notices();
    const group<work_for_long> plan_a = co_await make_group<work_for_long>({.tree = knomial{4}});
    scope running(*ring_);
    running.spawn(interrupted(plan_a));
    // All members are at work when the time of three broadcasts has passed.
    for (int k = 0; k < 3; ++k) static_cast<void>(co_await plan_b());
    co_await sleep_for(microseconds(500));
    const std::int64_t began = now_ns();
    const auto told = co_await plan_a.revoke(1, "plan B");
    if (!told) me_.give_up(describe(told.error()));
    co_await running.join();
    note(i, figure::interrupted, interrupted_at_ - began);
    const std::int64_t last = co_await last_reached(began);
    note(i, figure::last_notice, last - began);
    for (const figure which : {figure::after_1, figure::after_2, figure::after_3}) {
      const std::int64_t took = co_await plan_b();
      note(i, which, took);
    }
    note(i, figure::notices, static_cast<std::int64_t>(notices() - sent_before));
    (co_await node_.destroy(plan_a)).ignore();
  }

  std::optional<group<count_members>> plan_b_;
  std::optional<group<large_replies>> large_;
  std::vector<std::byte> payload_;
  std::uint32_t at_work_ = 0;
  std::int64_t interrupted_at_ = 0;
  bool loaded_ = false;
};

count_members::reply count_members::execute(const request&, bcast_context&) {
  self->executed();
  return {1};
}

task<result<work_for_long::reply>> work_for_long::execute(const request&, bcast_context& c) {
  self->working();
  (co_await sleep_for(seconds(60), c.stop())).ignore();
  self->stopped();
  co_return reply{1};
}

}  // namespace

void play(member& me, const setting& s) {
  // The objects are not destroyed: the process ends without an orderly shutdown.
  (new process(me, s))->run();
}

}  // namespace bench::revoke
