#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/scoll-sim/calls/errands.hpp"
#include "tools/scoll-sim/cluster/agreements.hpp"
#include "tools/scoll-sim/cluster/broadcast_terms.hpp"
#include "tools/scoll-sim/cluster/client_hosts.hpp"
#include "tools/scoll-sim/cluster/freights.hpp"
#include "tools/scoll-sim/cluster/life.hpp"
#include "tools/scoll-sim/cluster/node_limits.hpp"
#include "tools/scoll-sim/cluster/records.hpp"
#include "tools/scoll-sim/coverage.hpp"
#include "tools/scoll-sim/guards/guarding.hpp"
#include "tools/scoll-sim/plan/plan.hpp"

namespace scoll::sim {

/// The time that a creation has.
constexpr nanoseconds creation_deadline = std::chrono::seconds(2);

/// A whole cluster in a simulated world. It carries out the events of a plan and records the results.
class cluster final : private ledger {
 public:
  explicit cluster(const plan& p);
  ~cluster();
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;

  testing::sim_world& world() noexcept { return world_; }
  std::uint32_t hosts() const noexcept { return static_cast<std::uint32_t>(lives_.size()); }
  /// Null while the host is down or starting.
  life* alive(std::uint32_t host) noexcept { return lives_[host]; }
  const life* alive(std::uint32_t host) const noexcept { return lives_[host]; }

  void carry_out(const plan_event& e);
  /// Marks what shows only at the end of a run.
  void note_end();
  /// Ends all lasting faults. Hosts that are down stay down. If verdicts were invented in the run, every node
  /// first hears the truth and then old news.
  void heal();
  bool has_liveness() const noexcept { return has_liveness_; }  ///< they hear of deaths, invented or true
  /// True if the nodes know by now which lives are over. With a gossip, who hears nobody judges nobody.
  bool deaths_are_known() const noexcept;
  bool has_gossip() const noexcept { return datagrams_ != nullptr; }
  /// True if nothing has failed but one of several rails at a time.
  bool only_rails_failed() const noexcept;
  nanoseconds stalled_until() const noexcept { return stalled_until_; }  ///< when the last stall will be over

  /// Lets the nodes ask about their groups, or keeps them from it.
  void let_nodes_ask(bool asking);
  /// Makes every live host try to create a flat group of all live hosts, whether or not that succeeds: the
  /// first node that contacts a peer notices if that peer has rebooted unobserved.
  void begin_knocking();
  /// Makes every live host create a group of all live hosts and broadcast to it.
  void begin_roll_call();
  /// Makes one member of each remaining group that was created destroy that group.
  void begin_farewell();
  /// Runs crashed lives to their end in isolation.
  void bury_the_dead();
  /// Asks every live node to shut down.
  void begin_shutdown();

  const std::map<std::uint64_t, group_record>& groups() const noexcept { return groups_; }
  /// The group as that life holds it; null if it does not.
  std::unique_ptr<detail::any_group> held_by(life& l, std::uint64_t group) const;
  const std::map<std::uint64_t, broadcast_record>& broadcasts() const noexcept { return broadcasts_; }
  const errands& calls() const noexcept { return errands_; }
  const agreements& agreed() const noexcept { return agreements_; }
  const freights& carried() const noexcept { return freights_; }
  freights& carried() noexcept { return freights_; }
  /// Records the shrunk groups that members hold although nobody was given them. Returns true if there are any.
  bool find_shrunk_groups() { return agreements_.find_groups(); }
  const std::optional<guarding>& guards() const noexcept { return guards_; }
  const std::vector<fault_record>& faults() const noexcept { return faults_; }
  const std::deque<life>& all_lives() const noexcept { return all_lives_; }
  std::deque<life>& all_lives() noexcept { return all_lives_; }
  std::uint32_t undead() const noexcept { return undead_; }  ///< lives that could not be run to their end
  std::uint64_t bytes_carried() const noexcept;
  const testing::sim_network& network_of_bulk() const noexcept {
    return bulk_network_ != nullptr ? *bulk_network_ : network_;
  }
  /// Executions whose request differs from the one that was sent.
  std::uint32_t garbled_requests() const noexcept { return garbled_; }
  /// Calls of a `members` hook while another one for the same group ran on the same node.
  std::uint32_t repeated_namings() const noexcept { return repeated_namings_; }
  const std::vector<told_group>& told_groups() const noexcept { return told_; }
  /// True if somebody believed, rightly or not, that the host is dead.
  bool was_accused(std::uint32_t host) const;
  /// True if that was this other host.
  bool has_accused(std::uint32_t hearer, std::uint32_t host) const;
  networks ways() noexcept { return {network_, bulk_network_.get(), datagrams_.get(), rails_}; }
  /// Groups in use that a member had lost.
  const std::vector<std::string>& lost_groups() const noexcept { return lost_groups_; }
  /// Broadcasts that a member executed although their root did not take part in the gossip yet.
  std::uint32_t early_broadcasts() const noexcept { return early_; }
  std::uint32_t rash_verdicts() const noexcept { return rash_; }
  /// Deaths of living hosts that the gossip told in a run without faults.
  std::uint32_t slanders() const noexcept { return slanders_; }
  coverage& seen() noexcept { return seen_; }
  const coverage& seen() const noexcept { return seen_; }
  bool serves_old_version(std::uint32_t host) const noexcept { return old_servers_.contains(host); }
  const client_hosts& guests() const noexcept { return guests_; }
  /// True if a broadcast that is under way has both hosts among its members, one of them as root.
  bool broadcast_between(std::uint32_t a, std::uint32_t b) const;
  /// True if the transport of bulk data between two hosts is lost at present.
  bool bulk_is_out(std::uint32_t a, std::uint32_t b) const;

