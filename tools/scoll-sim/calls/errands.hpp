#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "scoll/coro/stop.hpp"
#include "scoll/ship/ship.hpp"
#include "tools/scoll-sim/calls/errand.hpp"
#include "tools/scoll-sim/calls/errand_bulk.hpp"
#include "tools/scoll-sim/plan/events.hpp"

namespace scoll::sim {

class cluster;
struct life;

/// A shipped call, its result, and the actions of its handler.
struct errand_record {
  std::uint64_t number = 0;
  std::uint64_t behaviour = 0;
  const life* from = nullptr;
  std::uint32_t to = 0;            ///< the host that is called
  const life* executor = nullptr;  ///< the life that executed it last
  std::uint32_t begun = 0;         ///< number of executions, over all lives
  nanoseconds deadline{0};         ///< 0: none
  bool moves_bulk = false;         ///< it carries a descriptor, or its argument or result is large
  // Times in the world's time:
  nanoseconds began{0};
  nanoseconds ended{0};
  nanoseconds cancelled_at{0};
  nanoseconds last_begun{0};  ///< the latest begin of its handler
  nanoseconds last_left{0};   ///< the latest end of its handler, however it ended
  nanoseconds took{0};        ///< by the caller's clock
  nanoseconds most_left{0};   ///< the longest time that its handler was given
  bool cancelled = false;
  bool done = false;
  bool ended_by_crash = false;
  bool garbled = false;  ///< the argument or the result differs from what was sent
  stop_source stop;
  std::uint64_t within = 0;  ///< the number of the group that it is made through, if there is one
  std::shared_ptr<detail::any_group> through;  ///< until the call has ended
  bool through_group = false;
  // The result:
  error failure;
  bool may_have_executed = false;
};

/// The calls that the hosts of a cluster ship to each other.
class errands {
 public:
  static constexpr std::uint64_t first_haul = 100'000;
  static constexpr std::uint64_t first_relayed = 500'000;
  static constexpr std::uint64_t first_roll_call = 1'000'000;

  explicit errands(cluster& of) noexcept : cluster_(of) {}

  /// Registers the handlers on a life that is starting.
  void serve(life& l);
  void begin(const events::call& e);
  void begin(const events::haul& e);
  void say(const events::within& e) { within_[e.call] = e.group; }
  void cancel(std::uint64_t number);
  /// Makes every live host call every other one, if the run had any calls.
  void begin_roll_call();
  /// From here on, events are no longer part of the run.
  void stop_recording() noexcept { recording_ = false; }

  const std::map<std::uint64_t, errand_record>& records() const noexcept { return records_; }
  /// The calls that carry descriptors, by the number of their first call.
  const std::map<std::uint64_t, haul_record>& hauls() const noexcept { return hauls_; }

 private:
  class execution;

  errand_record* record(std::uint64_t number, std::uint64_t behaviour, life& from, std::uint32_t to);
  life* two_ends(std::uint32_t from, std::uint32_t to);
  task<void> run(life& from, errand_record& r, errand what, ship_options options);
  task<result<parcel>> handle(life& at, const errand& what, call_context& call);
  void finish(life& from, errand_record& r, time_point local_start, const error& failure, bool may);

  // errand_bulk.cpp
  task<void> run(life& from, errand_record& r, haul_record& h, haul what, ship_options options);
  task<void> withdraw(haul_record& h);
  task<void> withdraw_later(haul_record& h);
  task<registered_memory> register_all(node& by, lent_bytes& memory, bool wanted);
  task<result<receipt>> handle(life& at, const haul& what, call_context& call);
  task<result<receipt>> ship_on(life& at, const haul& what, std::uint32_t next, ship_options options);
  status prepare(node& by, haul_record& h, region_descriptor& into);
  task<void> transfer(life& at, haul_record& h, transfer_record& t, region_descriptor from, stop_token stop);
  void note_hardware(const haul_record& h, const transfer_record& t);
  void finish(haul_record& h, transfer_record& t, time_point local_start, const push_status& outcome);

  cluster& cluster_;
  std::map<std::uint64_t, errand_record> records_;
  std::map<std::uint64_t, haul_record> hauls_;
  std::map<std::uint64_t, std::uint64_t> within_;  // groups, by call
  bool recording_ = true;
};

}  // namespace scoll::sim
