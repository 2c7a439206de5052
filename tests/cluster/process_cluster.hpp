#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "scoll/bulk/plan.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/tree/spec.hpp"
#include "tests/cluster/depot.hpp"
#include "tests/cluster/kills/tally_board.hpp"

namespace scoll::test {

inline constexpr std::size_t most_processes = 64;

/// The action of a member when the request arrives.
enum class deed : std::uint8_t {
  answer,        ///< answers at once
  dwell,         ///< reports that it executes, then sleeps `milliseconds` before it answers
  hang,          ///< `victim` never answers: suspended for good
  spin_on_pool,  ///< `victim` loops on the worker pool and ignores everything else
  throw_up,      ///< `victim` throws
  long_reply,    ///< the answer of `victim` exceeds the limit
};

/// An order to one process, sent over its socket as raw bytes.
struct order {
  enum class kind : std::uint8_t {
    broadcast,
    spread,        ///< broadcasts an object of `object_bytes`
    make_groups,   ///< creates `groups` groups of the members
    end_groups,    ///< destroys all of these, at one time
    count,         ///< reports what the node holds
    await_places,  ///< reports how many places it has given for objects, when all of them are back
    call,          ///< calls process `victim`, without a deadline
    pull,          ///< reads memory of process `victim`, likewise
    storm,         ///< broadcasts without a pause until somebody is lost, as `process_cluster::board` says
    quit,
  } what = kind::broadcast;
  deed action = deed::answer;
  std::uint32_t victim = UINT32_MAX;
  std::uint32_t milliseconds = 0;
  std::uint32_t deadline_ms = 0;    ///< 0: no deadline
  std::uint32_t request_bytes = 0;  ///< besides the fixed part
  std::uint32_t groups = 0;
  bool lasting = false;       ///< the groups do not end with their creator
  std::uint32_t members = 0;  ///< number of group members, which are `member_ids`
  std::array<std::uint64_t, most_processes> member_ids{};
  tree_spec tree{};
  mishap what_happens = mishap::none;  ///< to `victim`, when it has the piece `piece`
  std::uint32_t piece = 0;
  std::uint64_t object_bytes = 0;
  bulk_plan plan = bulk_plan::chain();
};

/// A message from a process, sent as raw bytes.
struct report {
  enum class kind : std::uint8_t { ready, executing, stopping, result, left } what = kind::ready;
  bool ok = false;
  bool has_value = false;
  errc code = errc::ok;
  std::uint32_t members = 0;
  std::uint32_t value = 0;
  std::uint32_t files_left_open = 0;
  std::int32_t hooks_named = 0;
  std::uint32_t groups = 0;         ///< that the node holds
  std::uint32_t groups_ending = 0;  ///< that have ended, and of which members have not been told
  std::uint64_t heap_bytes = 0;     ///< that the process uses
  std::array<member_state, most_processes> states{};
  std::array<phase, most_processes> phases{};
  std::array<errc, most_processes> causes{};
  char address[64] = {};
  char text[512] = {};
};

/// N real processes, each with one node and a reactor of its own, that communicate over TCP on loopback. Each
/// has a socket pair, over which it gets orders and sends reports. At the end every process that still runs
/// is killed and reaped.
class process_cluster {
 public:
  /// With `patience`, a process can be started again, and that is how long the others wait for a peer that
  /// cannot be reached.
  explicit process_cluster(std::uint32_t size, nanoseconds patience = nanoseconds(0));
  ~process_cluster();
  process_cluster(const process_cluster&) = delete;
  process_cluster& operator=(const process_cluster&) = delete;

  std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }
  bool running(std::uint32_t i) const { return members_[i].pid > 0; }
  /// What all processes write into, and a killed one has written.
  tally_board& board() { return board_.get(); }

  /// An order that is for all processes.
  order for_all(order::kind what) const;
  /// A broadcast over all processes, or over those that run.
  order broadcast_to_all(tree_spec tree, deed action = deed::answer) const;
  order broadcast_to_running(tree_spec tree) const;

  void send(std::uint32_t i, const order& o);
  /// Returns the next report of that kind from a process and drops the reports before it. Throws after 30 s.
  report next(std::uint32_t i, report::kind kind);
  report ask(std::uint32_t i, const order& o) {
    send(i, o);
    return next(i, report::kind::result);
  }

  void signal(std::uint32_t i, int number);
  /// Sends SIGKILL and waits for the end.
  void kill(std::uint32_t i);
  /// Starts a process that was killed, at the same address, and waits until it is ready.
  void restart(std::uint32_t i);
  /// Ends a process in order: checks that it left no file open and exited with 0.
  void quit(std::uint32_t i);
  void quit_all();

 private:
  struct member {
    pid_t pid = 0;
    int socket = -1;
  };

  void start(std::uint32_t i);
  void introduce(std::uint32_t i);
  int reap(std::uint32_t i);

  shared_board board_;
  std::vector<member> members_;
  std::vector<std::string> addresses_;
  nanoseconds patience_;
};

}  // namespace scoll::test