  static constexpr std::uint64_t first_stray = 800'000;  ///< numbers of requests that must be refused
  static constexpr std::uint64_t first_knock = 900'000;  ///< numbers of the groups made by each
  static constexpr std::uint64_t first_roll_call = 1'000'000;

 private:
  class witness;
  friend class agreements;

  void began(std::uint64_t broadcast, const bcast_context& c) override;
  void contributed(std::uint64_t broadcast, std::uint32_t rank) override;
  void left(std::uint64_t broadcast, std::uint32_t rank) noexcept override;
  void garbled(std::uint64_t broadcast) override;
  void hook_ran(bool plain) noexcept override;
  freights& loads() noexcept override { return freights_; }
  nanoseconds work_of(std::uint64_t broadcast, std::uint32_t rank, nanoseconds usual) const override;
  events::reading stream_of(std::uint64_t broadcast) const override;
  void has_put(std::uint64_t broadcast, bool waited) override;
  naming asked_for_members(std::uint64_t life_number, std::uint64_t group) override;
  void named_members(std::uint64_t life_number, std::uint64_t group) noexcept override;

  // cluster.cpp: the world, and the lives of its hosts
  void build(const plan& p);
  void set_up(const events::wires& e);
  void boot(std::uint32_t host);
  task<void> start(life& l, std::uint64_t power_fails_at);
  void start_node(life& l, const node_options& options);
  void take_part(life& l);
  bool has_earlier_one(const broadcast_record& last) const;
  void note_view(const broadcast_record& b, member_record& m);
  void crash(std::uint32_t host, testing::sim_crash how);
  static task<void> shut_down(life& l);
  life* living(std::uint64_t host) noexcept { return host < hosts() ? lives_[host] : nullptr; }

  // events.cpp: what each event does
  template <class Event>
  void on(const Event&) {}  // known from the beginning
  void on(const events::group& e);
  void on(const events::adopt& e);
  void on(const events::bcast& e);
  void on(const events::remote_bcast& e);
  void on(const events::manner& e) { terms_.manners[e.broadcast] = e; }
  void on(const events::hooks& e) { terms_.failing[e.broadcast] = e; }
  void on(const events::freight& e);
  void on(const events::last& e) { terms_.lasts.insert(e.broadcast); }
  void on(const events::subset& e) { terms_.subsets[e.broadcast] = e.hosts; }
  void on(const events::policy& e) { terms_.policies[e.broadcast] = e; }
  void on(const events::reading& e) { terms_.readings[e.broadcast] = e; }
  void on(const events::cancel& e);
  void on(const events::destroy& e);
  void on(const events::revoke& e);
  void on(const events::within& e) { errands_.say(e); }
  void on(const events::stray& e);
  void on(const events::call& e) { errands_.begin(e); }
  void on(const events::haul& e) { errands_.begin(e); }
  void on(const events::call_stop& e) { errands_.cancel(e.number); }
  void on(const events::agree& e) { agreements_.begin(e); }
  void on(const events::shrink& e) { agreements_.begin(e); }
  void on(const events::boot& e) { boot(e.host); }
  void on(const events::settle& e);
  void on(const events::mapped& e);
  void on(const events::rekey& e);
  void on(const events::outsider& e);

  // faults.cpp
  void on(const events::cut& e);
  void on(const events::half_open& e);
  void on(const events::lose_all& e);
  void on(const events::block& e);
  void on(const events::partition& e);
  void on(const events::slow& e);
  void on(const events::narrow& e);
  void on(const events::corrupt& e);
  void on(const events::forge& e);
  void on(const events::refuse& e);
  void on(const events::stall& e);
  void on(const events::crash& e);
  void on(const events::cut_after& e);
  void on(const events::storm& e);
  void on(const events::bulk_outage& e);
  void on(const events::bulk_narrow& e);
  void on(const events::repeat_connects& e);
  void on(const events::rail_down& e);
  void on(const events::lossy& e);
  void on(const events::verdict& e);
  bool are_two(std::uint64_t from, std::uint64_t to) const noexcept;
  template <class Use>
  void each_network(Use&& use);
  template <class Use>
  void each_path(std::uint32_t from, std::uint32_t to, Use&& use);
  void cut_all(std::uint32_t a, std::uint32_t b);
  void block(std::uint32_t from, std::uint32_t to, nanoseconds until);
  void note_fault(number_set hosts, nanoseconds lasts);
  void note_lasting_fault(number_set hosts);
  void tell(std::uint32_t who, std::uint32_t about, news what);

