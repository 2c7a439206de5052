#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "errands.hpp"
#include "plan.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/node.hpp"
#include "service.hpp"
#include "transport/sim/sim_disk.hpp"
#include "transport/sim/sim_file_system.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

/// The segment size, in bytes, of a transfer that does not choose its own.
constexpr std::uint32_t sim_segment_bytes = 12'000;

/// A request that must be refused, as the exchange that waits for its reply.
struct stray_request final : transport::exchange {
  stray_request() noexcept : exchange([](transport::exchange&, transport::reply_event&) noexcept {}) {}
};

/// One life of a host, from its boot to its crash or to the end of the run.
struct life {
  life(testing::sim_world& world, testing::sim_network& network, testing::sim_disk& disk, std::uint32_t index,
       testing::sim_clock clock)
      : host(index), home(world, index, clock), rail(network, home), work(home) {
    files.emplace(home, disk);
  }

  ~life() { static_cast<void>(work.join().await_ready()); }  // nothing runs any more at this point

  std::uint32_t host;
  std::uint64_t incarnation = 0;  ///< once it has started
  testing::sim_executor home;
  testing::sim_rail rail;
  std::optional<testing::sim_file_system> files;
  std::deque<stray_request> strays;
  std::unique_ptr<node> member;  ///< once it has started
  static constexpr std::size_t places_at_most = 3;
  call_limit places{places_at_most};  ///< limits some of its calls
  scope work;                         ///< the start, and the creations and broadcasts that began here
  std::optional<status> ended;
  bool crashed = false;
  std::vector<std::uint64_t> heard;  ///< the latest life of each host that this life has heard of
};

struct group_record {
  std::uint64_t number = 0;
  std::vector<std::uint32_t> members;  ///< hosts, by rank
  tree_spec tree;
  bool hooked = false;
  std::optional<group_id> id;            ///< once it has been created
  error failure;                         ///< why it could not be created
  bool ending = false;                   ///< its end has been requested
  std::vector<const life*> ended_by;     ///< those that have requested it
  std::optional<nanoseconds> destroyed;  ///< when it was gone from all members
};

/// The executions of one member, over all lives of its host.
struct member_record {
  std::uint32_t begun = 0;
  std::uint32_t contributed = 0;
  nanoseconds last_begun{0};  ///< in the world's time
  nanoseconds last_left{0};
};

struct broadcast_record {
  std::uint64_t number = 0;
  const group_record* group = nullptr;
  const life* root = nullptr;
  std::uint32_t root_rank = 0;
  std::vector<std::uint32_t> addressed;  ///< the ranks that it addresses
  std::uint32_t root_place = 0;          ///< of the root among them
  nanoseconds began{0};                  ///< in the world's time
  nanoseconds ended{0};
  nanoseconds took{0};  ///< by the root's clock
  nanoseconds bound{0};
  nanoseconds cancelled_at{0};
  bool stray = false;  ///< no member may execute it
  bool cancelled = false;
  bool done = false;
  bool ended_by_crash = false;
  std::vector<member_record> members;
  job request;
  bcast_options options;
  std::uint64_t counter = 0;  ///< the counter of its operation
  stop_source stop;
  // The result:
  status outcome_status;
  std::optional<tally> value;
  outcome account;
};

/// A fault of the network or of a host that lasts for a time.
struct fault_record {
  event_kind kind;
  std::uint64_t hosts;  ///< any path through one of these may suffer from it
  nanoseconds from;
  nanoseconds until;
};

/// A whole cluster in a simulated world. It carries out the events of a plan and records the results.
class cluster final : private ledger {
 public:
  explicit cluster(const plan& p);
  ~cluster();
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;

  testing::sim_world& world() noexcept { return world_; }
  std::uint32_t hosts() const noexcept { return world_.hosts(); }
  /// Null while the host is down or starting.
  life* alive(std::uint32_t host) noexcept { return lives_[host]; }

  void carry_out(const plan_event& event);
  /// Ends all lasting faults. Hosts that are down stay down. If liveness took part in the run, every node
  /// first hears the truth and then old news.
  void heal();
  bool has_liveness() const noexcept { return has_liveness_; }
  /// The time at which the last stall will be over.
  nanoseconds stalled_until() const noexcept { return stalled_until_; }

  /// Makes every live host try to create a flat group of all live hosts, whether or not that succeeds: the
  /// first node that contacts a peer notices if that peer has rebooted unobserved.
  void begin_knocking();
  /// Makes every live host create a group of all live hosts and broadcast to it.
  void begin_roll_call();
  /// Makes one member of each remaining group destroy that group.
  void begin_farewell();
  /// Runs crashed lives to their end in isolation.
  void bury_the_dead();
  /// Asks every live node to shut down.
  void begin_shutdown();

