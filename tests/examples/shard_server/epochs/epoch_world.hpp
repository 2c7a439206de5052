#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "epoch_history.hpp"
#include "examples/shard_server/epochs/epoch_coordinator.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/scope.hpp"
#include "transport/sim/sim_disk.hpp"
#include "transport/sim/sim_file_system.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace shard_tests {

/// A deliberate bug, to show that the checks find it.
enum class epoch_bug {
  none,
  not_synced,        ///< a vote is answered before it is on the disk
  minority,          ///< one server is enough for a quorum
  votes_are_lost,    ///< a coordinator does not hear for what others have voted
  promises_ignored,  ///< a server votes in an attempt although it has promised a later one
};

/// When a server loses its power.
struct epoch_crash {
  std::uint32_t server = 0;
  std::uint64_t operation = 0;  ///< during this operation of its disk, if not 0
  std::uint64_t message = 0;    ///< when this message of the cluster arrives or leaves, if not 0
  std::uint32_t life = 1;       ///< the life of the server to whose disk `operation` belongs
  friend auto operator<=>(const epoch_crash&, const epoch_crash&) = default;
};

/// Servers that decide epochs, each with a disk of its own, in virtual time: the parts of the shard server
/// with messages that take a random time. Whatever a server keeps, and every answer to a client, goes into
/// the history. Equal arguments give equal runs.
class epoch_world {
 public:
  explicit epoch_world(std::uint32_t servers, std::uint64_t seed, epoch_bug bug = epoch_bug::none);
  ~epoch_world();
  epoch_world(const epoch_world&) = delete;
  epoch_world& operator=(const epoch_world&) = delete;

  void plan(const epoch_crash& crash);
  /// The planned crashes that have happened.
  const std::set<epoch_crash>& happened() const noexcept { return happened_; }
  /// Starts a server that does not run: its next life.
  void start(std::uint32_t server);
  void start_all();
  void power_off(std::uint32_t server);
  bool runs(std::uint32_t server) const;
  /// No message passes to a server and from it, and the others hold it dead. It runs, and does not notice.
  void cut_off(std::uint32_t server);
  void bring_back(std::uint32_t server);
  /// The disk of a server that runs refuses to write until the server is started anew, or the disk heals.
  void refuse_writes(std::uint32_t server);
  void heal(std::uint32_t server);
  /// From now on some messages are lost, and some come late.
  void disturb() noexcept { disturbed_ = true; }
  /// A client asks a server for one epoch after the other, until there is no answer.
  void commit(std::uint32_t server, std::vector<std::string> notes);
  void run_for(scoll::nanoseconds d) { time_.run_for(d); }
  /// Ends all disturbances, starts all, gives them time, and checks where they stand.
  void end();

  epoch_history& history() noexcept { return history_; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(disks_.size()); }
  std::uint64_t messages() const noexcept { return messages_; }
  /// The operations of the disk in the present life of a server.
  std::uint64_t operations(std::uint32_t server) const;
  /// The state of a server that runs.
  const shard::epoch_state& state(std::uint32_t server) const;
  scoll::random_generator& random() noexcept { return random_; }

 private:
  class life;
  class watched_store;
  struct ballot_box;

  scoll::task<void> live(life& mine);
  scoll::task<void> ask_for(life& at, std::vector<std::string> notes);
  scoll::task<void> carry(life& from, std::uint32_t to, shard::epoch_request request,
                          std::shared_ptr<ballot_box> box);
  scoll::nanoseconds travel_time();
  bool sees(std::uint32_t server, std::uint32_t other) const;
  bool passes(std::uint32_t from, std::uint32_t to);
  void count_message();
  void notice_crashes();
  void note_crash(const life& of);
  void give_news_to_others(const life* but);
  std::unique_ptr<shard::epoch_store> store_of(life& mine);

  scoll::testing::virtual_executor time_;
  scoll::random_generator random_;
  epoch_bug bug_;
  epoch_history history_;
  std::vector<std::unique_ptr<scoll::testing::sim_disk>> disks_;
  std::vector<epoch_crash> crashes_;
  std::set<epoch_crash> happened_;
  std::vector<std::unique_ptr<life>> lives_;  // all of them: messages of earlier ones may be on their way
  std::vector<life*> present_;                // by server
  std::vector<std::uint32_t> starts_;         // by server
  std::vector<bool> cut_off_;                 // by server
  bool disturbed_ = false;
  std::uint64_t messages_ = 0;
  scoll::scope work_;
};

}  // namespace shard_tests