  // groups.cpp
  task<void> create(life& creator, group_record& g);
  template <class S>
  task<void> create_as(life& creator, group_record& g, group_options options);
  void adopt(life& l, group_record& g);
  task<void> destroy(life& l, group_record& g);
  template <class S>
  task<status> destroy_as(life& l, group_record& g);
  task<void> say_farewell(life& l, std::vector<group_record*> groups);
  bool is_held(life& l, const group_record& g) const;

  // revokes.cpp
  task<void> revoke(life& l, group_record& g, std::size_t which);
  void find_creation(life& l, group_record& g);
  group_record& group_of_the_living(std::uint64_t number, const tree_spec& tree);

  // late_groups.cpp
  task<void> settle(life& l, const group_record& from, group_record& g);
  template <class S>
  task<void> settle_as(life& l, const group_record& from, group_record& g);
  void note_told(const life& root, const broadcast_record& b);

  // broadcasts.cpp
  void address(broadcast_record& b, const number_set& hosts);
  void address(broadcast_record& b, const rank_set& ranks);
  broadcast_record& record_broadcast(std::uint64_t number, const group_record& g, life& root);
  job request_of(const events::bcast& e);
  bcast_options options_of(const events::bcast& e, const events::manner& m, broadcast_record& b);
  void expect_group(life& root, const group_record& g);
  task<void> run_broadcast(life& root, group_record& g, broadcast_record& b);
  template <class S>
  task<void> run_broadcast_of(life& root, group_record& g, broadcast_record& b);
  template <class S>
  task<void> run_remotely(life& client, const group_record& g, broadcast_record& b);
  task<void> call_roll(life& root, group_record& g, broadcast_record& b);
  void finish(life& root, broadcast_record& b, bcast_result<tally>& r, time_point local_start);

  // strays.cpp, bulk_strangers.cpp
  void open_falsely(const broadcast_record& b, const events::freight& f, std::uint32_t host);
  void order_falsely(const freights::freight& f, std::uint32_t host);
  std::vector<std::uint32_t> executed_children(const broadcast_record& b);
  void repeat(broadcast_record& b, std::uint64_t choice);
  void send_bygone(broadcast_record& b, std::uint64_t choice);
  void intrude(broadcast_record& b, std::uint32_t host);
  broadcast_record& record_stray(const broadcast_record& like);
  void send_as(life& sender, const broadcast_record& b, std::uint32_t to, job request,
               std::uint64_t root_incarnation, stray_kind kind);

  std::uint32_t rails_ = 1;  // of every host
  testing::sim_world world_;
  freights freights_{world_};  // before the lives, whose hooks use it
  testing::sim_network network_;
  std::unique_ptr<testing::sim_network> bulk_network_;
  std::unique_ptr<testing::sim_datagrams> datagrams_;
  gossip::configuration_ptr gossip_shared_;
  std::optional<guarding> guards_;
  std::vector<testing::sim_clock> clocks_;
  std::vector<std::unique_ptr<testing::sim_disk>> disks_;
  std::array<std::uint64_t, 3> refusals_{};  // of strays, by kind; crashed lives count here to the end
  std::deque<life> all_lives_;
  std::vector<life*> lives_;
  std::map<std::uint64_t, group_record> groups_;
  std::map<std::uint64_t, broadcast_record> broadcasts_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> namings_;  // under way, by life and group
  std::vector<told_group> told_;
  broadcast_terms terms_;
  std::map<std::uint64_t, std::uint32_t> zones_;  // by group
  std::vector<std::uint64_t> fallen_;             // the latest crashed life of each host; 0: none
  events::node_memory memory_;
  number_set old_servers_;
  client_hosts guests_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> accusations_;  // who has called whom dead at any time
  std::set<std::uint64_t> running_;                                // broadcasts
  std::set<std::pair<std::uint64_t, std::uint64_t>> last_begun_;   // life, group: it has begun its last
  std::set<std::pair<std::uint64_t, std::uint64_t>> in_use_;  // life by number, group: a broadcast was seen
  std::vector<outage> outages_;
  bool has_liveness_ = false, burying_ = false;
  errands errands_{*this};
  agreements agreements_{*this};
  std::vector<fault_record> faults_;
  nanoseconds stalled_until_{0};
  std::uint32_t undead_ = 0, garbled_ = 0, slanders_ = 0, early_ = 0, rash_ = 0, repeated_namings_ = 0;
  std::vector<std::string> lost_groups_;
  std::uint64_t next_stray_ = first_stray;
  coverage seen_;
};

}  // namespace scoll::sim
