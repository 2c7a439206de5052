#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string_view>
#include <vector>

#include "scoll/coro/scope.hpp"
#include "tests/rails/peer_node.hpp"

namespace scoll::rail_test {

/// How a call or a pull ended.
struct work_over {
  std::string_view what;  ///< "call" or "pull"
  transport::node_id peer;
  std::uint64_t number;
  nanoseconds took;
  status outcome;
};

/// The calls and pulls of a node, and how long they took. Thread: its reactor's.
class peer_load {
 public:
  /// `begun` hears of each single pull, when its memory is there.
  using on_begun = std::function<void(std::string_view what, transport::node_id peer)>;
  /// `over` hears of each call and pull that fails, of each single one, and of each call that took `slow` or
  /// longer.
  using on_over = std::function<void(const work_over&)>;
  static constexpr nanoseconds slow = std::chrono::milliseconds(100);
  static constexpr std::size_t call_bytes = 64;

  peer_load(executor& ex, peer_node& node, on_begun begun, on_over over);

  /// Calls one after the other, with a pause between two, until `end`.
  void keep_calling(transport::node_id to, nanoseconds pause);
  /// Pulls the whole region one time after the other, until `end`. Each time it checks all bytes, gives the
  /// memory back, which fills it with another pattern, and finds this pattern unchanged before the next pull.
  void keep_pulling(transport::node_id from, nanoseconds pause);
  /// Makes one call, without a deadline.
  void call_once(transport::node_id to);
  /// Pulls the whole region once, without a deadline, and gives the memory back.
  void pull_once(transport::node_id from);
  /// Pushes a whole region's worth of bytes once, without a deadline: those that the region has anyway.
  void push_once(transport::node_id to);
  /// Makes calls one after the other, with a pause between two, and tells how long each took. One that fails
  /// is not among them, but among the failures.
  task<std::vector<nanoseconds>> time_calls(transport::node_id to, std::size_t count, nanoseconds pause);
  /// Waits until all that runs has ended.
  task<void> end();
  /// Counts the bytes of memory that was given back and has changed since.
  task<std::uint64_t> changed_bytes();

  /// Begins a new period for `longest_call` and `longest_lateness`.
  void mark() noexcept;
  /// The longest wait for a call in this period, including those that still wait.
  nanoseconds longest_call() const noexcept;
  /// How late this process itself was at most: a bound on what the machine adds to a wait.
  nanoseconds longest_lateness() const noexcept { return longest_lateness_; }
  nanoseconds longest_pull() const noexcept { return longest_pull_; }
  std::uint64_t calls() const noexcept { return calls_; }
  std::uint64_t pulls() const noexcept { return pulls_; }
  std::uint64_t failures() const noexcept { return failures_; }
  /// Answers and pulled bytes that are not what they should be.
  std::uint64_t damaged() const noexcept { return damaged_; }
  /// Watches the lateness of this process until `end`.
  void watch_lateness();

 private:
  struct place {
    std::vector<std::byte> memory;
    std::byte pattern{0};
    bool given_back = false;
  };

  task<void> call_loop(transport::node_id to, nanoseconds pause);
  task<void> pull_loop(transport::node_id from, nanoseconds pause);
  task<void> lateness_loop();
  task<void> single_call(transport::node_id to);
  task<void> single_pull(transport::node_id from);
  task<void> single_push(transport::node_id to);
  task<status> call(transport::node_id to, bool single);
  task<status> pull_into(place& into, transport::node_id from, bool single);
  task<result<transport::region_descriptor>> region_of(transport::node_id peer);
  task<void> check(std::span<const std::byte> got, transport::node_id from);
  task<void> give_back(place& of);
  void finish(const work_over& ended, bool single);
  time_point now() const noexcept { return executor_.now(); }

  executor& executor_;
  peer_node& node_;
  on_begun begun_;
  on_over over_;
  scope scope_;
  std::uint64_t numbers_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t pulls_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t damaged_ = 0;
  std::list<time_point> waiting_;  // when the calls began that have no answer yet
  std::list<place> places_;        // of single pulls
  std::uint64_t changed_bytes_ = 0;
  std::byte next_pattern_{1};
  nanoseconds longest_call_{0};
  nanoseconds longest_pull_{0};
  nanoseconds longest_lateness_{0};
};

}  // namespace scoll::rail_test
