#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/collective/options.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/spec.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/plan/fault_events.hpp"

namespace scoll::sim {

/// The misfortune that befalls one member of a broadcast.
enum class member_end : std::uint8_t {
  loud,     ///< it is killed, its connections are reset, and soon everybody hears of its death
  silent,   ///< it is killed, and nobody is told
  reboot,   ///< it is killed loudly, and its next life begins at once
  doubted,  ///< it lives, is called dead all the same, and soon alive again
};

std::string_view to_string(member_end what);
/// The name that options have for it.
std::string_view name_of(failure_policy policy);

/// A misfortune, and the rank that it befalls.
struct blow {
  member_end what = member_end::loud;
  std::uint32_t victim = 0;
  std::optional<std::uint32_t> hearer{};  ///< the only rank that calls it dead; none: all others do
};

/// The group of a broadcast, and what its root knows of the lives of its members.
enum class kill_group : std::uint8_t {
  created,     ///< at once, so that a new life of a member does not hold it
  adopted,     ///< out of band, so that new lives hold it, too; the root knows the first ones
  unheard_of,  ///< likewise, and the root knows no life that it is not connected to
  delayed,     ///< new lives hear of it by a broadcast; the root knows the first ones
};

/// The broadcast of a run.
struct kill_subject {
  tree_spec tree;
  std::uint32_t members = 2;
  failure_policy policy = degrade;
  kill_group group = kill_group::created;
};

std::string to_string(const kill_subject& subject);

/// One run of nodes in virtual time, in which rank 0, on host 0, broadcasts once. Services count their executions,
/// and by that count the state of every member must be exact.
class kill_trial {
 public:
  explicit kill_trial(const kill_subject& subject);
  kill_trial(const kill_trial&) = delete;
  kill_trial& operator=(const kill_trial&) = delete;

  /// Runs so many steps, or until the await has ended; without a root, until no member works. A step is a delivery,
  /// a timer or a turn of a coroutine on any node. Returns the number of steps.
  std::uint32_t run(std::uint32_t steps);
  void strike(const blow& b);
  /// Runs to the end. Returns the first thing that is wrong; empty if nothing is.
  std::string finish();

 private:
  /// What liveness will tell at some time.
  struct word {
    nanoseconds at{0};
    news what = news::dead;
    blow about;
  };

  template <class Event>
  void carry_out(const Event& e) {
    cluster_->carry_out({now(), e});
  }
  nanoseconds now() const { return cluster_->world().now(); }
  void run_for(nanoseconds d);
  void tell(news what, const blow& about);
  void tell_due();
  const broadcast_record& told() const;
  bool root_died() const;
  bool over() const { return root_died() || told().done; }
  bool is_at_rest() const;
  void make_group();
  bool finds_others() const;

  bool is_below(std::uint32_t member, std::uint32_t ancestor) const;
  bool stops() const;
  bool harms(const blow& b, std::uint32_t rank) const;
  bool cuts_off(const blow& b, std::uint32_t rank) const;
  bool is_safe(std::uint32_t rank) const;
  bool gave_up(std::uint32_t rank) const;
  bool is_right(std::uint32_t rank, member_state state, std::uint32_t begun) const;
  std::string fault_of_outcome() const;
  std::string fault_at_the_end();

  kill_subject subject_;
  any_tree tree_;
  std::unique_ptr<cluster> cluster_;
  std::vector<blow> blows_;
  std::deque<word> words_;  // in the order of their times
};

}  // namespace scoll::sim