  const std::map<std::uint64_t, group_record>& groups() const noexcept { return groups_; }
  const std::map<std::uint64_t, broadcast_record>& broadcasts() const noexcept { return broadcasts_; }
  const errands& calls() const noexcept { return errands_; }
  const std::vector<fault_record>& faults() const noexcept { return faults_; }
  const std::deque<life>& all_lives() const noexcept { return all_lives_; }
  std::deque<life>& all_lives() noexcept { return all_lives_; }
  /// Lives that could not be run to their end.
  std::uint32_t undead() const noexcept { return undead_; }
  std::uint64_t bytes_carried() const noexcept { return network_.bytes_carried(); }
  const testing::sim_network& network() const noexcept { return network_; }
  const testing::sim_clock& clock(std::uint32_t host) const noexcept { return clocks_[host]; }
  /// Executions whose request differs from the one that was sent.
  std::uint32_t garbled_requests() const noexcept { return garbled_; }

  static constexpr std::uint64_t first_stray = 800'000;  ///< numbers of requests that must be refused
  static constexpr std::uint64_t first_knock = 900'000;  ///< numbers of the groups made by each
  static constexpr std::uint64_t first_roll_call = 1'000'000;

 private:
  struct prepared_hooks {
    std::uint64_t refusing = 0, failing = 0, throwing = 0, oversized = 0;
  };

  void began(std::uint64_t broadcast, std::uint32_t rank) override;
  void contributed(std::uint64_t broadcast, std::uint32_t rank) override;
  void left(std::uint64_t broadcast, std::uint32_t rank) noexcept override;
  void garbled(std::uint64_t broadcast) override;

  static std::size_t chunk_bytes(const plan& p);
  void set_wires(const plan_event& e);
  void boot(std::uint32_t host);
  task<void> start(life& l, std::uint64_t power_fails_at);
  void start_node(life& l, const node_options& options);
  void crash(std::uint32_t host, testing::sim_crash how);
  void note_fault(const plan_event& e);
  void tell(std::uint32_t who, std::uint32_t about, news what);
  void address(broadcast_record& b, std::uint64_t hosts);
  void begin_group(const plan_event& e);
  void begin_broadcast(const plan_event& e);
  void begin_destruction(const plan_event& e);
  task<void> destroy(life& l, group_record& g);
  task<void> say_farewell(life& l, std::vector<group_record*> groups);
  void storm(std::uint32_t host);
  void send_stray(const plan_event& e);
  void repeat(broadcast_record& b, std::uint64_t choice);
  void intrude(broadcast_record& b, std::uint32_t host);
  static void send_as(life& sender, const broadcast_record& b, std::uint32_t to, job request);
  void harm_path(const plan_event& e);
  void partition(std::uint64_t side, nanoseconds until);
  void block(std::uint32_t from, std::uint32_t to, nanoseconds until);

  group_record& group_of_the_living(std::uint64_t number, const tree_spec& tree);
  task<void> create(life& creator, group_record& g);
  template <class S>
  task<void> run_broadcast(life& root, group_record& g, broadcast_record& b, job request,
                           bcast_options options);
  template <class S>
  task<void> call_roll(life& root, group_record& g, broadcast_record& b);
  template <class S>
  void spawn_broadcast(life& root, group_record& g, broadcast_record& b, const job& request,
                       bcast_options options);
  broadcast_record& record_broadcast(std::uint64_t number, const group_record& g, life& root);
  void finish(life& root, broadcast_record& b, bcast_result<tally>& r, time_point local_start);
  static task<void> shut_down(life& l);

  testing::sim_world world_;
  testing::sim_network network_;
  std::vector<testing::sim_clock> clocks_;
  std::vector<std::unique_ptr<testing::sim_disk>> disks_;
  std::deque<life> all_lives_;
  std::vector<life*> lives_;
  std::map<std::uint64_t, group_record> groups_;
  std::map<std::uint64_t, broadcast_record> broadcasts_;
  std::map<std::uint64_t, prepared_hooks> hooks_;
  std::map<std::uint64_t, std::uint64_t> subsets_;  // hosts, by broadcast
  std::vector<std::uint64_t> fallen_;               // the latest crashed life of each host; 0: none
  bool has_liveness_ = false;
  errands errands_{*this};
  std::vector<fault_record> faults_;
  nanoseconds stalled_until_{0};
  std::uint32_t undead_ = 0;
  std::uint32_t garbled_ = 0;
  std::uint64_t next_stray_ = first_stray;
  bool burying_ = false;
};

}  // namespace scoll::sim
